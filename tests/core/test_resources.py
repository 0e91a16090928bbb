"""What the machine gives no more is told in words, with a seam in the place of the disk."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from foveal.daemon.core import system as room
from foveal.daemon.core.system import (
    LEAST_BYTES,
    System,
    descriptor_problem,
    disk_problem,
    is_runnable,
    process_state,
    resident_bytes,
)


class Disk(System):
    """A disk of which one says how much room it has and how it is mounted."""

    def __init__(
        self, *, blocks: int = 1 << 20, files: int = 1 << 10, flags: int = 0, error: int = 0
    ) -> None:
        self._blocks, self._files, self._flags, self._error = blocks, files, flags, error
        self.writable = True

    def statvfs(self, path: str) -> os.statvfs_result:
        if self._error:
            raise OSError(self._error, os.strerror(self._error), path)
        free = (self._blocks, self._blocks, 1 << 20, self._files, self._files)
        return os.statvfs_result((4096, 4096, 1 << 30, *free, self._flags, 255))

    def may_write(self, folder: str) -> bool:
        return self.writable


def test_disk_with_free_space_is_no_problem(tmp_path: Path) -> None:
    assert disk_problem(str(tmp_path), System()) == ""
    assert disk_problem("/state", Disk()) == ""


@pytest.mark.parametrize(
    ("disk", "words"),
    [
        (Disk(blocks=LEAST_BYTES // 4096 - 1), "full (1,044,480 bytes are left)"),
        (Disk(files=0), "takes no more files"),
        (Disk(flags=os.ST_RDONLY), "read-only"),
        (Disk(error=errno.ENOENT), "is gone"),
        (Disk(error=errno.EIO), "Input/output error"),
    ],
)
def test_disk_problems_are_named(disk: Disk, words: str) -> None:
    problem = disk_problem("/state", disk)
    assert words in problem
    assert "/state" in problem


def test_unwritable_folder_names_the_command_to_run() -> None:
    disk = Disk()
    disk.writable = False
    assert "chmod 700 /state" in disk_problem("/state", disk)


def test_few_free_descriptors_are_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert descriptor_problem() == ""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    monkeypatch.setattr(room, "LEAST_DESCRIPTORS", soft)
    assert f"of {soft:,} file descriptors are in use" in descriptor_problem()


pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc to look at")


def test_process_state_while_it_works_stops_and_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        before = process_state(process.pid)
        assert before is not None
        while (state := process_state(process.pid)) is not None and state.ticks == before.ticks:
            assert not state.stopped
        assert is_runnable(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        stopped = process_state(process.pid)
        assert stopped is not None
        assert stopped.stopped
        assert not is_runnable(process.pid)
        assert resident_bytes(process.pid)
        process.kill()
    assert process_state(process.pid) is None
    assert not is_runnable(process.pid)
