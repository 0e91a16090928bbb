"""A vector file is used whole and verified or not at all, and replaced at once or not at all."""

from __future__ import annotations

import errno
import os
import stat
import struct
from pathlib import Path

import numpy as np
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.exact import as_ids
from foveal.daemon.embedding.vector_file import (
    UnusableVectors,
    read_vector_file,
    write_vector_file,
)

DIM = 3
MATRIX = np.arange(12, dtype=np.float16).reshape(4, DIM)
IDS = as_ids([1 << 62, 7, 5, (1 << 62) + 1])


class FullDisk(System):
    """A disk on which nothing can be forced any more."""

    def fsync(self, descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Recorder(System):
    """Notes what is forced to the disk, and whether the file has its place by then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.forced: list[tuple[str, bool]] = []

    def fsync(self, descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        self.forced.append((kind, self.path.exists()))


def save(path: str) -> None:
    """Write what a graph begins with, and some bytes that stand for its links."""
    Path(path).write_bytes(struct.pack("<II", 4, DIM * 2) + MATRIX.tobytes() + b"links")


def write(path: Path, system: System | None = None) -> None:
    write_vector_file(str(path), DIM, "model", system or System(), save, IDS)


def check_unusable(path: Path, match: str, dim: int = DIM, model: str = "model") -> None:
    with pytest.raises(UnusableVectors, match=match):
        read_vector_file(str(path), dim, model)


def test_a_written_vector_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "v"
    write(path)
    file = read_vector_file(str(path), DIM, "model")
    assert file.ids.tolist() == IDS.tolist()
    assert file.matrix.tolist() == MATRIX.tolist()
    assert bytes(file.graph[-5:]) == b"links"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_it_takes_its_place_when_it_is_on_the_disk(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "v")
    write(tmp_path / "v", recorder)
    assert recorder.forced == [("file", False), ("folder", True)]


def test_a_file_is_read_on_while_another_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "v"
    write(path)
    file = read_vector_file(str(path), DIM, "model")
    write(path)
    path.unlink()
    assert file.matrix.tolist() == MATRIX.tolist()


def test_any_changed_byte_makes_it_unusable(tmp_path: Path) -> None:
    path = tmp_path / "v"
    write(path)
    data = path.read_bytes()
    for offset in range(len(data)):
        changed = bytearray(data)
        changed[offset] ^= 0x10
        path.write_bytes(changed)
        check_unusable(path, ".")


def test_a_file_cut_short_or_grown_is_unusable(tmp_path: Path) -> None:
    path = tmp_path / "v"
    write(path)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        check_unusable(path, ".")
    path.write_bytes(data + b"\0")
    check_unusable(path, ".")


def test_anything_but_a_file_is_unusable(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_vector_file(str(tmp_path / "v"), DIM, "model")
    os.mkfifo(tmp_path / "pipe")
    check_unusable(tmp_path / "pipe", "regular")
    (tmp_path / "folder").mkdir()
    check_unusable(tmp_path / "folder", "regular")


def test_a_failed_write_leaves_the_former_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "v"
    write(path)
    before = path.read_bytes()
    with pytest.raises(OSError, match="space"):
        write(path, FullDisk())
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["v"]


def write_graph(path: Path, graph: bytes) -> None:
    def save(path: str) -> None:
        Path(path).write_bytes(graph)

    write_vector_file(str(path), DIM, "model", System(), save, IDS)


def test_an_empty_graph_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UnusableVectors, match="empty"):
        write_graph(tmp_path / "v", b"\1")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("rows", "row_bytes"), [(1, 2 * DIM + 2), (99, 2 * DIM), (3, 2 * DIM)])
def test_a_graph_that_is_laid_out_otherwise_is_not_used(tmp_path: Path, rows: int, row_bytes: int) -> None:
    write_graph(tmp_path / "v", struct.pack("<II", rows, row_bytes) + bytes(100))
    check_unusable(tmp_path / "v", r"lays out|4 ids")
