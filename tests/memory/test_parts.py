"""A pool's files: a full one is set aside under the next number, and one is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.pool_file import PoolFile, PoolParts


def parts_in(
    folder: Path, system: System | None = None, rotate_bytes: int = 10, *, private: bool = True
) -> PoolParts:
    system = system or System()
    return PoolParts(PoolFile(str(folder / "pool.jsonl"), system, private=private), system, rotate_bytes)


def append(parts: PoolParts, data: bytes) -> None:
    with parts.writing() as descriptor:
        parts.file.append(descriptor, data)


def names(parts: PoolParts) -> list[str]:
    return [os.path.basename(part.path) for part in parts.listed()]


def test_a_full_file_is_set_aside(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    assert names(parts) == []
    append(parts, b"12345678\n")
    append(parts, b"more\n")
    assert names(parts) == ["pool.jsonl"]
    append(parts, b"new\n")
    assert names(parts) == ["pool.1.jsonl", "pool.jsonl"]
    assert (tmp_path / "pool.1.jsonl").read_bytes() == b"12345678\nmore\n"
    assert [part.active for part in parts.listed()] == [False, True]
    append(parts, b"12345678\n")
    append(parts, b"last\n")
    assert names(parts) == ["pool.1.jsonl", "pool.2.jsonl", "pool.jsonl"]
    assert b"".join(Path(part.path).read_bytes() for part in parts.listed()).split() == [
        b"12345678", b"more", b"new", b"12345678", b"last",
    ]  # fmt: skip


def test_numbers_sort_as_numbers_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in (
        "pool.10.jsonl",
        "pool.9.jsonl",
        "pool.x.jsonl",
        "pool.01.jsonl",
        "pool.1.jsonl.bak",
        "a.jsonl",
    ):
        (tmp_path / name).write_bytes(b"a\n")
    parts = parts_in(tmp_path)
    assert names(parts) == ["pool.9.jsonl", "pool.10.jsonl"]
    append(parts, b"12345678901\n")
    append(parts, b"b\n")
    assert names(parts) == ["pool.9.jsonl", "pool.10.jsonl", "pool.11.jsonl", "pool.jsonl"]


def test_a_torn_file_is_mended_before_it_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_bytes(b"12345678\ntorn")
    parts = parts_in(tmp_path)
    with parts.writing():
        assert names(parts) == ["pool.jsonl"]


def test_who_waited_for_a_file_that_was_set_aside_writes_to_the_new_one(tmp_path: Path) -> None:
    one = parts_in(tmp_path)
    append(one, b"1234567890\n")

    class Overtaking(System):
        """Lets the other one set the file aside just before this one looks whether it is still the same."""

        done = False

        def lstat(self, path: str) -> os.stat_result:
            if not self.done:
                self.done = True
                os.rename(path, tmp_path / "pool.1.jsonl")
            return super().lstat(path)

    append(parts_in(tmp_path, Overtaking()), b"mine\n")
    assert (tmp_path / "pool.1.jsonl").read_bytes() == b"1234567890\n"
    assert (tmp_path / "pool.jsonl").read_bytes() == b"mine\n"


def test_a_disk_that_refuses_to_set_aside_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = parts_in(tmp_path)
    append(parts, b"1234567890\n")

    def fail(*arguments: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(StateError, match="can't be set aside: Read-only"):
        append(parts, b"more\n")
    assert (tmp_path / "pool.jsonl").read_bytes() == b"1234567890\n"


def test_a_file_is_replaced_by_what_is_left_of_it(tmp_path: Path) -> None:
    content = b"one\ntwo\nthree\n"

    def check(dropped: list[tuple[int, int]], expected: bytes | None, *, active: bool = True) -> None:
        folder = tmp_path / f"{len(os.listdir(tmp_path))}"
        folder.mkdir()
        path = folder / ("pool.jsonl" if active else "pool.1.jsonl")
        path.write_bytes(content)
        path.chmod(0o600)
        parts = parts_in(folder)
        [part] = parts.listed()
        parts.rewrite(part, dropped)
        assert (path.read_bytes() if path.exists() else None) == expected
        if expected is not None:
            assert path.stat().st_ino != part.stamp.inode
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not parts.has_leftovers()

    check([(0, 4)], b"two\nthree\n")
    check([(4, 4)], b"one\nthree\n")
    check([(0, 4), (8, 6)], b"two\n")
    check([(0, 4), (4, 4)], b"three\n")
    check([(0, 14)], b"")
    check([(0, 14)], None, active=False)
    check([(4, 10)], b"one\n", active=False)


def test_a_shared_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_bytes(b"one\ntwo\n")
    path.chmod(0o640)
    parts = parts_in(tmp_path, private=False)
    parts.rewrite(parts.listed()[0], [(0, 4)])
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two\n", 0o640)


def test_a_failed_rewriting_leaves_the_file_and_can_be_repeated(tmp_path: Path) -> None:
    class Failing(System):
        fails = True

        def fsync(self, descriptor: int) -> None:
            if self.fails:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().fsync(descriptor)

    system = Failing()
    path = tmp_path / "pool.jsonl"
    path.write_bytes(b"one\ntwo\n")
    parts = parts_in(tmp_path, system)
    [part] = parts.listed()
    with pytest.raises(StateError, match="can't be rewritten: No space"):
        parts.rewrite(part, [(0, 4)])
    assert path.read_bytes() == b"one\ntwo\n"
    assert parts.has_leftovers()
    system.fails = False
    parts.rewrite(part, [(0, 4)])
    assert path.read_bytes() == b"two\n"
    (tmp_path / "pool.jsonl.tmp").write_bytes(b"left")
    parts.remove_leftovers()
    parts.remove_leftovers()
    assert os.listdir(tmp_path) == ["pool.jsonl"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A name that is prepared for the new file is removed, never followed."""
    (tmp_path / "target").write_bytes(b"precious")
    (tmp_path / "pool.jsonl").write_bytes(b"one\ntwo\n")
    (tmp_path / "pool.jsonl.tmp").symlink_to("target")
    parts = parts_in(tmp_path)
    parts.rewrite(parts.listed()[0], [(0, 4)])
    assert (tmp_path / "target").read_bytes() == b"precious"
