"""Replies are counted, and suggestions follow from enough of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.errors import NotFound
from foveal.daemon.rules.items import IncludeMode, ItemKey
from foveal.daemon.sessions.item_usage import MIN_REPORTED, Reported, referred, suggestion_for
from foveal.daemon.sessions.request_record import ItemPart, Said, Sent
from foveal.daemon.sessions.request_table import ItemCounts, UsageShare

from tests.ledger_cases import GUIDE, ROOT, SEARCH, STYLE, Opened, opened, record_of, sent_for

KEYS = (
    ItemKey("rule", "docs/style.md"),
    ItemKey("rule", "AGENTS.md"),
    ItemKey("rule", "web/AGENTS.md"),
    ItemKey("reference", "glossary"),
    ItemKey("tool", "search_issues", "github"),
    ItemKey("tool", "search", "docs"),
    ItemKey("tool", "read", "files"),
)
STYLE_AT, AGENTS, WEB, GLOSSARY, ISSUES, SEARCH_AT, READ = range(7)

SENT = Sent(
    context="# CONTEXT\n\nBe exact: `ensure_utc`, `sharedName` and `inContext`.\n\nfile.py: inContext()",
    user_prompt="Why does fromMessage fail?",
    history=(Said("user", "See from_history."),),
    references=(ItemPart(KEYS[GLOSSARY], "glossary\n\nA `TermOfArt` is one; sharedName too."),),
    rules=(
        ItemPart(KEYS[STYLE_AT], "docs/style.md\n\nBe exact: `ensure_utc`, `sharedName` and `inContext`."),
        ItemPart(KEYS[AGENTS], "AGENTS.md\n\nMind fromMessage, from_history, well-known and e.g. 2026-03."),
    ),
    tools=(ItemPart(KEYS[READ], "Reads a file with pathOfFile.", '{"maxBytes": 3}'),),
)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # Names that look like names.
        ("As docs/style.md says, no.", [STYLE_AT]),
        ("As `style.md` says, no.", [STYLE_AT]),
        ("mystyle.md and style.mdx are others.", []),
        ("other/style.md is another.", []),
        ("I follow web/AGENTS.md.", [WEB]),
        ("I follow AGENTS.md.", [AGENTS]),
        ("I called search_issues twice.", [ISSUES]),
        ("I called mcp__github__search_issues.", [ISSUES]),
        ("research_issues, search_issues2, Search_Issues", []),
        # Plain words.
        ("I search and read the glossary.", []),
        ("I used `search`.", [SEARCH_AT]),
        ("I used `search()`.", [SEARCH_AT]),
        ("Then search(query) was called.", [SEARCH_AT]),
        ("docs.search, docs/search, docs: search", [SEARCH_AT]),
        ("mcp__docs__search", []),
        ("files__read", [READ]),
        ("See the `glossary`.", [GLOSSARY]),
        ("research(query)", []),
        # Words of an item alone.
        ("Call ensure_utc first.", [STYLE_AT]),
        ("`TermOfArt` it is, by pathOfFile.", [GLOSSARY, READ]),
        ("Call sharedName.", []),
        ("Call inContext.", []),
        ("fromMessage, from_history", []),
        ("A well-known fact, e.g. 2026-03.", []),
        ("Be exact.", []),
        ("", []),
    ],
)
def test_reply_refers_to_items(reply: str, expected: list[int]) -> None:
    assert referred(KEYS, SENT, reply) == tuple(expected)


def test_only_names_count_without_contents() -> None:
    assert referred(KEYS, None, "style.md, ensure_utc") == (STYLE_AT,)


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


QUERY = "Why does parse_url drop the port of an address"


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Opened]:
    with opened(tmp_path) as at:
        yield at


def put(at: Opened, number: int, query: str = QUERY, session_id: str = "ses_a", root: str = ROOT) -> None:
    record = record_of(number, session_id, project_root=root, at=at.clock.after(hours=1))
    at.put(record, sent_for(record, query))


# --- Reports ---


def test_report_notes_named_and_found_items(at: Opened) -> None:
    put(at, 1)
    other = ItemKey("tool", "other", "github")
    report = at.usage.report("ses_a", "req_1", reply="By ensure_utc.", used=[SEARCH, other, SEARCH, other])
    assert report == Reported((STYLE, SEARCH), (other,))
    assert at.ledger.get("ses_a", "req_1").referred == (STYLE, SEARCH)
    assert at.ledger.list("ses_a")[0].referred == 2


def test_a_request_is_counted_once_however_often_it_is_reported(at: Opened) -> None:
    put(at, 1)
    at.usage.report("ses_a", "req_1", used=[STYLE])
    at.usage.report("ses_a", "req_1", used=[STYLE, SEARCH])
    at.usage.report("ses_a", "req_1", reply="Nothing of it.")
    assert at.ledger.get("ses_a", "req_1").referred == (STYLE, SEARCH)
    assert at.usage.items(ROOT) == (
        ItemCounts(GUIDE, 1, 1, 0, "2026-03-01"),
        ItemCounts(STYLE, 1, 1, 1, "2026-03-01"),
        ItemCounts(SEARCH, 1, 1, 1, "2026-03-01"),
    )


def test_a_request_that_waits_can_be_reported(at: Opened) -> None:
    at.ledger.add(record_of(), sent_for(record_of()))
    assert at.usage.report("ses_a", "req_1", used=[STYLE]).referred == (STYLE,)


def test_what_is_not_there_is_said(at: Opened) -> None:
    with pytest.raises(NotFound):
        at.usage.report("ses_a", "req_1", reply="x")
    assert at.usage.items(ROOT) == ()
    assert at.usage.shares(ROOT) == ()


def test_the_share_of_selected_items_over_time(at: Opened) -> None:
    for number in range(24):
        put(at, number)
        if number % 2:
            at.usage.report("ses_a", f"req_{number}", used=[SEARCH] if number % 4 == 1 else [])
    assert at.usage.shares(ROOT) == (UsageShare("2026-03-01", 11, 5, 3), UsageShare("2026-03-02", 13, 7, 3))
    assert at.usage.shares(ROOT, "2026-03-02") == (UsageShare("2026-03-02", 13, 7, 3),)


# --- Suggestions ---


@pytest.mark.parametrize(
    ("key", "mode", "reported", "referred", "action"),
    [
        (STYLE, "always", MIN_REPORTED, 0, "demote"),
        (SEARCH, "always", 100, 9, "demote"),
        (SEARCH, "manual", 100, 9, "demote"),
        (SEARCH, "always", 100, 10, None),
        (SEARCH, "always", MIN_REPORTED - 1, 0, None),
        (SEARCH, "agent", MIN_REPORTED, 0, "remove"),
        (GUIDE, "glob", MIN_REPORTED, 0, "remove"),
        (GUIDE, "agent", MIN_REPORTED, 1, None),
        (STYLE, "agent", 1_000, 0, None),
    ],
)
def test_suggestions(
    key: ItemKey, mode: IncludeMode, reported: int, referred: int, action: str | None
) -> None:
    found = suggestion_for(ItemCounts(key, reported, reported, referred, "2026-03-01"), mode)
    assert (found and found.action) == action
    if found:
        assert f"{referred} of {reported} replies referred to the {key}: " in found.text


def test_only_items_of_today_are_suggested(at: Opened) -> None:
    for number in range(MIN_REPORTED):
        put(at, number)
        at.usage.report("ses_a", f"req_{number}", used=[STYLE])
    found = at.usage.suggestions(ROOT, {STYLE: "always", SEARCH: "agent"})
    assert [(one.key, one.action) for one in found] == [(SEARCH, "remove")]
    assert at.usage.suggestions(ROOT, {SEARCH: "agent"}, since="2026-03-02") == ()
