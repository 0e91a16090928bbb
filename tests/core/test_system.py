"""The seam to the disk: a read never blocks and leaks nothing, a file is replaced whole or not at all."""

from __future__ import annotations

import errno
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from foveal.daemon.core.system import LATEST_NS, RACY_NS, Stamp, System, is_racy, is_stamp_of, stamp_of
from msgspec.structs import replace


class Recording(System):
    """Writes down what is forced to the disk, and what stands under a name at that time."""

    def __init__(self, watched: Path) -> None:
        self.watched = watched
        self.log: list[tuple[str, bytes | None]] = []

    def fsync(self, descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        self.log.append((kind, self.watched.read_bytes() if self.watched.exists() else None))
        super().fsync(descriptor)


class Failing(System):
    """A disk that refuses to make anything durable."""

    def fsync(self, descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@contextmanager
def no_descriptor_is_left() -> Iterator[None]:
    """Expect that as many files are open afterwards: the system gives out the lowest free descriptor."""
    before = lowest_free_descriptor()
    yield
    assert lowest_free_descriptor() == before


def lowest_free_descriptor() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


# --- Reading ---


def test_what_passes_by_itself_is_counted(tmp_path: Path) -> None:
    """A file that isn't there says so at any time; one that no descriptor is left for is there."""
    (tmp_path / "file").write_bytes(b"x")
    system = System()
    with pytest.raises(FileNotFoundError):
        system.read(str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError), system.scandir(str(tmp_path / "none")):
        pass
    assert system.denials == 0
    former = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, former[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            system.read(str(tmp_path / "file"))
        with pytest.raises(OSError, match="Too many open files"), system.scandir(str(tmp_path)):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, former)
    assert system.denials == 2
    assert system.read(str(tmp_path / "file"))[0] == b"x"
    assert system.denials == 2


def test_what_is_no_regular_file_is_refused_at_once_and_leaks_nothing(tmp_path: Path) -> None:
    """Without a writer, opening a pipe for reading would wait for ever."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "to folder").symlink_to("folder")

    def check(path: Path, error: type[OSError], message: str) -> None:
        with no_descriptor_is_left():
            for _ in range(3):
                with pytest.raises(error, match=message) as caught:
                    System().read(str(path), 10)
                assert str(path) in str(caught.value)

    check(tmp_path / "folder", IsADirectoryError, "Is a directory")
    check(tmp_path / "to folder", IsADirectoryError, "Is a directory")
    check(tmp_path / "pipe", OSError, "is not a regular file")
    check(Path("/dev/zero"), OSError, "is not a regular file")
    check(tmp_path / "none", FileNotFoundError, "No such file")
    check(tmp_path / "loop", OSError, "symbolic links")


def test_a_read_that_fails_leaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    (tmp_path / "file").write_bytes(b"text")
    with no_descriptor_is_left(), monkeypatch.context() as patched:
        patched.setattr(os, "fstat", refuse)
        with pytest.raises(OSError, match="Input/output error"):
            System().read(str(tmp_path / "file"))


# --- Replacing ---


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_written_file_is_private_whatever_the_umask_and_the_old_mode(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o666)
    before = os.umask(umask)
    try:
        System().write_atomic(str(path), b"new")
        System().write_atomic(str(tmp_path / "open"), b"new", mode=0o644)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o644 & ~umask


def test_the_content_is_durable_before_the_name_and_the_name_after_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    system = Recording(path)
    system.write_atomic(str(path), b"new")
    assert system.log == [("file", b"old"), ("folder", b"new")]


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (None, b"old"):
        if content is not None:
            path.write_bytes(content)
        with no_descriptor_is_left(), pytest.raises(OSError, match="Input/output error"):
            Failing().write_atomic(str(path), b"new")
        assert os.listdir(tmp_path) == ([] if content is None else ["file"])
    assert path.read_bytes() == b"old"


def test_a_name_that_is_a_folder_is_refused_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with no_descriptor_is_left(), pytest.raises(IsADirectoryError):
        System().write_atomic(str(tmp_path / "folder"), b"new")
    assert os.listdir(tmp_path) == ["folder"]
    with pytest.raises(FileNotFoundError):
        System().write_atomic(str(tmp_path / "none" / "file"), b"new")


def test_only_a_folder_is_synced_as_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    system = Recording(tmp_path / "file")
    with no_descriptor_is_left():
        system.fsync_folder(str(tmp_path))
        with pytest.raises(NotADirectoryError):
            system.fsync_folder(str(tmp_path / "file"))
        with pytest.raises(OSError, match="Input/output error"):
            Failing().fsync_folder(str(tmp_path))
    assert system.log == [("folder", b"")]


# --- The rest ---


@pytest.mark.parametrize(
    ("mtime_age", "ctime_age", "racy"),
    [
        (0, 0, True),
        (RACY_NS - 1, RACY_NS - 1, True),
        (RACY_NS, RACY_NS, False),
        (10**18, 0, True),  # its time was set back just now
        (10**18, RACY_NS, False),
        (-(10**18), RACY_NS, False),  # or forward, once
    ],
)
def test_a_stamp_is_in_doubt_by_either_time(mtime_age: int, ctime_age: int, racy: bool) -> None:
    now = 2 * 10**18
    assert is_racy(Stamp(1, now - mtime_age, now - ctime_age, 1), now) is racy


@pytest.mark.parametrize("part", ["size", "mtime_ns", "ctime_ns", "inode"])
def test_a_stamp_is_another_if_one_part_is(tmp_path: Path, part: str) -> None:
    """A file of the same size and date may be another one, or have been edited before its date was set back."""
    (tmp_path / "f").write_text("x")
    status = os.stat(tmp_path / "f")
    stamp = stamp_of(status)
    assert is_stamp_of(stamp, status)
    for other in (replace(stamp, **{part: getattr(stamp, part) + step}) for step in (-1, 1)):
        assert not is_stamp_of(other, status)
        assert other != stamp


@pytest.mark.parametrize("ns", [-(2**70), 2**70])
def test_the_stamp_of_a_file_of_another_age_fits_a_database(tmp_path: Path, ns: int) -> None:
    (tmp_path / "f").write_text("x")
    status = os.stat(tmp_path / "f")
    fields = {name: getattr(status, name) for name in ("st_size", "st_ctime_ns", "st_ino")}
    far = cast("os.stat_result", SimpleNamespace(**fields, st_mtime_ns=ns))
    stamp = stamp_of(far)
    assert abs(stamp.mtime_ns) == LATEST_NS
    assert is_stamp_of(stamp, far)
    assert not is_stamp_of(stamp_of(status), far)
