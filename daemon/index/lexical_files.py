"""The files of a lexical index, read without its engine: whether they are whole, how much they hold.

Only the checksums and the list of segments are read here; what is inside the files is the engine's.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO

from msgspec import Struct

from ..core.errors import FovealError

FOLDER = "lexical"
"""The lexical index in a project's folder."""


class LexicalDamaged(FovealError):
    """The index is missing, of another version, or its files were changed: build it anew."""


class LexicalAbsent(LexicalDamaged):
    """There is no index, or a whole one that is of another version or of another store: nothing is lost."""


class LexicalUnwritable(FovealError):
    """The index can't be written now: another writer holds it, or the disk is full. What was committed last
    stays readable; the writer that raised this is of no more use."""


class Segment(Struct, frozen=True):
    """One immutable part of the index: documents ever written to it, and those of them deleted since."""

    name: str
    documents: int
    deleted: int


class LexicalListing(Struct, frozen=True):
    """The committed state of an index: its format, its segments, and the bytes that say so."""

    raw: bytes
    format: str
    opstamp: int
    """Grows with each commit."""
    segments: tuple[Segment, ...]


class LexicalStatistics(Struct, frozen=True):
    """`documents` that can be found, `deleted` ones that still take space, in `segments`; `bytes` on disk.

    Merges drop deleted documents, but a large segment is merged rarely: an index whose dead outnumber its
    living is smaller and ranks truer when it is built anew.
    """

    documents: int
    deleted: int
    segments: int
    bytes: int


def read_listing(folder: str) -> LexicalListing:
    """Read which segments an index has. Raises `LexicalDamaged`, or `OSError` if the file can't be read."""
    try:
        with _opened(os.path.join(folder, LISTING)) as file:
            raw = file.read()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LexicalAbsent("there is no lexical index") from error
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
    """Compare the files of the listed segments with the checksums that they end in; returns their sizes in
    bytes by name.

    Of those in `checked` only the sizes are compared, for a segment's files never change. About 1 GB a
    second. Raises `LexicalDamaged`, or `OSError` if a file can't be read.
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
            # A commit swept it away meanwhile. Were it needed, the engine would miss it and say so.
            continue
        if not whole:
            raise LexicalDamaged(f"a file of the lexical index is damaged: {name}")
        sizes[name] = size
    return sizes


def check_kinds(folder: str) -> None:
    """Raise `LexicalDamaged` where an entry of the folder is no regular file: the engine opens what it finds
    there, and on a pipe it would wait for ever."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_file(follow_symlinks=False):
                raise LexicalDamaged(f"in the lexical index lies something that is no file: {entry.name}")


def check_sizes(folder: str, sizes: Mapping[str, int]) -> None:
    """Raise `LexicalDamaged` where a file was cut off: the engine has it mapped, and reading on would end the
    process.

    Nothing can be done about one that is cut off while it is being searched. A file that is gone stays mapped
    and whole. Raises `OSError` for one that can't be looked at.
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


def statistics(folder: str) -> LexicalStatistics:
    """Count what is in an index. Raises as `read_listing` does."""
    segments = read_listing(folder).segments
    deleted = sum(segment.deleted for segment in segments)
    with os.scandir(folder) as entries:
        size = sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    return LexicalStatistics(sum(s.documents for s in segments) - deleted, deleted, len(segments), size)


LISTING = "meta.json"
"""The engine replaces this file with each commit."""

_FOOTER = struct.Struct("<II")
_FOOTER_MAGIC = 1337
_READ_BYTES = 1 << 20


def _opened(path: str) -> BinaryIO:
    """Open a regular file to read. Raises `LexicalDamaged` for anything else, on which opening may wait, and
    `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LexicalDamaged(f"{os.path.basename(path)} of the lexical index is no file")
    return open(descriptor, "rb")


def _format(listing: dict[str, Any]) -> str:
    """Return the name of the body's tokenizer, under which the writer records the version of the format."""
    fields = {field["name"]: field["options"] for field in listing["schema"]}
    return str(fields["body"]["indexing"]["tokenizer"])


def _segment(entry: dict[str, Any]) -> Segment:
    deletes = entry["deletes"]
    deleted = 0 if deletes is None else int(deletes["num_deleted_docs"])
    return Segment(str(entry["segment_id"]).replace("-", ""), int(entry["max_doc"]), deleted)


def _is_whole(path: str) -> bool:
    """Whether a file's CRC-32 is that of its footer: JSON, then its length and a magic number."""
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
