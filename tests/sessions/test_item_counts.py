"""Items are counted by day, once a request, and the counts of a project are its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.storage import Database, open_database
from foveal.daemon.core.system import System
from foveal.daemon.rules.item_keys import ItemKey
from foveal.daemon.sessions import item_counts
from foveal.daemon.sessions.item_counts import DayShare, ItemCounts, count, count_reply, shares, totals
from foveal.daemon.sessions.request_record import UsedItem
from msgspec.structs import replace

from tests.ledger_cases import GUIDE, ROOT, SEARCH, STYLE, record_of


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(str(tmp_path / "db"), item_counts.SCHEMA, 1, System()).database
    yield database
    database.close()


def test_counts_of_items(database: Database) -> None:
    first, second = record_of(1), record_of(2, at="2026-03-02T00:00:00.000Z")
    count(database, first)
    count(database, second)
    count(database, replace(first, project_root="/other"))
    count_reply(database, first, {0, 2}, first=True)
    count_reply(database, first, {1}, first=False)
    count_reply(database, second, set(), first=True)
    assert totals(database, ROOT, "") == [
        ItemCounts(GUIDE, 2, 2, 1, "2026-03-02"),
        ItemCounts(STYLE, 2, 2, 1, "2026-03-02"),
        ItemCounts(SEARCH, 2, 2, 1, "2026-03-02"),
    ]
    assert totals(database, "/other", "")[0] == ItemCounts(GUIDE, 1, 0, 0, "2026-03-01")
    assert totals(database, ROOT, "2026-03-02")[0] == ItemCounts(GUIDE, 1, 1, 0, "2026-03-02")
    assert totals(database, "/none", "") == []


def test_the_share_is_that_of_items_that_a_search_chose(database: Database) -> None:
    first, second = record_of(1), record_of(2, at="2026-03-02T00:00:00.000Z")
    for record in (first, first, second):
        count(database, record)
    count_reply(database, first, {0, 2}, first=True)
    count_reply(database, first, set(), first=True)
    found = shares(database, ROOT, "")
    assert found == [DayShare("2026-03-01", 2, 2, 1), DayShare("2026-03-02", 1, 0, 0)]
    assert [one.share for one in found] == [0.5, None]


def test_an_item_named_twice_counts_once(database: Database) -> None:
    used = (UsedItem(STYLE, "always"), UsedItem(STYLE, "always"))
    count(database, record_of(items=used))
    assert totals(database, ROOT, "")[0].requests == 1


def test_names_that_are_no_utf_8_are_counted(database: Database) -> None:
    key = ItemKey("rule", "docs/\udcff.md")
    count(database, record_of(items=(UsedItem(key, "always"),)))
    assert totals(database, ROOT, "")[0].key == key


def test_old_counts_go_with_their_items(database: Database) -> None:
    count(database, record_of(1))
    count(database, record_of(2, at="2026-03-02T00:00:00.000Z", items=(UsedItem(STYLE, "always"),)))
    item_counts.remove_before(database, "2026-03-02")
    assert totals(database, ROOT, "") == [ItemCounts(STYLE, 1, 0, 0, "2026-03-02")]
    assert database.execute("SELECT COUNT(*) FROM items").fetchone() == (1,)
