"""The pool's file as a file: only ours is opened, one at a time writes, and a write is durable or undone."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from foveal.daemon.core.errors import Busy, StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.pool_file import LOCK_TIMEOUT_S, PoolFile, PoolParts


def path_in(folder: Path) -> Path:
    return folder / "experiences.jsonl"


def append(file: PoolFile, data: bytes) -> None:
    with file.locked() as descriptor:
        file.append(descriptor, data)


# --- Opening ---


def test_reading_makes_no_file(tmp_path: Path) -> None:
    file = PoolFile(str(path_in(tmp_path)), System())
    with pytest.raises(FileNotFoundError), file.reading():
        pass
    assert os.listdir(tmp_path) == []
    append(file, b"a\n")
    with file.reading() as descriptor:
        assert os.read(descriptor, 10) == b"a\n"
    (tmp_path / "other").write_bytes(b"b\n")
    with file.reading(str(tmp_path / "other")) as descriptor:
        assert os.read(descriptor, 10) == b"b\n"


def test_the_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    file = PoolFile(str(path), System())
    before = os.umask(0)
    try:
        append(file, b"a\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with file.reading():
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shared = tmp_path / "shared.jsonl"
    file = PoolFile(str(shared), System(), private=False)
    append(file, b"a\n")
    shared.chmod(0o664)
    append(file, b"b\n")
    assert stat.S_IMODE(shared.stat().st_mode) == 0o664


def test_the_guard_is_asked_before_anything_is_opened(tmp_path: Path) -> None:
    def guard() -> None:
        raise StateError("not here")

    file = PoolFile(str(path_in(tmp_path)), System(), guard=guard)
    for opened in (file.reading, file.locked):
        with pytest.raises(StateError, match="not here"), opened():
            pass
    assert os.listdir(tmp_path) == []


def test_what_is_not_our_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = path_in(tmp_path)
    file = PoolFile(str(path), System())

    def check(message: str) -> None:
        with pytest.raises(StateError, match=message) as caught, file.reading():
            pass
        assert str(path) in str(caught.value)
        with pytest.raises(StateError, match=message), file.locked():
            pass

    (tmp_path / "target").write_text("")
    path.symlink_to("target")
    check("is a symlink")
    path.unlink()
    os.mkfifo(path)
    check("not a regular file")
    path.unlink()
    path.mkdir()
    with pytest.raises(StateError, match="not a regular file"), file.reading():
        pass
    with pytest.raises(StateError, match="Is a directory"), file.locked():
        pass
    path.rmdir()
    path.write_text("")
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: os.getuid() + 1)
        check(f"belongs to the user {os.getuid()}")
    with pytest.raises(StateError, match="No such file"):
        append(PoolFile(str(tmp_path / "none" / "x.jsonl"), System()), b"a\n")


# --- The lock ---


def test_one_at_a_time_holds_the_lock(tmp_path: Path) -> None:
    file = PoolFile(str(path_in(tmp_path)), System())
    with file.locked() as descriptor:
        assert fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND
        with open(path_in(tmp_path), "rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(path_in(tmp_path), "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_lock_that_is_never_released_is_busy(tmp_path: Path) -> None:
    class Hasty(System):
        seconds = 0.0

        def monotonic(self) -> float:
            self.seconds += LOCK_TIMEOUT_S / 3
            return self.seconds

    file = PoolFile(str(path_in(tmp_path)), Hasty())
    append(file, b"a\n")
    with open(path_in(tmp_path), "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Busy, match="locked by another process for 10 s"):
            append(file, b"b\n")
    append(file, b"b\n")
    assert path_in(tmp_path).read_bytes() == b"a\nb\n"


def test_a_file_that_was_replaced_while_its_lock_was_waited_for_is_not_written(tmp_path: Path) -> None:
    path = path_in(tmp_path)

    class Replacing(System):
        """Puts another file in the place just before the first look whether it is still the same."""

        done = False

        def lstat(self, path: str) -> os.stat_result:
            if not self.done:
                self.done = True
                (tmp_path / "new").write_bytes(b"new\n")
                os.replace(tmp_path / "new", path)
            return super().lstat(path)

    path.write_bytes(b"old\n")
    with open(path, "rb") as old:
        append(PoolFile(str(path), Replacing()), b"a\n")
        assert old.read() == b"old\n"
    assert path.read_bytes() == b"new\na\n"


# --- Appending ---


def test_an_append_is_one_write_and_on_the_disk(tmp_path: Path) -> None:
    log: list[str] = []

    class Recording(System):
        def fsync(self, descriptor: int) -> None:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            log.append("fsync folder" if is_folder else f"fsync {os.fstat(descriptor).st_size}")
            super().fsync(descriptor)

    def write(descriptor: int, data: bytes) -> int:
        log.append(f"write {len(data)}")
        return os.write(descriptor, data)

    def check(data: bytes, expected: list[str]) -> None:
        log.clear()
        append(file, data)
        assert log == expected

    file = PoolFile(str(path_in(tmp_path)), Recording(), write)
    check(b"12345\n", ["write 6", "fsync 6", "fsync folder"])
    check(b"12345\n", ["write 6", "fsync 12"])
    check(b"", ["fsync 12"])
    file.forget_folder()
    check(b"1\n", ["write 2", "fsync 14", "fsync folder"])


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("wrote", [0, 1, 60, 100])
def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path, code: int, wrote: int) -> None:
    writes = iter([wrote, -1] if wrote else [-1])

    def write(descriptor: int, data: bytes) -> int:
        size = next(writes)
        if size < 0:
            raise OSError(code, os.strerror(code))
        return os.write(descriptor, data[:size])

    path_in(tmp_path).write_bytes(b"first\n")
    with pytest.raises(StateError, match=os.strerror(code)) as caught:
        append(PoolFile(str(path_in(tmp_path)), System(), write), b"r" * 200)
    assert str(path_in(tmp_path)) in str(caught.value)
    assert path_in(tmp_path).read_bytes() == b"first\n"


def test_a_write_that_does_nothing_is_an_error(tmp_path: Path) -> None:
    file = PoolFile(str(path_in(tmp_path)), System(), lambda descriptor, data: 0)
    with pytest.raises(StateError, match="Nothing could be written"):
        append(file, b"a\n")
    assert path_in(tmp_path).read_bytes() == b""


def test_a_disk_that_is_full_in_the_middle(tmp_path: Path) -> None:
    """The real thing: the system cuts the write short at a limit and refuses the next one."""
    file = PoolFile(str(path_in(tmp_path)), System())
    append(file, b"first\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        with pytest.raises(StateError, match="too large"):
            append(file, b"second\n" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path_in(tmp_path).read_bytes() == b"first\n"


class Failing(System):
    """A disk that from some moment on refuses to make anything durable."""

    fails = False

    def now(self) -> datetime:
        return datetime(2025, 1, 1, tzinfo=UTC)

    def fsync(self, descriptor: int) -> None:
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fsync(descriptor)


def test_a_failed_fsync_is_undone(tmp_path: Path) -> None:
    system = Failing()
    file = PoolFile(str(path_in(tmp_path)), system)
    append(file, b"first\n")
    system.fails = True
    with pytest.raises(StateError, match="Input/output error"):
        append(file, b"second\n")
    assert path_in(tmp_path).read_bytes() == b"first\n"


# --- Repairing ---


def test_a_tail_is_cut_off_durably(tmp_path: Path) -> None:
    system = Failing()
    file = PoolFile(str(path_in(tmp_path)), system)
    path_in(tmp_path).write_bytes(b"whole\ntorn")
    with file.locked() as descriptor:
        file.cut(descriptor, 6)
        assert path_in(tmp_path).read_bytes() == b"whole\n"
        system.fails = True
        with pytest.raises(StateError, match="can't be repaired: Input/output error"):
            file.cut(descriptor, 0)


def parts_in(
    folder: Path, system: System | None = None, rotate_bytes: int = 10, *, private: bool = True
) -> PoolParts:
    system = system or System()
    return PoolParts(PoolFile(str(folder / "pool.jsonl"), system, private=private), system, rotate_bytes)


def append_parts(parts: PoolParts, data: bytes) -> None:
    with parts.writing() as descriptor:
        parts.file.append(descriptor, data)


def names(parts: PoolParts) -> list[str]:
    return [os.path.basename(part.path) for part in parts.listed()]


def test_a_full_file_is_set_aside(tmp_path: Path) -> None:
    parts = parts_in(tmp_path)
    assert names(parts) == []
    append_parts(parts, b"12345678\n")
    append_parts(parts, b"more\n")
    assert names(parts) == ["pool.jsonl"]
    append_parts(parts, b"new\n")
    assert names(parts) == ["pool.1.jsonl", "pool.jsonl"]
    assert (tmp_path / "pool.1.jsonl").read_bytes() == b"12345678\nmore\n"
    assert [part.active for part in parts.listed()] == [False, True]
    append_parts(parts, b"12345678\n")
    append_parts(parts, b"last\n")
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
    append_parts(parts, b"12345678901\n")
    append_parts(parts, b"b\n")
    assert names(parts) == ["pool.9.jsonl", "pool.10.jsonl", "pool.11.jsonl", "pool.jsonl"]


def test_a_torn_file_is_mended_before_it_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_bytes(b"12345678\ntorn")
    parts = parts_in(tmp_path)
    with parts.writing():
        assert names(parts) == ["pool.jsonl"]


def test_who_waited_for_a_file_that_was_set_aside_writes_to_the_new_one(tmp_path: Path) -> None:
    one = parts_in(tmp_path)
    append_parts(one, b"1234567890\n")

    class Overtaking(System):
        """Lets the other one set the file aside just before this one looks whether it is still the same."""

        done = False

        def lstat(self, path: str) -> os.stat_result:
            if not self.done:
                self.done = True
                os.rename(path, tmp_path / "pool.1.jsonl")
            return super().lstat(path)

    append_parts(parts_in(tmp_path, Overtaking()), b"mine\n")
    assert (tmp_path / "pool.1.jsonl").read_bytes() == b"1234567890\n"
    assert (tmp_path / "pool.jsonl").read_bytes() == b"mine\n"


def test_a_disk_that_refuses_to_set_aside_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = parts_in(tmp_path)
    append_parts(parts, b"1234567890\n")

    def fail(*arguments: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(StateError, match="can't be set aside: Read-only"):
        append_parts(parts, b"more\n")
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
