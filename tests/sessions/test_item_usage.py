"""Replies are counted, and suggestions follow from enough of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from foveal.daemon.core.errors import NotFound
from foveal.daemon.core.times import timestamp_of
from foveal.daemon.rules.records import IncludeMode, ItemKey
from foveal.daemon.sessions.item_usage import (
    MIN_REPORTED,
    ItemCounts,
    ItemUsage,
    Reported,
    UsageShare,
    referred,
    suggestion_for,
)
from foveal.daemon.sessions.request_record import ItemPart, Sent, SentMessage, UsedItem

from tests.delivery_cases import GUIDE, ROOT, SEARCH, STYLE, Opened, opened, record_of, sent_for

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
    history=(SentMessage("user", "See from_history."),),
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


def test_names_with_signs_of_patterns_and_none_at_all() -> None:
    keys = (ItemKey("rule", "a.b*(c"), ItemKey("rule", "x(y"), ItemKey("rule", "docs/"))
    assert referred(keys, None, "see a.b*(c and `x(y`") == (0, 1)
    assert referred((), SENT, "anything") == ()


async def usage(at: Opened, since: str = "", modes: Mapping[ItemKey, IncludeMode] | None = None) -> ItemUsage:
    return await at.deliveries.item_usage(ROOT, modes or {}, since)


async def test_a_report_notes_named_and_found_items(tmp_path: Path) -> None:
    other = ItemKey("tool", "other", "github")
    async with opened(tmp_path) as at:
        at.give(record=record_of(), sent=sent_for(record_of()))
        found = await at.deliveries.report("ses", "req_1", "By ensure_utc.", [SEARCH, other, SEARCH, other])
        assert found == Reported((STYLE, SEARCH), (other,))
        assert (await at.deliveries.request("ses", "req_1")).referred == (STYLE, SEARCH)
        assert (await at.deliveries.requests("ses", 1, ""))[0].referred == 2
        with pytest.raises(NotFound):
            await at.deliveries.report("ses", "req_2", "x", [])


async def test_a_request_is_counted_once_however_often_it_is_reported(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        assert await usage(at) == ItemUsage((), (), ())
        at.give(record=record_of(items=(*record_of().items, record_of().items[0])))
        for used in ([STYLE], [STYLE, SEARCH], []):
            await at.deliveries.report("ses", "req_1", "Nothing of it.", used)
        assert (await at.deliveries.request("ses", "req_1")).referred == (STYLE, SEARCH, STYLE)
        assert (await usage(at)).items == (
            ItemCounts(GUIDE, 1, 1, 0, "2026-03-01"),
            ItemCounts(STYLE, 1, 1, 1, "2026-03-01"),
            ItemCounts(SEARCH, 1, 1, 1, "2026-03-01"),
        )


async def test_shares_and_suggestions_over_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as at:
        for number in range(2 * MIN_REPORTED + 4):
            at.give(record=record_of(number, at=timestamp_of(at.clock.at)))
            if number % 2:
                used = [STYLE, SEARCH] if number % 4 == 1 else [STYLE]
                await at.deliveries.report("ses", f"req_{number}", "", used)
            at.clock.pass_on(hours=1)
        found = await usage(at, modes={STYLE: "always", GUIDE: "agent"})
        assert found.shares == (UsageShare("2026-03-01", 12, 6, 3), UsageShare("2026-03-02", 24, 12, 6),
                                UsageShare("2026-03-03", 8, 4, 2))  # fmt: skip
        assert [share.share for share in found.shares] == [0.5, 0.5, 0.5]
        assert [(one.key, one.action) for one in found.suggestions] == [(GUIDE, "remove")]
        later = await usage(at, "2026-03-02", {GUIDE: "agent"})
        assert (later.shares, later.suggestions) == (found.shares[1:], ())
        assert (await at.deliveries.item_usage("/other", {}, "")).items == ()


async def test_names_that_are_no_utf_8_are_counted(tmp_path: Path) -> None:
    odd = ItemKey("rule", "\udcff.md")
    async with opened(tmp_path) as at:
        at.give(record=record_of(items=(UsedItem(odd, "always"),)))
        assert [one.key for one in (await usage(at)).items] == [odd]


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
