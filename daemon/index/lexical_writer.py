"""Owns writing the lexical index: the chunks of files come in, files go, commits make it durable."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence

import tantivy
from msgspec import Struct

from .lexical_files import (
    LexicalDamaged,
    LexicalStatistics,
    LexicalUnwritable,
    check_files,
    read_listing,
    statistics,
)
from .lexical_format import check_format, make_schema, raising, register_terms


class LexicalDocument(Struct, frozen=True):
    """A chunk as it is indexed: its id (unsigned, 64 bits) and kind, and terms as `terms` makes them."""

    chunk_id: int
    kind: str
    body: Sequence[str]
    path: Sequence[str]
    symbols: Sequence[str]


class LexicalWriter:
    """The writing side: one for each index, in one process; not safe across threads.

    What was not committed is gone with the process, and nothing else is.
    """

    def __init__(self, folder: str) -> None:
        """Open an index. Raises `LexicalDamaged` when it must be created first, `LexicalUnwritable`."""
        listing = read_listing(folder)
        check_format(listing.format)
        check_files(folder, listing)
        with raising(LexicalDamaged):
            index = tantivy.Index.open(folder)
            # Opened for reading too, it would load its segments with each commit, for nobody.
            index.config_reader("manual")
        register_terms(index)
        self._folder = folder
        with raising(LexicalUnwritable):
            # A lock left by a dead process doesn't count: it is an flock, which the system releases.
            self._writer = index.writer(WRITER_BYTES, num_threads=1)
        self._changed = False

    @classmethod
    def create(cls, folder: str) -> LexicalWriter:
        """Make an empty index in place of what there may be; mark all files as not indexed before.

        Readers keep what they have read, and raise `LexicalDamaged` on refresh until they are opened anew.
        Raises `LexicalUnwritable` or `OSError`.
        """
        if os.path.islink(folder):
            os.unlink(folder)  # what it leads to is somebody else's
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with raising(LexicalUnwritable):
            tantivy.Index(make_schema(), path=folder, reuse=False)
        return cls(folder)

    def replace(self, file_id: int, documents: Iterable[LexicalDocument]) -> None:
        """Put a file's chunks in place of those that it had. Ids are unsigned, of 64 bits."""
        rows = [_row(file_id, document) for document in documents]
        self.remove([file_id])
        with raising(LexicalUnwritable):
            for row in rows:
                self._writer.add_document(row)

    def remove(self, file_ids: Iterable[int]) -> None:
        """Take files out; one that isn't there does nothing."""
        with raising(LexicalUnwritable):
            for file_id in file_ids:
                self._changed = True
                self._writer.delete_documents_by_term("file_key", str(file_id))

    def commit(self) -> None:
        """Make the changes since the last commit durable and visible to readers; without any, do nothing."""
        if self._changed:
            with raising(LexicalUnwritable):
                self._writer.commit()
            self._changed = False

    def close(self) -> None:
        """Let go of the index, once. What wasn't committed is lost; merges that run are begun anew later."""
        del self._writer

    def statistics(self) -> LexicalStatistics:
        """Count what was committed. Raises `LexicalDamaged`."""
        return statistics(self._folder)


WRITER_BYTES = 30_000_000
"""Memory for documents before a segment is written; the engine takes no less than 15 MB."""


def _row(file_id: int, document: LexicalDocument) -> tantivy.Document:
    row = tantivy.Document()
    row.add_unsigned("chunk", document.chunk_id)
    row.add_unsigned("file", file_id)
    row.add_text("file_key", str(file_id))
    row.add_text("kind", document.kind)
    row.add_text("body", " ".join(document.body))
    row.add_text("path", " ".join(document.path))
    row.add_text("symbols", " ".join(document.symbols))
    return row
