"""Checks and counts the files of a lexical index without its search engine (tantivy).

Only the checksums and the list of segments are read here; the engine alone reads the rest of the files.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct

from ..core.errors import FovealError
from . import terms

FOLDER = "lexical"
"""The name of the lexical index's folder within a project's state folder."""


FORMAT = f"foveal-1-{terms.VERSION}"
"""The version of the fields and of the way in which terms are cut, stored as the index's tokenizer name."""


class LexicalDamaged(FovealError):
    """The index is missing, has another version, or its files were changed: it must be rebuilt."""


class LexicalUnwritable(FovealError):
    """The index can't be written now, because another writer holds it or the disk is full.

    The last commit stays readable. The writer that raised this must not be used again.
    """


class LexicalHit(NamedTuple):
    """A found chunk's id, its file's id, and its BM25 score, which is above 0 and comparable within one
    search only."""

    chunk_id: int
    file_id: int
    score: float


class Segment(Struct, frozen=True):
    """One immutable part of the index, with its numbers of written and of deleted documents."""

    name: str
    documents: int
    deleted: int


class LexicalListing(Struct, frozen=True):
    """The committed state of an index: its format, its segments, and the bytes from which these were read."""

    raw: bytes
    format: str
    opstamp: int
    """The engine's number of the commit, which grows with each commit."""
    segments: tuple[Segment, ...]

    @property
    def deleted(self) -> int:
        """The number of deleted documents, which take space until their segment is merged.

        A large segment is rarely merged. So an index with more deleted than searchable documents is rebuilt,
        which makes it smaller and its ranking more accurate.
        """
        return sum(segment.deleted for segment in self.segments)

    @property
    def documents(self) -> int:
        """The number of searchable documents."""
        return sum(segment.documents for segment in self.segments) - self.deleted


def read_listing(folder: str) -> LexicalListing:
    """Read the list of an index's segments. Raises `LexicalDamaged`, or `OSError` if it can't be read."""
    try:
        with _opened(os.path.join(folder, LISTING)) as file:
            raw = file.read()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LexicalDamaged("there is no lexical index") from error
    try:
        listing = json.loads(raw)
        return LexicalListing(
            raw, _format(listing), int(listing["opstamp"]), tuple(map(_segment, listing["segments"]))
        )
    except Exception as error:
        raise LexicalDamaged(f"the lexical index's {LISTING} can't be read ({error!r:.200})") from error


NOTHING_CHECKED: Mapping[str, int] = {}


def check_files(
    folder: str, listing: LexicalListing, checked: Mapping[str, int] = NOTHING_CHECKED
) -> dict[str, int]:
    """Verify the checksums at the end of the listed segments' files; return the files' sizes in bytes by
    name.

    For files in `checked` only the sizes are compared, because a segment's files never change. Reads about
    1 GB a second. Raises `LexicalDamaged`, or `OSError` if a file can't be read.
    """
    live = {segment.name for segment in listing.segments}
    check_kinds(folder)
    names = {name for name in os.listdir(folder) if name.partition(".")[0] in live}
    sizes = {name: size for name, size in checked.items() if name in names}
    check_sizes(folder, sizes)
    for name in sorted(names.difference(checked)):
        path = os.path.join(folder, name)
        try:
            size = os.stat(path).st_size
            whole = _is_whole(path)
        except FileNotFoundError:
            # A commit may have deleted the file. If it is still needed, the engine will report it missing.
            continue
        if not whole:
            raise LexicalDamaged(f"a file of the lexical index is damaged: {name}")
        sizes[name] = size
    return sizes


def check_kinds(folder: str) -> None:
    """Raise `LexicalDamaged` if an entry of the folder is no regular file.

    The engine opens every entry, and opening a pipe would block forever.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False):
                raise LexicalDamaged(f"in the lexical index lies something that is no file: {entry.name}")


def check_sizes(folder: str, sizes: Mapping[str, int]) -> None:
    """Raise `LexicalDamaged` if a file was truncated: the engine has mapped it into memory, and reading past
    its end would kill the process.

    A file that is truncated during a search can't be detected. A deleted file stays mapped and whole. Raises
    `OSError` for a file that can't be examined.
    """
    for name, size in sizes.items():
        try:
            found = os.stat(os.path.join(folder, name)).st_size
        except FileNotFoundError:
            continue
        if found != size:
            raise LexicalDamaged(
                f"a file of the lexical index was {size:,} bytes long and is {found:,}: {name}"
            )


LISTING = "meta.json"
"""The file that lists the segments; the engine replaces it with each commit."""

_FOOTER = struct.Struct("<II")
_FOOTER_MAGIC = 1337
_READ_BYTES = 1 << 20


def _opened(path: str) -> BinaryIO:
    """Open a regular file for reading. Raises `LexicalDamaged` for other kinds of files, which could block,
    and `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LexicalDamaged(f"{os.path.basename(path)} of the lexical index is no file")
    return open(descriptor, "rb")


def _format(listing: dict[str, Any]) -> str:
    """Return the tokenizer name of the field `body`, in which the writer records the format's version."""
    fields = {field["name"]: field["options"] for field in listing["schema"]}
    return str(fields["body"]["indexing"]["tokenizer"])


def _segment(entry: dict[str, Any]) -> Segment:
    deletes = entry["deletes"]
    deleted = 0 if deletes is None else int(deletes["num_deleted_docs"])
    return Segment(str(entry["segment_id"]).replace("-", ""), int(entry["max_doc"]), deleted)


def _is_whole(path: str) -> bool:
    """Whether a file's CRC-32 is the one in its footer, which is JSON, its length and a magic number."""
    with _opened(path) as file:
        end = file.seek(0, os.SEEK_END) - _FOOTER.size
        if end < 0:
            return False
        file.seek(end)
        length, magic = _FOOTER.unpack(file.read(_FOOTER.size))
        if magic != _FOOTER_MAGIC or length > end:
            return False
        end -= length
        file.seek(end)
        try:
            wanted = json.loads(file.read(length))["crc"]
        except Exception:  # noqa: BLE001 - whatever it raises, it is no footer
            return False
        file.seek(0)
        found = 0
        while end > 0 and (block := file.read(min(end, _READ_BYTES))):
            found = zlib.crc32(block, found)
            end -= len(block)
        return end == 0 and bool(found == wanted)


def check_format(found: str) -> None:
    """Raise `LexicalDamaged` for an index of another format."""
    if found != FORMAT:
        raise LexicalDamaged(f"the lexical index has the format {found}, this program's is {FORMAT}")
