"""Rows are listed latest first, found by session and id, and hold a record that is whole or none."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.storage import Database, open_database
from foveal.daemon.core.system import System
from foveal.daemon.rules.items import ItemKey
from foveal.daemon.sessions import request_table
from foveal.daemon.sessions.request_record import UsedItem
from foveal.daemon.sessions.request_table import (
    ItemCounts,
    RequestRow,
    UsageShare,
    count_items,
    count_reply,
    day_shares,
    item_totals,
    packed_record,
    summary_of,
)
from msgspec.structs import replace

from tests.ledger_cases import GUIDE, ROOT, SEARCH, STYLE, record_of


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(str(tmp_path / "db"), request_table.SCHEMA, 1, System()).database
    yield database
    database.close()


def put(database: Database, number: int, session_id: str = "ses_a", root: str = ROOT) -> RequestRow:
    record = record_of(number, session_id, project_root=root)
    added = request_table.insert(database, record, packed_record(record))
    assert added is not None
    return RequestRow(added, summary_of(record), None)


def ids(rows: list[RequestRow]) -> list[str]:
    return [row.summary.id for row in rows]


def test_a_row_comes_back(database: Database) -> None:
    row = put(database, 1)
    assert request_table.find(database, "ses_a", "req_1") == row
    assert request_table.at_number(database, row.number) == row
    assert row.summary.items == 3
    assert request_table.find(database, "ses_b", "req_1") is None
    assert request_table.at_number(database, 9) is None


def test_an_id_is_of_one_session_and_used_once(database: Database) -> None:
    put(database, 1)
    put(database, 1, "ses_b")
    assert request_table.insert(database, record_of(1, tokens=9), b"") is None
    assert request_table.counts(database) == {"ses_a": 1, "ses_b": 1}


def test_lists(database: Database) -> None:
    numbers = [put(database, n, "ses_a" if n % 2 else "ses_b", f"/p{n % 3}").number for n in range(7)]
    assert ids(request_table.of_session(database, "ses_a", 9, None)) == ["req_5", "req_3", "req_1"]
    assert ids(request_table.of_session(database, "ses_a", 1, numbers[5])) == ["req_3"]
    assert request_table.of_session(database, "ses_c", 9, None) == []
    assert ids(request_table.in_order(database, None, None, 3, numbers[2])) == ["req_3", "req_4", "req_5"]
    assert ids(request_table.in_order(database, "ses_b", None, 9, 0)) == ["req_0", "req_2", "req_4", "req_6"]
    assert ids(request_table.in_order(database, None, "/p1", 9, 0)) == ["req_1", "req_4"]
    assert request_table.in_order(database, None, "/none", 9, 0) == []


def test_lists_use_an_index(database: Database) -> None:
    plan = database.execute(
        "EXPLAIN QUERY PLAN SELECT * FROM requests WHERE session = X'61' AND number < 9 ORDER BY number DESC"
    ).fetchall()
    assert "requests_by_session" in str(plan)
    assert "TEMP B-TREE" not in str(plan)


def test_notes(database: Database) -> None:
    row = put(database, 1)
    request_table.set_pruned(database, row.number, "it was old")
    request_table.set_referred(database, row.number, {2, 0})
    noted = replace(row, referred=(0, 2), summary=replace(row.summary, pruned="it was old", referred=2))
    assert request_table.at_number(database, row.number) == noted


def test_names_that_are_no_utf_8(database: Database) -> None:
    row = put(database, 1, root="/home/\udcff")
    assert request_table.at_number(database, row.number) == row


@pytest.mark.parametrize("value", ["X'00'", "'text'", "zeroblob(40)", "substr(record, 1, 20)"])
def test_a_damaged_record_is_none(database: Database, value: str) -> None:
    number = put(database, 1).number
    assert request_table.read_record(database, number) == record_of(1)
    database.execute(f"UPDATE requests SET record = {value}")
    assert request_table.read_record(database, number) is None


def test_a_record_of_another_version_is_not_read(database: Database) -> None:
    number = put(database, 1).number
    database.execute("UPDATE requests SET record = ?", (zlib.compress(b'{"id": 3}'),))
    assert request_table.read_record(database, number) is None


def test_counts_of_items(database: Database) -> None:
    first, second = record_of(1), record_of(2, at="2026-03-02T00:00:00.000Z")
    count_items(database, first)
    count_items(database, second)
    count_items(database, replace(first, project_root="/other"))
    count_reply(database, first, {0, 2}, first=True)
    count_reply(database, first, {1}, first=False)
    count_reply(database, second, set(), first=True)
    assert item_totals(database, ROOT, "") == [
        ItemCounts(GUIDE, 2, 2, 1, "2026-03-02"),
        ItemCounts(STYLE, 2, 2, 1, "2026-03-02"),
        ItemCounts(SEARCH, 2, 2, 1, "2026-03-02"),
    ]
    assert item_totals(database, "/other", "")[0] == ItemCounts(GUIDE, 1, 0, 0, "2026-03-01")
    assert item_totals(database, ROOT, "2026-03-02")[0] == ItemCounts(GUIDE, 1, 1, 0, "2026-03-02")
    assert item_totals(database, "/none", "") == []


def test_the_share_is_that_of_items_that_a_search_chose(database: Database) -> None:
    first, second = record_of(1), record_of(2, at="2026-03-02T00:00:00.000Z")
    for record in (first, first, second):
        count_items(database, record)
    count_reply(database, first, {0, 2}, first=True)
    count_reply(database, first, set(), first=True)
    found = day_shares(database, ROOT, "")
    assert found == [UsageShare("2026-03-01", 2, 2, 1), UsageShare("2026-03-02", 1, 0, 0)]
    assert [one.share for one in found] == [0.5, None]


def test_an_item_named_twice_counts_once(database: Database) -> None:
    used = (UsedItem(STYLE, "always"), UsedItem(STYLE, "always"))
    count_items(database, record_of(items=used))
    assert item_totals(database, ROOT, "")[0].requests == 1


def test_names_that_are_no_utf_8_are_counted(database: Database) -> None:
    key = ItemKey("rule", "docs/\udcff.md")
    count_items(database, record_of(items=(UsedItem(key, "always"),)))
    assert item_totals(database, ROOT, "")[0].key == key


def test_old_counts_go_with_their_items(database: Database) -> None:
    count_items(database, record_of(1))
    count_items(database, record_of(2, at="2026-03-02T00:00:00.000Z", items=(UsedItem(STYLE, "always"),)))
    request_table.remove_counts_before(database, "2026-03-02")
    assert item_totals(database, ROOT, "") == [ItemCounts(STYLE, 1, 0, 0, "2026-03-02")]
    assert database.execute("SELECT COUNT(*) FROM items").fetchone() == (1,)
