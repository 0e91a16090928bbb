"""The layout of a vector file: a search graph, the ids of its rows, and a checksum; without usearch.

The graph is what usearch saves, and damage in it can kill the process that loads it. So nothing of a file is
used before all of it is verified, and what is verified is the very memory that is used afterwards.

    graph, as usearch saves it    rows and bytes a row (32 bits each), the matrix of 16-bit floats, links
    ids of the rows               64 bits each, in the order of the matrix
    trailer                       what it is, how long the parts are, BLAKE2b-128 of all that stands before

All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np
from msgspec import Struct

from ..core.errors import FovealError
from ..core.system import System
from .exact import Halves, Ids


class UnusableVectors(FovealError):
    """The file is damaged, or holds another model's vectors; it can be built anew from the embeddings."""


class OtherVectors(UnusableVectors):
    """The file is whole and holds another model's vectors."""


class VectorFile(Struct, frozen=True):
    """A verified file, mapped into memory: the graph's bytes, and its matrix with the id of each row.

    The matrix lies inside the graph, so that exact scoring takes no memory of its own. The mapping lives as
    long as one of the two does.
    """

    graph: memoryview
    ids: Ids
    matrix: Halves

    @property
    def bytes(self) -> int:
        """The size of the file."""
        return len(self.graph) + self.ids.nbytes + _TRAILER.size


def file_name(model_key: str) -> str:
    """Return the name of the file with a model's vectors in a project's folder."""
    return f"vectors-{hashlib.blake2b(model_key.encode(), digest_size=8).hexdigest()}.bin"


def remove_other_vectors(folder: str, model_keys: Iterable[str]) -> None:
    """Remove the files of all models but these from a project's folder."""
    kept = set(map(file_name, model_keys))
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if name.startswith("vectors-") and name not in kept:
                remove(os.path.join(folder, name))


def read_vector_file(path: str, dim: int, model_key: str) -> VectorFile:
    """Verify a file and map it; 100,000 vectors take 80 ms.

    Raises `UnusableVectors`, or `OSError` (`FileNotFoundError` where there is none).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnusableVectors(f"{path} is not a regular file")
        if status.st_size < _TRAILER.size:
            raise UnusableVectors(f"{path} is cut short")
        mapped = memoryview(mmap.mmap(descriptor, status.st_size, prot=mmap.PROT_READ))
    finally:
        os.close(descriptor)
    magic, stored_dim, count, graph_bytes, key, checksum = _TRAILER.unpack(mapped[-_TRAILER.size :])
    if magic != _MAGIC:
        raise UnusableVectors(f"{path} is not a vector file of this version, or is cut short")
    if hashlib.blake2b(mapped[: -len(checksum)], digest_size=len(checksum)).digest() != checksum:
        raise UnusableVectors(f"{path} is damaged")
    if (stored_dim, key) != (dim, _digest(model_key)):
        raise OtherVectors(f"{path} holds vectors of another model")
    ids = np.frombuffer(mapped, "<u8", count, offset=graph_bytes).astype(np.uint64)
    graph = mapped[:graph_bytes]
    return VectorFile(graph, ids, _matrix(graph, dim))


def check_vector_file(path: str) -> None:
    """Verify a file of any model. Raises `UnusableVectors`, or `OSError`."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        size = os.fstat(file.fileno()).st_size - _TRAILER.size
        if size < 0:
            raise UnusableVectors(f"{path} is cut short")
        hasher = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
        left = size + _TRAILER.size - _CHECKSUM_BYTES
        while left and (block := file.read(min(left, _READ_BYTES))):
            hasher.update(block)
            left -= len(block)
        if file.read() != hasher.digest():
            raise UnusableVectors(f"{path} is damaged")


def write_vector_file(
    path: str,
    dim: int,
    model_key: str,
    system: System,
    save: Callable[[str], None],
    ids_of_rows: Callable[[Halves], Ids],
) -> None:
    """Replace a file: written beside it, fsynced, renamed, and its folder fsynced.

    `save` writes the graph to a path. `ids_of_rows` says which ids the rows of its matrix have. Raises
    `OSError` when the disk is full or fails, and leaves nothing behind then.
    """
    temporary = temporary_path(path)
    remove(temporary)
    try:
        # Private from the start; what writes to the path next keeps the mode.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        save(temporary)
        with open(temporary, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _MATRIX_HEAD.size:
                raise UnusableVectors("the saved graph is empty")
            with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as mapped:
                hasher = hashlib.blake2b(mapped, digest_size=_CHECKSUM_BYTES)
                ids = _ids_of(mapped, dim, ids_of_rows).astype("<u8").tobytes()
            head = _TRAILER.pack(_MAGIC, dim, len(ids) // 8, size, _digest(model_key), b"")[:-_CHECKSUM_BYTES]
            hasher.update(ids + head)
            file.seek(0, os.SEEK_END)
            file.write(ids + head + hasher.digest())
            file.flush()
            system.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise
    system.fsync_folder(os.path.dirname(path))


def temporary_path(path: str) -> str:
    """Return where a file is written before it takes its place; a process that was killed leaves it there."""
    return f"{path}.tmp"


def remove(path: str) -> None:
    """Remove a file, if there is one."""
    with suppress(FileNotFoundError):
        os.unlink(path)


_MAGIC = b"fvvec\0\0\1"
_CHECKSUM_BYTES = 16
_TRAILER = struct.Struct(f"<8sQQQ16s{_CHECKSUM_BYTES}s")
"""Magic and version, dimensions, rows, bytes of the graph, digest of the model's key, checksum."""

_MATRIX_HEAD = struct.Struct("<II")
_READ_BYTES = 1 << 20


def _matrix(graph: memoryview | mmap.mmap, dim: int) -> Halves:
    """Return the matrix that a graph begins with. Raises `UnusableVectors` if it isn't laid out like that."""
    rows, row_bytes = _MATRIX_HEAD.unpack_from(graph)
    if row_bytes != 2 * dim or len(graph) < _MATRIX_HEAD.size + rows * row_bytes:
        raise UnusableVectors(f"this version of usearch lays out its files otherwise: {rows} x {row_bytes}")
    return np.frombuffer(graph, "<f2", rows * dim, offset=_MATRIX_HEAD.size).reshape(rows, dim)


def _ids_of(mapped: mmap.mmap, dim: int, ids_of_rows: Callable[[Halves], Ids]) -> Ids:
    # In a function of its own, so that the matrix is gone before the mapping is closed.
    return ids_of_rows(_matrix(mapped, dim))


def _digest(model_key: str) -> bytes:
    return hashlib.blake2b(model_key.encode(), digest_size=16).digest()
