"""Nearly equal queries of the same project are found, the most equal and latest first, never too many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.storage import Database, open_database
from foveal.daemon.core.system import System
from foveal.daemon.ledger import query_table, request_table
from foveal.daemon.ledger.query_sketch import sketch_of
from foveal.daemon.ledger.query_table import MAX_NEAR, near

from tests.ledger_cases import record_of

QUERY = "alpha beta gamma delta epsilon zeta eta theta iota kappa"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    schema = request_table.SCHEMA + query_table.SCHEMA
    database = open_database(str(tmp_path / "db"), schema, 1, System()).database
    yield database
    database.close()


def put(database: Database, number: int, query: str, root: str = "/p") -> int:
    sketch = sketch_of(query)
    summary = request_table.summary_of(record_of(number, project_root=root))
    row = request_table.insert(database, summary, sketch)
    assert row is not None
    query_table.add(database, row.project, sketch, row.number)
    query_table.add(database, row.project, sketch, row.number)
    return row.number


def test_the_most_equal_and_latest_come_first(database: Database) -> None:
    first = put(database, 1, QUERY)
    nine = put(database, 2, QUERY.replace("kappa", ""))
    put(database, 3, QUERY.replace("kappa", "x1").replace("iota", "x2").replace("eta", "x3"))
    put(database, 4, QUERY, root="/other")
    last = put(database, 5, QUERY)
    assert near(database, 1, sketch_of(QUERY)) == [(last, 1.0), (first, 1.0), (nine, 0.9)]
    assert near(database, 3, sketch_of(QUERY)) == []
    assert near(database, 1, sketch_of("go on")) == []


def test_what_was_removed_is_not_found(database: Database) -> None:
    number = put(database, 1, QUERY)
    query_table.remove(database, 1, sketch_of(QUERY), number)
    assert near(database, 1, sketch_of(QUERY)) == []
    assert database.execute("SELECT COUNT(*) FROM query_terms").fetchone() == (0,)


def test_of_many_only_some_are_returned(database: Database) -> None:
    numbers = [put(database, n, QUERY) for n in range(200)]
    assert [number for number, _ in near(database, 1, sketch_of(QUERY))] == numbers[::-1][:MAX_NEAR]
