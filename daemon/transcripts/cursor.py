"""Owns the cursor: how far a transcript was read, and whether a file is still the one that was read."""

from __future__ import annotations

import hashlib
import os

from msgspec import Struct

_TAIL_BYTES = 4_096
"""Hosts write times and ids into every record, so two files that agree in so many bytes are one file."""


class Cursor(Struct, frozen=True):
    """How far the file with this inode was read.

    `size` bytes were seen, and `digest` is of the last of them. The next reading begins at byte `resume`,
    before which there are `lines` lines: see transcripts.py for why that is earlier than `size`.
    """

    inode: int
    size: int
    digest: str
    resume: int
    lines: int

    def holds(self, descriptor: int, status: os.stat_result) -> bool:
        """Whether a file is the one that was read, with nothing but additions.

        Editors and hosts may keep an inode and write the file anew, or cut it.
        """
        return (
            status.st_ino == self.inode
            and 0 <= self.resume <= self.size <= status.st_size
            and digest_before(descriptor, self.size) == self.digest
        )


def digest_before(descriptor: int, size: int) -> str:
    """Return a digest of the last bytes before a place."""
    start = max(size - _TAIL_BYTES, 0)
    return hashlib.blake2b(os.pread(descriptor, size - start, start), digest_size=16).hexdigest()
