"""A file of records is private, undoes failed writes, and is set aside when it is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.record_file import RecordFile
from foveal.daemon.core.system import System

SCHEMA = "CREATE TABLE names (name TEXT NOT NULL);"


def opened(path: Path, system: System | None = None) -> RecordFile:
    return RecordFile(str(path), SCHEMA, 1, system or System())


def add(file: RecordFile, *names: str) -> None:
    with file.writing() as database:
        database.executemany("INSERT INTO names VALUES (?)", [(name,) for name in names])


def names(file: RecordFile) -> list[str]:
    with file.reading() as database:
        return [name for (name,) in database.execute("SELECT name FROM names")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "names.sqlite"


@pytest.fixture
def file(path: Path) -> Iterator[RecordFile]:
    file = opened(path)
    add(file, "a")
    yield file
    file.close()


def test_a_failed_write_is_undone_and_raised(file: RecordFile) -> None:
    with pytest.raises(StateError, match="opened anew"):
        add(file, "b", None)  # type: ignore[arg-type]  # the table takes texts only
    assert names(file) == ["a"]
    assert file.take_warnings() == (), "the file was whole"


def test_a_file_found_damaged_at_work_is_set_aside(file: RecordFile, path: Path) -> None:
    add(file, *(f"{number:06}" for number in range(20_000)))
    file.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"x" * len(data[len(data) // 2 :])
    path.write_bytes(data)
    again = opened(path)  # looks at the head only
    with pytest.raises(StateError, match="opened anew"):
        names(again)
    assert names(again) == []
    assert "could not be used" in again.take_warnings()[0]
    again.close()


def test_what_cannot_be_opened_is_said_and_may_be_mended(path: Path) -> None:
    path.parent.write_text("no folder")
    file = opened(path)
    with pytest.raises(StateError, match="can't be opened"):
        names(file)
    path.parent.unlink()
    assert names(file) == []
    file.close()
    with pytest.raises(StateError, match="is closed"):
        names(file)
