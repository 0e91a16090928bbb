"""A reply refers to an item by its name, or by words that it can only have from the item."""

from __future__ import annotations

import pytest
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions.item_usage import referred
from foveal.daemon.sessions.request_record import ItemPart, Said, Sent

KEYS = (
    ItemKey("rule", "docs/style.md"),
    ItemKey("rule", "AGENTS.md"),
    ItemKey("rule", "web/AGENTS.md"),
    ItemKey("reference", "glossary"),
    ItemKey("tool", "search_issues", "github"),
    ItemKey("tool", "search", "docs"),
    ItemKey("tool", "read", "files"),
)
STYLE, AGENTS, WEB, GLOSSARY, ISSUES, SEARCH, READ = range(7)

SENT = Sent(
    context="# CONTEXT\n\nBe exact: `ensure_utc`, `sharedName` and `inContext`.\n\nfile.py: inContext()",
    user_prompt="Why does fromMessage fail?",
    history=(Said("user", "See from_history."),),
    references=(ItemPart(KEYS[GLOSSARY], "glossary\n\nA `TermOfArt` is one; sharedName too."),),
    rules=(
        ItemPart(KEYS[STYLE], "docs/style.md\n\nBe exact: `ensure_utc`, `sharedName` and `inContext`."),
        ItemPart(KEYS[AGENTS], "AGENTS.md\n\nMind fromMessage, from_history, well-known and e.g. 2026-03."),
    ),
    tools=(ItemPart(KEYS[READ], "Reads a file with pathOfFile.", '{"maxBytes": 3}'),),
)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # Names that look like names.
        ("As docs/style.md says, no.", [STYLE]),
        ("As `style.md` says, no.", [STYLE]),
        ("mystyle.md and style.mdx are others.", []),
        ("other/style.md is another.", []),
        ("I follow web/AGENTS.md.", [WEB]),
        ("I follow AGENTS.md.", [AGENTS]),
        ("I called search_issues twice.", [ISSUES]),
        ("I called mcp__github__search_issues.", [ISSUES]),
        ("research_issues, search_issues2, Search_Issues", []),
        # Plain words.
        ("I search and read the glossary.", []),
        ("I used `search`.", [SEARCH]),
        ("I used `search()`.", [SEARCH]),
        ("Then search(query) was called.", [SEARCH]),
        ("docs.search, docs/search, docs: search", [SEARCH]),
        ("mcp__docs__search", []),
        ("files__read", [READ]),
        ("See the `glossary`.", [GLOSSARY]),
        ("research(query)", []),
        # Words of an item alone.
        ("Call ensure_utc first.", [STYLE]),
        ("`TermOfArt` it is, by pathOfFile.", [GLOSSARY, READ]),
        ("Call sharedName.", []),
        ("Call inContext.", []),
        ("fromMessage, from_history", []),
        ("A well-known fact, e.g. 2026-03.", []),
        ("Be exact.", []),
        ("", []),
    ],
)
def test_what_a_reply_refers_to(reply: str, expected: list[int]) -> None:
    assert referred(KEYS, SENT, reply) == tuple(expected)


def test_without_what_was_sent_names_count() -> None:
    assert referred(KEYS, None, "style.md, ensure_utc") == (STYLE,)


def test_names_with_signs_of_patterns_and_none_at_all() -> None:
    keys = (ItemKey("rule", "a.b*(c"), ItemKey("rule", "x(y"), ItemKey("rule", "docs/"))
    assert referred(keys, None, "see a.b*(c and `x(y`") == (0, 1)
    assert referred((), SENT, "anything") == ()


def test_hostile_texts_come_to_an_end() -> None:
    """In time that is not linear they would not."""
    keys = [ItemKey("tool", f"tool_{n}", "s" * 900) for n in range(500)]
    texts = [
        "_" * 10**6,
        "a_" * 10**6,
        "`" * 10**6,
        "a./-" * 10**6,
        "".join(f"{key.name} " for key in keys) * 50,
    ]
    for text in texts:
        parts = tuple(ItemPart(key, text[:2_000] + key.name, text) for key in keys[:20])
        found = referred(keys, Sent(text, text, text, (Said("user", text),) * 5, tools=parts), text)
        assert found == (tuple(range(500)) if "tool_1" in text else ())
