"""The machine: the clock and the file system behind one class, which tests replace to stop time or make disks
fail; disk space, permission to write, descriptors, and the memory of processes.
"""

from __future__ import annotations

import errno
import os
import resource
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec import Struct


class Stamp(Struct, frozen=True):
    """The identity of a file's content by its stat: sizes in bytes, times in nanoseconds since the epoch.

    Two equal stamps mean the same content, except within the granularity of the file system's clock (about
    4 ms on Linux): see `RACY_NS`.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


CLOCK_SET = datetime(2020, 1, 1, tzinfo=UTC)
"""A clock before this time is wrong for certain, as on a machine that starts before the time is known."""

FUTURE = timedelta(days=1)
"""How far a recorded time may lie in the future: clocks differ, those of the people who share a pool too."""


def latest_time(now: datetime) -> datetime:
    """Return the time after which a recorded time comes from a wrong clock. A clock that is itself wrong for
    certain makes none so, since what would be taken for it would be too old once the clock is right."""
    return now + FUTURE if now >= CLOCK_SET else datetime.max.replace(tzinfo=UTC)


LATEST_NS = 2**63 - 1
"""Maximum nanoseconds since the epoch that fit SQLite's signed 64-bit integers; reached in 2262."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

RACY_NS = 10_000_000
"""A file modified less than 10 ms before it was read may change again without a new mtime (kernel clock
ticks are 1 to 10 ms), so such a file is compared by hash the next time, as git does for its index."""


def is_racy(stamp: Stamp, now_ns: int) -> bool:
    """Whether a file may change again without a new stamp, by the clock before it was read.

    The change time of the inode counts too: anybody can set the modification time back, as unpacking does.
    """
    return abs(now_ns - stamp.mtime_ns) < RACY_NS or abs(now_ns - stamp.ctime_ns) < RACY_NS


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a stat result. Times that don't fit SQLite are clamped to `LATEST_NS`."""
    mtime_ns, ctime_ns = status.st_mtime_ns, status.st_ctime_ns
    if not -LATEST_NS <= mtime_ns <= LATEST_NS or not -LATEST_NS <= ctime_ns <= LATEST_NS:
        mtime_ns, ctime_ns = (min(max(each, -LATEST_NS), LATEST_NS) for each in (mtime_ns, ctime_ns))
    return Stamp(status.st_size, mtime_ns, ctime_ns, status.st_ino)


def is_stamp_of(stamp: Stamp, status: os.stat_result) -> bool:
    """Whether a stat result has this stamp; cheaper than making a second stamp to compare."""
    return (
        status.st_mtime_ns == stamp.mtime_ns
        and status.st_size == stamp.size
        and status.st_ctime_ns == stamp.ctime_ns
        and status.st_ino == stamp.inode
    ) or (abs(stamp.mtime_ns) == LATEST_NS and stamp_of(status) == stamp)


def stamps_hold(
    stat_path: Callable[[str], os.stat_result], stamps: Iterable[tuple[str, Stamp | None]]
) -> bool:
    """Whether paths still have their stamps, None for a path without a file.

    `stat_path` is `System.stat`, or `System.lstat`, which doesn't follow links. Written as one loop because
    every cached answer runs it.
    """
    for path, stamp in stamps:
        try:
            status = stat_path(path)
        except (OSError, ValueError):
            if stamp is not None:
                return False
        else:
            if stamp is None or not is_stamp_of(stamp, status):
                return False
    return True


PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
"""Errors that clear without a change of any file, once descriptors, memory or processes are freed."""


class System:
    """The real clock and the real file system. Tests subclass it to inject faults.

    Paths are absolute `str`. Every method raises `OSError` as the system call does.
    """

    denials = 0
    """Number of reads of files or folders that failed for a temporary reason. A result must not be cached
    by the stamps of files if this grew meanwhile: no stamp tells when the file could be read."""

    def deny(self, error: BaseException | None) -> bool:
        """Count an error as a denial if it is temporary; returns whether it is."""
        passes = isinstance(error, OSError) and error.errno in PASSING
        self.denials += passes
        return passes

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        return _EPOCH + timedelta(microseconds=self.time_ns() // 1_000)

    def time_ns(self) -> int:
        """Return the wall clock in nanoseconds, comparable to file times; between 1970 and 2262.

        Other values come from a wrong clock; neither SQLite nor `datetime` could store them.
        """
        return min(max(self.clock_ns(), 0), LATEST_NS)

    def clock_ns(self) -> int:
        """Return the time of the wall clock, unchecked."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Return seconds of a clock that never jumps."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; never on the event loop."""
        time.sleep(seconds)

    def stat(self, path: str) -> os.stat_result:
        """Stat a path, following symlinks."""
        return os.stat(path)

    def lstat(self, path: str) -> os.stat_result:
        """Stat a path without following symlinks."""
        return os.lstat(path)

    def statvfs(self, path: str) -> os.statvfs_result:
        """Return the space of the disk below a path, and how it is mounted."""
        return os.statvfs(path)

    def may_write(self, folder: str) -> bool:
        """Whether this user may make files in a folder, by its mode."""
        return os.access(folder, os.W_OK | os.X_OK)

    @contextmanager
    def scandir(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        """List a folder; the iterator is closed on leaving the context."""
        try:
            opened = os.scandir(path)
        except OSError as error:
            self.deny(error)
            raise
        with opened as entries:
            yield entries

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        """Read a regular file and the stat of the open file, taken before the read.

        At most `limit` bytes are read. Never blocks on a pipe or a device: those raise `OSError`, a folder
        `IsADirectoryError`.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.deny(error)
            raise
        try:
            # Before the file object is made, which on a folder raises without owning the descriptor.
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(f"{path} is not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(-1 if limit is None else limit), status
        finally:
            os.close(descriptor)

    def write_atomic(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Replace a file atomically: write a temporary file, fsync it, rename it, and fsync the folder."""
        temporary = f"{path}.{os.getpid()}.tmp"
        with suppress(FileNotFoundError):  # of a process that was killed, or a link that leads elsewhere
            os.unlink(temporary)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                self.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
        self.fsync_folder(os.path.dirname(path))

    def fsync(self, descriptor: int) -> None:
        """Force a file's bytes to the disk."""
        os.fsync(descriptor)

    def fsync_folder(self, path: str) -> None:
        """Force a folder's entries to the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.fsync(descriptor)
        finally:
            os.close(descriptor)

    def make_folder(self, path: str, above: str) -> None:
        """Make a private folder and its missing parents below `above`, which exists, and fsync each parent.

        Parents of existing folders are fsynced too: the process that made them may have died before it did.
        """
        os.makedirs(path, mode=0o700, exist_ok=True)
        while path != above:
            path = os.path.dirname(path)
            self.fsync_folder(path)


LEAST_BYTES = 1 << 20
"""Minimum free disk space in bytes: with less, a commit of the index or SQLite's log soon fails."""

LEAST_DESCRIPTORS = 32
"""Minimum number of free descriptors: a context opens some ten files at once in each of two threads."""

_OPEN_FILES = "/dev/fd"
"""The folder that lists the open descriptors of the reading process, on Linux and on macOS."""


def disk_problem(folder: str, system: System) -> str:
    """Return why the folder can't be written now, in words, or "". Blocks for a few microseconds."""
    try:
        room = system.statvfs(folder)
    except FileNotFoundError:
        return (
            f"the state folder {folder} is gone: what is asked to be kept is lost; "
            "make it anew with: foveal restart"
        )
    except OSError as error:
        return f"the state folder {folder} can't be looked at ({error.strerror})"
    if room.f_flag & os.ST_RDONLY:
        return f"the disk of {folder} is read-only: nothing is kept until it can be written again"
    if not system.may_write(folder):
        return f"{folder} can't be written by this user: nothing is kept; mend it with: chmod 700 {folder}"
    free = room.f_bavail * room.f_frsize
    if free < LEAST_BYTES:
        return f"the disk of {folder} is full ({free:,} bytes are left): nothing is kept until there is room"
    if room.f_files and not room.f_favail:
        return f"the disk of {folder} takes no more files: nothing new is kept until some are removed"
    return ""


def descriptor_problem() -> str:
    """Return why files may soon fail to open, in words, or ""."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        used = len(os.listdir(_OPEN_FILES)) - 1  # one of them was open for this listing
    except OSError:
        used = limit
    if limit == resource.RLIM_INFINITY or limit - used >= LEAST_DESCRIPTORS:
        return ""
    return (
        f"{used:,} of {limit:,} file descriptors are in use: files may not be read until clients close "
        "connections; raise the limit with: ulimit -n"
    )


ARENAS_MAX = 2
"""Maximum number of heaps that the C library uses for threads. Its default is eight for each processor, and
no heap returns free space between blocks in use to the system."""

_M_ARENA_MAX = -8
"""The option's number in glibc's malloc.h."""


def share_heaps() -> None:
    """Make threads that start from now on share a few heaps; no effect without glibc."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        import ctypes  # 2 ms

        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, ARENAS_MAX)


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process in bytes, None if it is gone or can't be read.

    Without /proc only the peak of the current process is known.
    """
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        if pid != os.getpid():
            return None
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


class ProcessState(NamedTuple):
    """The processor time that a process has used, in ticks of the system, and whether it was stopped."""

    ticks: int
    stopped: bool


def is_runnable(pid: int) -> bool:
    """Whether any thread of a process is running or waits for a processor; False if /proc is missing."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    return any(_state_of(f"{pid}/task/{thread}") == b"R" for thread in threads)


def _state_of(task: str) -> bytes:
    try:
        with open(f"/proc/{task}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b""


def process_state(pid: int) -> ProcessState | None:
    """Return the state of a process, None if it is gone or /proc is missing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The process name before the last bracket may contain any character, even a bracket.
            fields = file.read().rpartition(b")")[2].split()
        return ProcessState(int(fields[11]) + int(fields[12]), fields[0] in b"Tt")
    except (OSError, ValueError, IndexError):
        return None
