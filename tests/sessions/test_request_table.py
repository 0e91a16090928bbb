"""Rows are listed latest first, found by session and id, and hold a record that is whole or none."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.storage import Database, open_database
from foveal.daemon.core.system import System
from foveal.daemon.sessions import request_table
from foveal.daemon.sessions.request_table import RequestRow, packed_record, summary_of
from msgspec.structs import replace

from tests.ledger_cases import ROOT, record_of


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(str(tmp_path / "db"), request_table.SCHEMA, 1, System()).database
    yield database
    database.close()


def put(database: Database, number: int, session_id: str = "ses_a", root: str = ROOT) -> RequestRow:
    record = record_of(number, session_id, project_root=root)
    added = request_table.insert(database, record, packed_record(record), b"")
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
    assert request_table.insert(database, record_of(1, tokens=9), b"", b"") is None
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
