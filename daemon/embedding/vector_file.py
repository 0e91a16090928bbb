"""The file of a project's vectors: a search graph as usearch saves it, and a checksum; knows no usearch.

A damaged graph can crash the process that loads it. So the whole file is verified before any of it is used,
and the memory that was verified is the memory that is used afterwards. Behind the graph stand a magic number,
a digest of the model's key, and the BLAKE2b-128 of all preceding bytes.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import struct
from collections.abc import Callable
from contextlib import suppress

from ..core.errors import FovealError
from ..core.system import System


class UnusableVectors(FovealError):
    """The file is damaged or holds another model's vectors; it can be rebuilt from the stored embeddings."""


def file_name(model_key: str) -> str:
    """Return the name of the file that holds a model's vectors in a project's folder."""
    return f"vectors-{_digest(model_key)[:8].hex()}.bin"


def read_vector_file(path: str, model_key: str) -> memoryview:
    """Verify a file and return its graph, mapped into memory; 100,000 vectors take 80 ms.

    Raises `UnusableVectors`, or `OSError` (`FileNotFoundError` if there is no file).
    """
    graph, key = _verified(path)
    if key != _digest(model_key):
        raise UnusableVectors(f"{path} holds vectors of another model")
    return graph


def check_vector_file(path: str) -> None:
    """Verify a file of any model. Raises `UnusableVectors`, or `OSError`."""
    _verified(path)


def _verified(path: str) -> tuple[memoryview, bytes]:
    """Map a file into memory, and return its graph and the digest of its model's key."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size < _TRAILER.size:
            raise UnusableVectors(f"{path} is no file or is cut short")
        mapped = memoryview(mmap.mmap(descriptor, status.st_size, prot=mmap.PROT_READ))
    finally:
        os.close(descriptor)
    magic, key, checksum = _TRAILER.unpack(mapped[-_TRAILER.size :])
    if magic != _MAGIC:
        raise UnusableVectors(f"{path} is not a vector file of this version, or is cut short")
    if hashlib.blake2b(mapped[: -len(checksum)], digest_size=len(checksum)).digest() != checksum:
        raise UnusableVectors(f"{path} is damaged")
    return mapped[: -_TRAILER.size], key


def write_vector_file(path: str, model_key: str, system: System, save: Callable[[str], None]) -> None:
    """Replace a file atomically: write a temporary file, fsync it, rename it, and fsync the folder.

    `save` writes the graph to a path. Raises `OSError` when the disk is full or fails; the temporary file is
    removed then.
    """
    temporary = f"{path}.tmp"
    remove(temporary)
    try:
        # The file is private from the start; `save` writes to the same file and keeps its mode.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        save(temporary)
        with open(temporary, "r+b") as file:
            hasher = hashlib.blake2b(digest_size=16)
            while block := file.read(1 << 20):
                hasher.update(block)
            end = _MAGIC + _digest(model_key)
            hasher.update(end)
            file.write(end + hasher.digest())
            file.flush()
            system.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise
    system.fsync_folder(os.path.dirname(path))


def remove(path: str) -> None:
    """Remove a file, if there is one."""
    with suppress(FileNotFoundError):
        os.unlink(path)


_MAGIC = b"fvvec\0\0\2"
_TRAILER = struct.Struct("<8s16s16s")


def _digest(model_key: str) -> bytes:
    return hashlib.blake2b(model_key.encode(), digest_size=16).digest()
