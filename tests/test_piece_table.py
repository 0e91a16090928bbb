"""A piece is stored once, goes with its last use, and is not given out when it is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.storage import Database, open_database
from foveal.daemon.core.system import System
from foveal.daemon.ledger.piece_table import SCHEMA, keep, read, release
from foveal.daemon.ledger.pieces import MAX_PIECE_BYTES


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = open_database(str(tmp_path / "db"), SCHEMA, 1, System()).database
    yield database
    database.close()


def counts(database: Database) -> tuple[int, int]:
    row = database.execute(
        "SELECT (SELECT COUNT(*) FROM pieces), (SELECT COUNT(*) FROM piece_data)"
    ).fetchone()
    return row[0], row[1]


def test_texts_come_back(database: Database) -> None:
    texts = [b"", b"short", b"x" * (2 * MAX_PIECE_BYTES + 1), b"short", b"\x00\xff"]
    ids = keep(database, texts)
    content = read(database, [one for some in ids for one in some])
    assert [b"".join(content[one] for one in some) for some in ids] == texts
    assert ids[1] == ids[3]
    assert ids[0] == []


def test_a_piece_stays_as_long_as_a_request_uses_it(database: Database) -> None:
    ((first,), _) = keep(database, [b"shared", b"shared"])
    ((second,), (own,)) = keep(database, [b"shared", b"own"])
    assert first == second
    release(database, [first, first])
    assert read(database, [first, own]) == {first: b"shared", own: b"own"}
    release(database, [second])
    assert read(database, [first, own]) == {own: b"own"}
    release(database, [own])
    assert counts(database) == (0, 0)


def test_an_id_is_never_used_again(database: Database) -> None:
    ((former,),) = keep(database, [b"one"])
    release(database, [former])
    ((later,),) = keep(database, [b"two"])
    assert later > former
    assert read(database, [former]) == {}


@pytest.mark.parametrize(
    "damage", ["X'00'", "substr(data, 1, 5)", "'text'", "(SELECT data FROM piece_data WHERE id = 2)"]
)
def test_a_damaged_piece_is_not_given_out(database: Database, damage: str) -> None:
    keep(database, [b"one", b"two"])
    database.execute(f"UPDATE piece_data SET data = {damage} WHERE id = 1")
    assert read(database, [1, 2]) == {2: b"two"}


def test_many_pieces_are_asked_for_at_once(database: Database) -> None:
    ids = keep(database, [b"%d" % n for n in range(12_000)])
    assert len(read(database, [one for some in ids for one in some])) == 12_000
