"""The pool's file as a file: only ours is opened, one at a time writes, and a write is durable or undone."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest
from foveal.daemon.core.errors import Busy, StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.pool_file import LOCK_TIMEOUT_S, PoolFile
from foveal.daemon.memory.shared_pool import guard_of, shared_problem


def path_in(folder: Path) -> Path:
    return folder / "experiences.jsonl"


def append(file: PoolFile, data: bytes) -> None:
    with file.locked() as descriptor:
        file.append(descriptor, data)


# --- Opening ---


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


def test_only_one_process_holds_the_lock(tmp_path: Path) -> None:
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


class Failing(System):
    """A disk that from some moment on refuses to make anything durable."""

    fails = False

    def fsync(self, descriptor: int) -> None:
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fsync(descriptor)


# --- Rotating and rewriting ---


def file_in(folder: Path, system: System | None = None, *, private: bool = True) -> PoolFile:
    return PoolFile(str(folder / "pool.jsonl"), system or System(), private=private, rotate_bytes=10)


def write(file: PoolFile, data: bytes) -> None:
    with file.writing() as descriptor:
        file.append(descriptor, data)


def names(file: PoolFile) -> list[str]:
    return [os.path.basename(path) for path in file.parts()]


def test_full_file_is_rotated(tmp_path: Path) -> None:
    file = file_in(tmp_path)
    assert names(file) == []
    write(file, b"12345678\n")
    write(file, b"more\n")
    assert names(file) == ["pool.jsonl"]
    write(file, b"new\n")
    assert names(file) == ["pool.1.jsonl", "pool.jsonl"]
    assert (tmp_path / "pool.1.jsonl").read_bytes() == b"12345678\nmore\n"
    (tmp_path / "pool.jsonl").write_bytes(b"12345678901\ntorn")
    write(file, b"it is mended before\n")
    assert names(file) == ["pool.1.jsonl", "pool.jsonl"]


@pytest.mark.parametrize("private", [True, False])
def test_rewriting_keeps_the_remaining_lines(tmp_path: Path, private: bool) -> None:
    mode = 0o600 if private else 0o640
    file = file_in(tmp_path, private=private)
    for path in (tmp_path / "pool.1.jsonl", tmp_path / "pool.jsonl"):
        path.write_bytes(b"one\ntwo\nthree\n")
        path.chmod(mode)
        before = path.stat().st_ino
        file.rewrite(str(path), [True, False, True])
        assert path.read_bytes() == b"one\nthree\n"
        assert path.stat().st_ino != before
        assert stat.S_IMODE(path.stat().st_mode) == mode
        file.rewrite(str(path), [False, False])
    assert names(file) == ["pool.jsonl"]
    assert (tmp_path / "pool.jsonl").read_bytes() == b""


def test_a_failed_rewriting_leaves_the_file_and_can_be_repeated(tmp_path: Path) -> None:
    system = Failing()
    path = tmp_path / "pool.jsonl"
    path.write_bytes(b"one\ntwo\n")
    file = file_in(tmp_path, system)
    system.fails = True
    with pytest.raises(StateError, match="can't be rewritten: Input/output error"):
        file.rewrite(str(path), [False, True])
    assert path.read_bytes() == b"one\ntwo\n"
    system.fails = False
    file.rewrite(str(path), [False, True])
    assert path.read_bytes() == b"two\n"
    (tmp_path / "pool.jsonl.77.tmp").write_bytes(b"left by a process that was killed")
    with file.locked():
        assert os.listdir(tmp_path) == ["pool.jsonl"]


# Which paths of a repository a pool may have, and that no symlink leads it elsewhere.


@pytest.mark.parametrize(
    ("path", "is_taken"),
    [
        ("decisions.jsonl", True),
        (".foveal/experiences.jsonl", True),
        ("docs/größe.jsonl", True),
        ("/etc/decisions.jsonl", False),
        ("../decisions.jsonl", False),
        ("a/../../decisions.jsonl", False),
        ("a//decisions.jsonl", False),
        ("a\0.jsonl", False),
        (".git/decisions.jsonl", False),
        ("a/.GIT/decisions.jsonl", False),
        ("src/main.py", False),
        ("decisions.jsonl/", False),
        ("a/.jsonl", False),
    ],
)
def test_which_paths_are_taken(path: str, *, is_taken: bool) -> None:
    assert (shared_problem(path, trusted=True) == "") is is_taken
    assert "foveal trust" in shared_problem(path, trusted=False)


def test_no_symlink_leads_out_of_the_project(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "root-outside"
    for folder in (root / "inside", root / ".git", outside):
        folder.mkdir(parents=True)
    (root / "out").symlink_to(outside)
    (root / "in").symlink_to("inside")
    (root / "hidden").symlink_to(".git")
    (tmp_path / "link").symlink_to("root")

    def check(path: str, problem: str = "", root: Path = root) -> None:
        guard = guard_of(str(root), path)
        if not problem:
            guard()
            return
        with pytest.raises(StateError, match=problem):
            guard()

    check("x.jsonl")
    check("inside/x.jsonl")
    check("new/deep/x.jsonl")
    check("in/x.jsonl")
    check("x.jsonl", root=tmp_path / "link")
    check("out/x.jsonl", "leads out of the project")
    check("out/deep/x.jsonl", "leads out of the project")
    check("hidden/x.jsonl", r"lies in \.git")
