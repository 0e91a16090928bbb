"""What the machine gives no more is told in words, with a seam in the place of the disk."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest
from foveal.daemon.core import resource_limits as room
from foveal.daemon.core.resource_limits import LEAST_BYTES, descriptor_problem, disk_problem
from foveal.daemon.core.system import System


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
        size = 1 << 30
        return os.statvfs_result(
            (
                4096,
                4096,
                size,
                self._blocks,
                self._blocks,
                1 << 20,
                self._files,
                self._files,
                self._flags,
                255,
            )
        )

    def may_write(self, folder: str) -> bool:
        return self.writable


def test_a_disk_with_room_is_none(tmp_path: Path) -> None:
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
def test_what_is_wrong_with_a_disk_is_told(disk: Disk, words: str) -> None:
    problem = disk_problem("/state", disk)
    assert words in problem
    assert "/state" in problem


def test_a_folder_that_may_not_be_written_is_told_with_what_mends_it() -> None:
    disk = Disk()
    disk.writable = False
    assert "chmod 700 /state" in disk_problem("/state", disk)


def test_a_file_system_without_a_number_of_files_is_fine() -> None:
    class Btrfs(Disk):
        def statvfs(self, path: str) -> os.statvfs_result:
            return os.statvfs_result((4096, 4096, 1 << 30, 1 << 20, 1 << 20, 0, 0, 0, 0, 255))

    assert disk_problem("/state", Btrfs()) == ""


def test_descriptors_that_run_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert descriptor_problem() == ""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    monkeypatch.setattr(room, "LEAST_DESCRIPTORS", soft)
    assert f"of {soft:,} file descriptors are in use" in descriptor_problem()
