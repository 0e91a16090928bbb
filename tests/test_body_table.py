"""A body gives back what is whole by its hash, and nothing for the rest; its pieces go with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from foveal.daemon.core.storage import Database, open_database
from foveal.daemon.core.system import System
from foveal.daemon.ledger import body_table, piece_table
from foveal.daemon.ledger.manifest import texts_of
from foveal.daemon.ledger.request_record import record_map

from tests.ledger_cases import record_of, sent_for

RECORD = record_of()
PARTS = sent_for(RECORD)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    schema = body_table.SCHEMA + piece_table.SCHEMA
    database = open_database(str(tmp_path / "db"), schema, 1, System()).database
    body_table.insert(database, 7, json.dumps(record_map(RECORD)).encode(), PARTS, texts_of(PARTS))
    yield database
    database.close()


def test_a_body_comes_back(database: Database) -> None:
    body = body_table.read(database, 7)
    assert body.record == RECORD
    assert body_table.sent(database, body.manifest) == (PARTS, "")


def test_there_is_none(database: Database) -> None:
    assert body_table.read(database, 8) == body_table.Body(None, None)
    assert body_table.sent(database, None) == (None, body_table.MANIFEST_DAMAGED)


@pytest.mark.parametrize("value", ["X'00'", "'text'", "zeroblob(40)", "substr(record, 1, 20)"])
def test_a_damaged_record_leaves_what_was_sent(database: Database, value: str) -> None:
    database.execute(f"UPDATE bodies SET record = {value}")
    body = body_table.read(database, 7)
    assert body.record is None
    assert body_table.sent(database, body.manifest) == (PARTS, "")


@pytest.mark.parametrize("value", ["X'00'", "record", "NULL"])
def test_a_damaged_manifest_leaves_the_record(database: Database, value: str) -> None:
    database.execute(f"UPDATE bodies SET manifest = {value}")
    assert body_table.read(database, 7) == body_table.Body(RECORD, None)


def test_a_record_of_another_version_is_not_read(database: Database) -> None:
    body_table.insert(database, 8, b'{"id": 3}', PARTS, texts_of(PARTS))
    assert body_table.read(database, 8).record is None


def test_another_layout_is_said(database: Database) -> None:
    manifest = body_table.read(database, 7).manifest
    assert manifest is not None
    parts, problem = body_table.sent(database, replace(manifest, layout=99))
    assert parts == PARTS
    assert "another version" in problem


def test_many_damaged_parts_are_counted(database: Database) -> None:
    database.execute("UPDATE piece_data SET data = X'00'")
    parts, problem = body_table.sent(database, body_table.read(database, 7).manifest)
    assert parts is not None
    assert parts.context == ""
    assert problem.startswith("Not exact: damaged and left out: the context, the system prompt, ")
    assert problem.endswith(" and 4 more.")


def test_pieces_go_with_the_last_body(database: Database) -> None:
    body_table.insert(database, 8, b"{}", PARTS, texts_of(PARTS))
    body_table.remove(database, 8)
    assert body_table.sent(database, body_table.read(database, 7).manifest) == (PARTS, "")
    body_table.remove_sent(database, 7)
    body_table.remove_sent(database, 7)
    assert body_table.read(database, 7) == body_table.Body(RECORD, None)
    assert database.execute("SELECT COUNT(*) FROM piece_data").fetchone() == (0,)
