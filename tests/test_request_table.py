"""Rows are listed latest first, found by session and id, and go with their session's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from foveal.daemon.core.storage import Database, open_database
from foveal.daemon.core.system import System
from foveal.daemon.ledger import request_table
from foveal.daemon.ledger.query_sketch import sketch_of
from foveal.daemon.ledger.request_table import RequestRow, summary_of

from tests.ledger_cases import ROOT, record_of


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(str(tmp_path / "db"), request_table.SCHEMA, 1, System()).database
    yield database
    database.close()


def put(database: Database, number: int, session_id: str = "ses_a", root: str = ROOT) -> RequestRow:
    record = record_of(number, session_id, project_root=root)
    row = request_table.insert(database, summary_of(record), sketch_of("one two three"))
    assert row is not None
    return row


def ids(rows: list[RequestRow]) -> list[str]:
    return [row.summary.id for row in rows]


def test_a_row_comes_back(database: Database) -> None:
    row = put(database, 1)
    assert request_table.find(database, "ses_a", "req_1") == row
    assert request_table.at_number(database, row.number) == row
    assert row.summary.items == 3
    assert row.sketch == sketch_of("one two three")
    assert request_table.find(database, "ses_b", "req_1") is None
    assert request_table.at_number(database, 9) is None


def test_an_id_is_of_one_session_and_used_once(database: Database) -> None:
    put(database, 1)
    put(database, 1, "ses_b")
    assert request_table.insert(database, summary_of(record_of(1, tokens=9)), ()) is None
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
        "EXPLAIN QUERY PLAN SELECT * FROM requests WHERE session = 1 AND number < 9 ORDER BY number DESC"
    ).fetchall()
    assert "requests_by_session" in str(plan)
    assert "TEMP B-TREE" not in str(plan)


def test_notes(database: Database) -> None:
    row = put(database, 1)
    request_table.set_pruned(database, row.number, "it was old")
    request_table.set_referred(database, row.number, {2, 0})
    noted = replace(row, referred=(0, 2), summary=replace(row.summary, pruned="it was old", referred=2))
    assert request_table.at_number(database, row.number) == noted


def test_a_session_goes_with_its_last_request(database: Database) -> None:
    first, second = put(database, 1).number, put(database, 2).number
    request_table.remove(database, first)
    assert request_table.counts(database) == {"ses_a": 1}
    request_table.remove(database, second)
    request_table.remove(database, second)
    assert database.execute("SELECT COUNT(*) FROM sessions").fetchone() == (0,)


def test_names_that_are_no_utf_8(database: Database) -> None:
    row = put(database, 1, root="/home/\udcff")
    assert request_table.at_number(database, row.number) == row
    assert request_table.project_number(database, "/home/\udcff") == row.project
    assert request_table.project_number(database, "/home") is None
