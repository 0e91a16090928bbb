"""A database opens private and whole; a damaged or foreign one is kept aside; a failed write is undone."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from foveal.daemon.core import storage
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.storage import (
    Database,
    DatabaseError,
    NewerDatabase,
    OperationalError,
    check_database,
    close_database,
    damage_raised,
    may_pass,
    open_database,
    open_reader,
    transaction,
)
from foveal.daemon.core.system import System

SCHEMA = "CREATE TABLE things (name TEXT PRIMARY KEY);"


def open_at(path: Path, version: int = 1) -> tuple[Database, str]:
    opened = open_database(str(path), SCHEMA, version, System())
    return opened.database, opened.replaced


def names(database: Database) -> list[str]:
    return [name for (name,) in database.execute("SELECT name FROM things ORDER BY name")]


def make(path: Path, *things: str, version: int = 1) -> None:
    database, _ = open_at(path, version)
    database.executemany("INSERT INTO things VALUES (?)", [(thing,) for thing in things])
    database.close()


def test_the_file_and_its_log_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        database, _ = open_at(tmp_path / "db")
        database.execute("INSERT INTO things VALUES ('a')")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    database.close()
    assert modes == {"db": 0o600, "db-wal": 0o600, "db-shm": 0o600}


@pytest.mark.parametrize("damage", ["no database", "header only", "middle", "tables without a version"])
def test_damaged_database_is_quarantined_and_replaced(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "db"
    make(path, *(f"thing {i} {'x' * 200}" for i in range(500)))
    data = bytearray(path.read_bytes())
    if damage == "no database":
        data[:] = b"plain text" * 1_000
    elif damage == "header only":
        del data[100:]
    elif damage == "middle":
        data[4096 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4096)
    else:
        data[60:64] = bytes(4)
    path.write_bytes(data)
    database, replaced = open_at(path)
    assert names(database) == []
    database.close()
    (aside,) = [one for one in tmp_path.iterdir() if ".damaged-" in one.name]
    assert aside.name in replaced
    assert aside.read_bytes() == data


def test_database_of_another_version_is_quarantined(tmp_path: Path) -> None:
    make(tmp_path / "db", "a", version=1)
    database, replaced = open_at(tmp_path / "db", version=2)
    assert names(database) == []
    assert "schema version is 1, this program's 2" in replaced
    database.close()


def test_newer_database_is_refused_and_left_byte_for_byte_with_its_log(tmp_path: Path) -> None:
    writer, _ = open_at(tmp_path / "first", version=3)
    writer.execute("INSERT INTO things VALUES ('a')")
    for suffix in ("", "-wal"):
        (tmp_path / f"db{suffix}").write_bytes((tmp_path / f"first{suffix}").read_bytes())
    close_database(writer)
    make(tmp_path / "closed", "a", version=3)
    for name in ("db", "closed"):
        files = [path for path in (tmp_path / name, tmp_path / f"{name}-wal") if path.exists()]
        before = [path.read_bytes() for path in files]
        for distrusted in ("", "it was found damaged"):
            with pytest.raises(NewerDatabase, match=r"version 3, this one knows 2.*update foveal") as raised:
                open_database(str(tmp_path / name), SCHEMA, 2, System(), distrusted=distrusted)
            assert may_pass(raised.value)
        with pytest.raises(NewerDatabase):
            check_database(str(tmp_path / name), SCHEMA, 2)
        assert [path.read_bytes() for path in files] == before
        database, replaced = open_at(tmp_path / name, version=3)
        assert (names(database), replaced) == (["a"], "")
        database.close()
    assert list(tmp_path.glob("*damaged*")) == []


def test_derived_database_of_another_version_is_removed(tmp_path: Path) -> None:
    make(tmp_path / "db", "a", version=1)
    opened = open_database(str(tmp_path / "db"), SCHEMA, 2, System(), derived=True)
    assert names(opened.database) == []
    assert (opened.replaced, opened.anew) == ("", True)
    opened.database.close()
    assert not [one for one in os.listdir(tmp_path) if "damaged" in one]


def test_the_log_of_a_damaged_database_is_not_taken_for_that_of_the_new_one(tmp_path: Path) -> None:
    make(tmp_path / "db", "a")
    database, _ = open_at(tmp_path / "db")
    database.execute("INSERT INTO things VALUES ('old')")
    log = (tmp_path / "db-wal").read_bytes()
    database.close()
    (tmp_path / "db").write_bytes(b"plain text" * 1_000)
    (tmp_path / "db-wal").write_bytes(log)
    database, replaced = open_at(tmp_path / "db")
    assert replaced
    assert names(database) == []
    database.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("db.damaged-*"))
    assert b"old" in kept, "what was written last isn't lost"


def test_the_log_of_a_distrusted_database_goes_with_it(tmp_path: Path) -> None:
    make(tmp_path / "db", "a")
    database, _ = open_at(tmp_path / "db")
    database.execute("INSERT INTO things VALUES ('old')")
    found = {suffix: (tmp_path / f"db{suffix}").read_bytes() for suffix in ("", "-wal")}
    database.close()
    for suffix, content in found.items():
        (tmp_path / f"db{suffix}").write_bytes(content)
    opened = open_database(str(tmp_path / "db"), SCHEMA, 1, System(), distrusted="a reader found damage")
    assert "a reader found damage" in opened.replaced
    assert names(opened.database) == []
    opened.database.close()
    (kept,) = tmp_path.glob("db.damaged-*-wal")
    assert kept.read_bytes() == found["-wal"]
    assert (tmp_path / kept.name.removesuffix("-wal")).read_bytes() == found[""]


def test_wrong_kind_of_file_in_place_of_a_database_is_quarantined(tmp_path: Path) -> None:
    for number, name in enumerate(("db", "db-wal", "db-shm"), 1):
        for make in (Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.name)):
            folder = tmp_path / f"{number}{make}"
            folder.mkdir()
            make(folder / name)
            database, replaced = open_at(folder / "db")
            database.execute("SELECT 1")
            assert f"{name}.damaged-" in replaced
            assert len(list(folder.glob(f"{name}.damaged-*"))) == 1
            database.close()


def test_a_reader_does_not_wait_on_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "db")
    with pytest.raises(DatabaseError, match="db is not a regular file"):
        open_reader(str(tmp_path / "db"), 1)


# Any damage is damage

ROWS = "CREATE TABLE rows (id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER NOT NULL, data BLOB);"


def fill(path: Path) -> None:
    database = open_database(str(path), ROWS, 1, System()).database
    database.executemany(
        "INSERT INTO rows VALUES (?, ?, ?, ?)", [(n, f"name {n}", n, b"x" * 50) for n in range(1_000)]
    )
    database.close()


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute(statement)
        database.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT)",
        "UPDATE sqlite_master SET sql = CAST(x'ff' AS TEXT)",
        "UPDATE sqlite_master SET sql = replace(sql, 'size', 'sizf')",
        "UPDATE sqlite_master SET rootpage = 99",
        "UPDATE rows SET name = CAST(x'ff61' AS TEXT) WHERE id = 100",
        "UPDATE rows SET size = 'none' WHERE id = 100",
        "UPDATE rows SET name = x'00' WHERE id = 100",
    ],
)
def test_damage_of_any_kind_is_quarantined_and_an_empty_database_begun(
    tmp_path: Path, statement: str
) -> None:
    fill(tmp_path / "db")
    edit(tmp_path / "db", statement)
    opened = open_database(str(tmp_path / "db"), ROWS, 1, System())
    assert opened.anew
    assert "kept as db.damaged-" in opened.replaced
    assert opened.database.execute("SELECT COUNT(*) FROM rows").fetchone() == (0,)
    opened.database.close()


def test_error_of_the_first_read_is_damage(tmp_path: Path) -> None:
    fill(tmp_path / "db")

    def probe(database: Database) -> None:
        if database.execute("SELECT 1 FROM rows").fetchone():
            raise RecursionError("nested too deeply")

    opened = open_database(str(tmp_path / "db"), ROWS, 1, System(), probe=probe)
    assert "RecursionError: nested too deeply" in opened.replaced
    opened.database.close()


def test_a_locked_database_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "db")
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0.05))
    with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OperationalError, match="locked"):
            open_database(str(tmp_path / "db"), ROWS, 1, System())
    assert not list(tmp_path.glob("*.damaged-*"))


def test_a_check_does_not_wait_on_a_pipe_in_the_place_of_a_log(tmp_path: Path) -> None:
    fill(tmp_path / "db")
    os.mkfifo(tmp_path / "db-wal")
    with pytest.raises(DatabaseError, match="db-wal is not a regular file"):
        check_database(str(tmp_path / "db"))


@pytest.mark.parametrize(
    "error", [ValueError("odd"), KeyError("odd"), UnicodeError("odd"), AssertionError("odd")]
)
def test_whatever_a_read_raises_is_damage(error: Exception) -> None:
    with pytest.raises(DatabaseError, match=r"it can't be read: .*odd"), damage_raised():
        raise error


@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "bad"), MemoryError(), StateError("known"), DatabaseError("x")]
)
def test_a_read_that_may_succeed_later_is_no_damage(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, damage_raised():
        raise error
    assert raised.value is error


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        *(
            (name, True)
            for name in ("BUSY", "LOCKED", "FULL", "PERM", "READONLY", "CANTOPEN", "IOERR", "NOMEM")
        ),
        *((name, True) for name in ("IOERR_FSYNC", "IOERR_WRITE", "BUSY_SNAPSHOT", "READONLY_DBMOVED")),
        *((name, False) for name in ("CORRUPT", "NOTADB", "ERROR", "MISMATCH", "SCHEMA", "CORRUPT_INDEX")),
    ],
)
def test_a_lock_and_a_disk_that_fails_are_no_damage(name: str, passes: bool) -> None:
    error = OperationalError(name)
    error.sqlite_errorcode = getattr(sqlite3, f"SQLITE_{name}")
    assert may_pass(error) is passes


# Transactions


def test_a_transaction_is_kept_whole(tmp_path: Path) -> None:
    database, _ = open_at(tmp_path / "db")
    with transaction(database):
        database.execute("INSERT INTO things VALUES ('a')")
        database.execute("INSERT INTO things VALUES ('b')")
    assert names(database) == ["a", "b"]
    database.close()


@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR ROLLBACK"])
def test_a_transaction_that_fails_is_undone_and_says_why(tmp_path: Path, verb: str) -> None:
    make(tmp_path / "db", "a")
    database, _ = open_at(tmp_path / "db")
    with pytest.raises(DatabaseError, match="UNIQUE"):
        insert(database, "b", f"{verb} INTO things VALUES ('a')")
    assert names(database) == ["a"]
    insert(database, "c")
    assert names(database) == ["a", "c"]
    database.close()


def insert(database: Database, thing: str, then: str = "") -> None:
    with transaction(database):
        database.execute("INSERT INTO things VALUES (?)", (thing,))
        if then:
            database.execute(then)


def test_a_commit_that_fails_is_undone(tmp_path: Path) -> None:
    database, _ = open_at(tmp_path / "db")
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("CREATE TABLE parts (of TEXT REFERENCES things DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(DatabaseError, match="FOREIGN KEY"), transaction(database):
        database.execute("INSERT INTO parts VALUES ('nothing')")
    assert not database.in_transaction
    assert database.execute("SELECT COUNT(*) FROM parts").fetchone() == (0,)
    database.close()


# Readers


def test_a_reader_reads_beside_a_writer_and_can_not_write(tmp_path: Path) -> None:
    make(tmp_path / "db", "a")
    writer, _ = open_at(tmp_path / "db")
    reader = open_reader(str(tmp_path / "db"), 1)
    with transaction(writer):
        writer.execute("INSERT INTO things VALUES ('b')")
        assert names(reader) == ["a"]
    assert names(reader) == ["a", "b"]
    with pytest.raises(OperationalError):
        reader.execute("DELETE FROM things")
    reader.close()
    writer.close()


def test_the_log_is_cut_after_a_burst_of_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "WAL_BYTES", 65_536)
    database, _ = open_at(tmp_path / "db")
    log = tmp_path / "db-wal"
    with transaction(database):
        database.executemany("INSERT INTO things VALUES (?)", [(f"{n}" * 1_000,) for n in range(1_000)])
    assert log.stat().st_size > 1_000_000
    database.execute("PRAGMA wal_checkpoint(RESTART)")
    database.execute("INSERT INTO things VALUES ('next')")
    assert log.stat().st_size <= 65_536
    database.close()


@pytest.mark.parametrize("name", ["a?b", "a#b", "a%20b", "größe"])
def test_a_path_of_any_letters_is_opened(tmp_path: Path, name: str) -> None:
    make(tmp_path / name, "a")
    reader = open_reader(str(tmp_path / name), 1)
    assert names(reader) == ["a"]
    reader.close()


def test_a_reader_of_what_is_missing_or_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperationalError):
        open_reader(str(tmp_path / "missing"), 1)
    assert not (tmp_path / "missing").exists()
    make(tmp_path / "db")
    with pytest.raises(DatabaseError, match="schema version is 1, this program's 2"):
        open_reader(str(tmp_path / "db"), 2)


def test_a_copy_that_the_system_gives_up_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(range(200)) * 100)
    asked: list[int] = []

    def copy_some(source: int, target: int, count: int) -> int:
        asked.append(count)
        if len(asked) > 1:
            raise OSError(errno.EOPNOTSUPP, "no more")
        return os.write(target, os.read(source, 4096))

    monkeypatch.setattr(os, "copy_file_range", copy_some, raising=False)
    storage.copy_database(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
