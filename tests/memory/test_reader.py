"""Reading a pool's files: only what is new is read, whatever the files are called by then."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.daemon.core.errors import Busy, StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.lines import line_of
from foveal.daemon.memory.pool_file import PoolFile, PoolParts
from foveal.daemon.memory.pool_store import PoolReader, PoolSource


def line(number: int) -> bytes:
    return line_of(Experience(f"x_{number}", f"2025-01-01T00:00:{number:02}.000Z", "a", "s", f"d {number}"))


def source_in(folder: Path, system: System, *, optional: bool = False) -> PoolSource:
    folder.mkdir(exist_ok=True)
    return PoolSource(PoolParts(PoolFile(str(folder / "x.jsonl"), system), system), optional)


class Counting(System):
    """Notes which folders are listed; `disturb` is called with each listing."""

    def __init__(self) -> None:
        self.listed = 0

    def disturb(self, path: str) -> None:
        """Change what is there."""

    @contextmanager
    def scandir(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        self.listed += 1
        self.disturb(path)
        with super().scandir(path) as entries:
            yield entries


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    reader = PoolReader([source_in(tmp_path, System())], System())
    assert not reader.is_current()
    reader.catch_up()
    assert reader.is_current()
    path.write_bytes(line(1))
    assert not reader.is_current()
    reader.catch_up()
    records = reader.records
    with path.open("ab") as file:
        file.write(line(2))
    reader.catch_up()
    assert reader.records is records
    assert len(records) == 2
    path.rename(tmp_path / "x.1.jsonl")
    path.write_bytes(line(3))
    reader.catch_up()
    assert reader.records is records, "a file that was set aside is the one that was read"
    assert [one.id for one in records.shown()] == ["x_3", "x_2", "x_1"]
    (tmp_path / "x.1.jsonl").write_bytes(line(1))
    reader.catch_up()
    assert reader.records is not records
    assert [one.id for one in reader.records.shown()] == ["x_3", "x_1"]
    assert sum(reading.lines for reading in reader.readings()) == 2


def test_a_torn_end_is_only_told_of_the_file_that_is_appended_to(tmp_path: Path) -> None:
    source = source_in(tmp_path, System())
    (tmp_path / "x.1.jsonl").write_bytes(line(1)[:-1])
    (tmp_path / "x.jsonl").write_bytes(line(2) + b'{"id":"x_3"')
    reader = PoolReader([source], System())
    reader.catch_up()
    torn = reader.torn(source)
    assert torn is not None
    assert torn.offset == len(line(2))
    assert len(reader.records) == 2
    (tmp_path / "x.jsonl").write_bytes(line(2))
    reader.catch_up()
    assert reader.torn(source) is None


def test_files_that_are_renamed_while_they_are_listed(tmp_path: Path) -> None:
    class Renaming(Counting):
        def disturb(self, path: str) -> None:
            if self.listed in (2, 4):
                os.rename(tmp_path / "x.jsonl", tmp_path / f"x.{self.listed}.jsonl")
                (tmp_path / "x.jsonl").write_bytes(line(self.listed))

    system = Renaming()
    (tmp_path / "x.jsonl").write_bytes(line(1))
    reader = PoolReader([source_in(tmp_path, system)], system)
    reader.catch_up()
    assert [one.id for one in reader.records.shown()] == ["x_4", "x_2", "x_1"]


def test_files_that_never_hold_still_are_busy(tmp_path: Path) -> None:
    class Restless(Counting):
        def disturb(self, path: str) -> None:
            (tmp_path / "new").write_bytes(line(1))
            os.replace(tmp_path / "new", tmp_path / "x.jsonl")

    system = Restless()
    reader = PoolReader([source_in(tmp_path, system)], system)
    with pytest.raises(Busy, match="change all the time"):
        reader.catch_up()


def test_an_optional_source_that_can_not_be_read_is_left_out(tmp_path: Path) -> None:
    private = source_in(tmp_path / "private", System())
    shared = source_in(tmp_path / "shared", System(), optional=True)
    (tmp_path / "private" / "x.jsonl").write_bytes(line(1))
    (tmp_path / "shared" / "x.jsonl").write_bytes(line(2))
    reader = PoolReader([private, shared], System())
    reader.catch_up()
    assert len(reader.records) == 2
    (tmp_path / "shared" / "x.jsonl").rename(tmp_path / "shared" / "y")
    (tmp_path / "shared" / "x.jsonl").symlink_to("y")
    for _ in range(2):
        reader.catch_up()
        assert [one.id for one in reader.records.shown()] == ["x_1"]
        assert "is a symlink" in shared.problem
        assert not reader.is_current(), "it may be mended at any time"
    records = reader.records
    (tmp_path / "shared" / "x.jsonl").unlink()
    reader.catch_up()
    assert (shared.problem, reader.records is records) == ("", True)
    assert reader.is_current()
    os.replace(tmp_path / "private" / "x.jsonl", tmp_path / "private" / "y")
    (tmp_path / "private" / "x.jsonl").symlink_to("y")
    with pytest.raises(StateError, match="is a symlink"):
        reader.catch_up()
