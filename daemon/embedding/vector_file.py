"""The vector file format: a search graph, the ids of its rows, and a checksum. Doesn't import usearch.

The graph is the output of usearch, and a damaged graph can crash the process that loads it. So the whole file
is verified before any of it is used, and the memory that was verified is the memory that is used afterwards.

    graph, as usearch saves it    number of rows and bytes per row (32 bits each), 16-bit float matrix, links
    ids of the rows               64 bits each, in the order of the matrix
    trailer                       magic number, lengths of the parts, BLAKE2b-128 of all preceding bytes

All numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from msgspec import Struct

from ..core.errors import FovealError
from ..core.system import System
from .exact import Halves, Ids


class UnusableVectors(FovealError):
    """The file is damaged or holds another model's vectors; it can be rebuilt from the stored embeddings."""


class VectorFile(Struct, frozen=True):
    """A verified file mapped into memory: the graph's bytes, and the graph's matrix with the id of each row.

    The matrix is a view into the graph's bytes, so exact scoring needs no memory of its own. The mapping
    exists as long as the graph or the matrix is referenced.
    """

    graph: memoryview
    ids: Ids
    matrix: Halves


def file_name(model_key: str) -> str:
    """Return the name of the file that holds a model's vectors in a project's folder."""
    return f"vectors-{hashlib.blake2b(model_key.encode(), digest_size=8).hexdigest()}.bin"


def read_vector_file(path: str, dim: int, model_key: str) -> VectorFile:
    """Verify a file and map it into memory; 100,000 vectors take 80 ms.

    Raises `UnusableVectors`, or `OSError` (`FileNotFoundError` if there is no file).
    """
    mapped, (stored_dim, count, graph_bytes, key) = _verified(path)
    if (stored_dim, key) != (dim, _digest(model_key)):
        raise UnusableVectors(f"{path} holds vectors of another model")
    ids = np.frombuffer(mapped, "<u8", count, offset=graph_bytes).astype(np.uint64)
    graph = mapped[:graph_bytes]
    matrix = _matrix(graph, dim)
    if len(matrix) != count:
        raise UnusableVectors(f"{path} has {len(matrix)} vectors and {count} ids")
    return VectorFile(graph, ids, matrix)


def check_vector_file(path: str) -> None:
    """Verify a file of any model. Raises `UnusableVectors`, or `OSError`."""
    _verified(path)


def _verified(path: str) -> tuple[memoryview, tuple[int, int, int, bytes]]:
    """Map a file into memory, and return it with its dimensions, rows, bytes of the graph and model."""
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
    magic, *fields, checksum = _TRAILER.unpack(mapped[-_TRAILER.size :])
    if magic != _MAGIC:
        raise UnusableVectors(f"{path} is not a vector file of this version, or is cut short")
    if hashlib.blake2b(mapped[: -len(checksum)], digest_size=len(checksum)).digest() != checksum:
        raise UnusableVectors(f"{path} is damaged")
    dim, count, graph_bytes, key = fields
    return mapped, (dim, count, graph_bytes, key)


def write_vector_file(
    path: str,
    dim: int,
    model_key: str,
    system: System,
    save: Callable[[str], None],
    ids: Ids,
) -> None:
    """Replace a file atomically: write a temporary file, fsync it, rename it, and fsync the folder.

    `save` writes the graph to a path; `ids` are those of the rows of its matrix. Raises `OSError` when the
    disk is full or fails; the temporary file is removed then.
    """
    temporary = temporary_path(path)
    remove(temporary)
    try:
        # The file is private from the start; `save` writes to the same file and keeps its mode.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        save(temporary)
        with open(temporary, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _MATRIX_HEAD.size:
                raise UnusableVectors("the saved graph is empty")
            with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as mapped:
                hasher = hashlib.blake2b(mapped, digest_size=_CHECKSUM_BYTES)
            head = _TRAILER.pack(_MAGIC, dim, len(ids), size, _digest(model_key), b"")[:-_CHECKSUM_BYTES]
            end = ids.astype("<u8").tobytes() + head
            hasher.update(end)
            file.seek(0, os.SEEK_END)
            file.write(end + hasher.digest())
            file.flush()
            system.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise
    system.fsync_folder(os.path.dirname(path))


def temporary_path(path: str) -> str:
    """Return the path of the temporary file that `path` is written to; a killed process leaves it behind."""
    return f"{path}.tmp"


def remove(path: str) -> None:
    """Remove a file, if there is one."""
    with suppress(FileNotFoundError):
        os.unlink(path)


_MAGIC = b"fvvec\0\0\1"
_CHECKSUM_BYTES = 16
_TRAILER = struct.Struct(f"<8sQQQ16s{_CHECKSUM_BYTES}s")
"""The trailer: magic number with version, dimensions, rows, bytes of the graph, digest of the model's key,
checksum."""

_MATRIX_HEAD = struct.Struct("<II")


def _matrix(graph: memoryview, dim: int) -> Halves:
    """Return the matrix at the start of a graph. Raises `UnusableVectors` if the graph has another layout."""
    rows, row_bytes = _MATRIX_HEAD.unpack_from(graph)
    if row_bytes != 2 * dim or len(graph) < _MATRIX_HEAD.size + rows * row_bytes:
        raise UnusableVectors(f"this version of usearch lays out its files otherwise: {rows} x {row_bytes}")
    return np.frombuffer(graph, "<f2", rows * dim, offset=_MATRIX_HEAD.size).reshape(rows, dim)


def _digest(model_key: str) -> bytes:
    return hashlib.blake2b(model_key.encode(), digest_size=16).digest()
