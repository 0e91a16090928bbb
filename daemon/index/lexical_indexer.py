"""Writes the lexical index: copies each change of the store into it, at once or within seconds."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import tantivy
from msgspec import Struct

from ..core.quarantine import clear_folder
from ..core.system import System
from .chunk_table import ChunkText, TextsDamaged
from .lexical_files import (
    FOLDER,
    LexicalDamaged,
    LexicalListing,
    LexicalUnwritable,
    check_files,
    check_format,
    read_listing,
)
from .lexical_reader import make_schema, raising, register_terms
from .store import Store
from .terms import document_terms, path_terms

log = logging.getLogger(__name__)

BATCH_CHANGES = 256

COMMIT_FIRST_S = 0.25
COMMIT_S = 2.0
"""Seconds between commits while there is much to write. A commit takes 10 ms at 60,000 chunks, and makes a
segment that must be merged. The first commits come sooner, each after twice the time of the one before, so
that a small project can be searched at once."""

APART_S = 0.3
"""Minimum seconds between the commits of successive saves, because a commit takes 10 to 20 ms during which
the indexer can't read other saved files. The first save after a pause is committed at once."""

IDLE_S = 20.0
"""Seconds without a write after which the writer is closed; it has seven threads and up to 30 MB."""

RETRY_S = 5.0
RETRY_MAX_S = 60.0
"""Shortest and longest pause, in seconds, before a failed write is tried again, for example on a full disk or
in a read-only folder. Each further failure doubles the pause."""

DELETED_MIN = 5_000
"""Minimum number of deleted chunks for a rebuild of the index; with fewer, merges remove them soon enough."""

CREATED_LATELY_S = 60.0
"""Seconds after a rebuild during which reports of damage from readers, which may still see the old index,
cause no other rebuild."""

FILLED_FROM = "lexical"
"""The store's key for the engine's number of the last commit of the lexical index that was filled from this
store. Without this key the lexical index belongs to a former store, whose file ids meant other files. A
lexical index with a lower commit number is an old copy that was restored."""


class LexicalIndexer:
    """Keeps the lexical index of one project up to date, on the indexer's working thread.

    `begin` is called with each file before its terms are cut. `problem` says why the index can't be written,
    or is empty; a failed write is tried again later. Raises `DatabaseError` if the store fails.
    """

    def __init__(
        self,
        folder: str,
        store: Store,
        system: System,
        begin: Callable[[str], None] = lambda _path: None,
    ) -> None:
        self.problem = ""
        self._begin_file = begin
        self._folder = os.path.join(folder, FOLDER)
        self._store = store
        self._system = system
        self._writer: LexicalWriter | None = None
        self._verified = False
        """Whether this object has verified or created the index."""
        self._written = 0
        """The number of the last change given to the writer, committed or not."""
        self._pause_s = COMMIT_FIRST_S
        self._commit_at = 0.0
        self._committed_at = -APART_S
        self._due_at: float | None = None
        self._used_at = 0.0
        self._again_at = 0.0
        self._failures = 0
        """Number of consecutive failed writes."""
        self._created_at = -CREATED_LATELY_S

    def close(self) -> None:
        """Close the index. Uncommitted changes are written again when it is next opened."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def rebuild(self) -> None:
        """Discard the index; the following steps fill a new one from the store."""
        self.close()
        with self._attempt():
            self._create("it is to be built anew")

    def repair(self) -> None:
        """Rebuild the index because a reader found it damaged, unless it was rebuilt a moment ago."""
        self._verified = False
        if self._system.monotonic() - self._created_at > CREATED_LATELY_S or not self._is_whole():
            self.close()
            with self._attempt():
                self._create("it could not be searched")

    def step(self, seconds: float, *, more: bool = False) -> bool:
        """Write changes for up to `seconds`; return False if everything is committed or nothing can be
        written.

        If `more` changes will follow soon, commits are postponed for up to `COMMIT_S`.
        """
        self._due_at = None
        if self._system.monotonic() < self._again_at:
            return False
        with self._attempt():
            return self._step(self._system.monotonic() + seconds, more=more)
        return False

    def saved(self, seconds: float) -> bool:
        """Write the changes of a save, as `step` does; return False if nothing is left to do now.

        Less than `APART_S` after a commit nothing is written; call this again when `patience` has passed.
        """
        due_at = self._committed_at + APART_S
        if self._system.monotonic() >= due_at:
            return self.step(seconds)
        self._due_at = due_at
        return False

    def patience(self) -> float | None:
        """Return the seconds until postponed changes are due, or until a failed write is tried again; None if
        nothing waits."""
        waits = [] if self._due_at is None else [self._due_at]
        if self._failures:
            waits.append(self._again_at)
        return max(0.0, min(waits) - self._system.monotonic()) if waits else None

    def write_now(self, paths: Iterable[str]) -> None:
        """Write and commit the waiting files among `paths`, ahead of all other changes."""
        known = [file_id for file_id in map(self._store.chunks.id_of, paths) if file_id is not None]
        file_ids = self._store.chunks.unlexed_among(known)
        if not file_ids or self._system.monotonic() < self._again_at:
            return
        with self._attempt():
            writer = self._open()
            for file_id in file_ids:
                self._replace(writer, file_id)
            # This also commits the writer's other changes, which the next step records.
            writer.commit()
            self._committed_at = self._system.monotonic()
            with self._store.side_notes():
                self._store.chunks.set_files_lexed(file_ids)

    def tidy(self) -> None:
        """Close an idle writer, and rebuild the index if most of its chunks are deleted."""
        if self._writer is None or self._system.monotonic() - self._used_at < IDLE_S:
            return
        with self._attempt():
            listing = read_listing(self._folder)
            self.close()
            if listing.deleted > max(listing.documents, DELETED_MIN):
                self._create(f"{listing.deleted:,} of its chunks are deleted, {listing.documents:,} not")

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        """Return a context that records an error as `problem` and schedules another attempt."""
        try:
            yield
        except (LexicalDamaged, LexicalUnwritable, OSError) as error:
            if not self.problem:
                log.warning("the lexical index in %s can't be written: %s", self._folder, error)
            self.problem = (
                f"the lexical index can't be written ({error}): newer text is not found by its words"
            )
            self._verified = False
            pause = min(RETRY_S * 2**self._failures, RETRY_MAX_S)
            self._again_at = self._system.monotonic() + pause
            self._failures = min(self._failures + 1, 10)  # by then the pause has reached its maximum
            self.close()

    def _step(self, deadline: float, *, more: bool) -> bool:
        if self._writer is None and not self._store.chunks.unlexed(1) and self._is_whole():
            self._succeed()
            return False
        writer = self._open()
        done = self._write(writer, deadline)
        now = self._system.monotonic()
        if (done and not more) or now >= self._commit_at:
            self._commit(writer)
            if done:
                self._succeed()
            return not done
        return True

    def _succeed(self) -> None:
        self.problem = ""
        self._failures = 0

    def _write(self, writer: LexicalWriter, deadline: float) -> bool:
        """Give the writer changes until `deadline`; return whether these were all."""
        while changes := self._store.chunks.unlexed(BATCH_CHANGES, self._written):
            last = {file_id: change for change, file_id in changes}
            for change, file_id in changes:
                if last[file_id] == change:  # a file is written once, at its last change
                    self._replace(writer, file_id)
                self._written = change
                if self._system.monotonic() > deadline:
                    return False
        return True

    def _commit(self, writer: LexicalWriter) -> None:
        writer.commit()
        with self._store.side_notes():
            self._store.chunks.set_lexed(self._written)
            self._store.set_meta(FILLED_FROM, str(read_listing(self._folder).opstamp))
        self._pause_s = min(2 * self._pause_s, COMMIT_S)
        self._committed_at = self._system.monotonic()
        self._commit_at = self._committed_at + self._pause_s

    def _replace(self, writer: LexicalWriter, file_id: int) -> None:
        self._used_at = self._system.monotonic()
        try:
            chunks = self._store.chunks.of_file(file_id)
        except TextsDamaged as error:
            log.warning("file %d of the index in %s is read again: %s", file_id, self._folder, error)
            with self._store.side_notes():
                self._store.chunks.forget_content(file_id)
            chunks = []
        if chunks:
            self._begin_file(chunks[0].path)
        writer.replace(file_id, map(_document, chunks))

    def _open(self) -> LexicalWriter:
        """Return the writer. An index that is damaged or belongs to another store is replaced first."""
        if self._writer is None:
            if self._store.get_meta(FILLED_FROM) is None:
                return self._create("there is none of this store")
            try:
                self._check_age(read_listing(self._folder))
                self._writer = LexicalWriter(self._folder)
            except LexicalDamaged as error:
                return self._create(str(error))
            self._begin()
        return self._writer

    def _create(self, reason: str) -> LexicalWriter:
        log.info("the lexical index in %s is built anew: %s", self._folder, reason)
        # Log the files first, store the commit number last: after a crash in between, the index is rebuilt.
        if self._store.get_meta(FILLED_FROM) is not None:
            self.problem = "the lexical index is built anew: not all text is found by its words yet"
        with self._store.side_notes():
            self._store.delete_meta(FILLED_FROM)
            self._store.chunks.unlex_all()
        clear_folder(self._folder, self._system)
        self._writer = LexicalWriter.create(self._folder)
        self._store.set_meta(FILLED_FROM, "0")
        self._created_at = self._system.monotonic()
        self._committed_at = -APART_S  # commit soon, so that searches work again
        self._pause_s = COMMIT_FIRST_S
        self._begin()
        return self._writer

    def _begin(self) -> None:
        self._verified = True
        self._written = 0
        self._used_at = self._system.monotonic()
        self._commit_at = self._used_at + self._pause_s

    def _is_whole(self) -> bool:
        """Whether the index can be used. Checked once, because the writer reports later damage."""
        if not self._verified and self._store.get_meta(FILLED_FROM) is not None:
            try:
                listing = read_listing(self._folder)
                check_format(listing.format)
                check_files(self._folder, listing)
                self._check_age(listing)
            except (LexicalDamaged, OSError):
                return False  # opening the index will raise this error again
            self._verified = True
        return self._verified

    def _check_age(self, listing: LexicalListing) -> None:
        """Raise `LexicalDamaged` if the store has recorded a later commit than the index has."""
        noted = self._store.get_meta(FILLED_FROM) or ""
        if noted.isdigit() and listing.opstamp < int(noted):
            raise LexicalDamaged("the lexical index is older than what it was filled from")


def _document(chunk: ChunkText) -> LexicalDocument:
    symbols = [term for name in chunk.names for term in document_terms(name)]
    return LexicalDocument(
        chunk.id, chunk.kind, document_terms(chunk.text), path_terms(chunk.path), list(dict.fromkeys(symbols))
    )


class LexicalDocument(Struct, frozen=True):
    """A chunk as it is indexed: its id (unsigned, 64 bits), its kind, and its terms as cut by terms.py."""

    chunk_id: int
    kind: str
    body: Sequence[str]
    path: Sequence[str]
    symbols: Sequence[str]


class LexicalWriter:
    """Writes one index; only one writer may exist for an index. Not thread-safe.

    If the process dies, only uncommitted changes are lost.
    """

    def __init__(self, folder: str) -> None:
        """Open an index. Raises `LexicalDamaged` if it must be created first, or `LexicalUnwritable`."""
        listing = read_listing(folder)
        check_format(listing.format)
        check_files(folder, listing)
        with raising(LexicalDamaged):
            index = tantivy.Index.open(folder)
            # By default the engine would load the segments for reading after each commit, which isn't needed.
            index.config_reader("manual")
        register_terms(index)
        self._folder = folder
        with raising(LexicalUnwritable):
            # A dead process can't block this: the lock is an flock, which the system releases.
            self._writer = index.writer(WRITER_BYTES, num_threads=1)
        self._changed = False

    @classmethod
    def create(cls, folder: str) -> LexicalWriter:
        """Create an empty index in place of any existing one. The caller must log all files as changed first.

        Readers keep the state that they have loaded, and raise `LexicalDamaged` on refresh until they are
        opened again. Raises `LexicalUnwritable` or `OSError`.
        """
        if os.path.islink(folder):
            os.unlink(folder)  # remove the link only, not its target
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with raising(LexicalUnwritable):
            tantivy.Index(make_schema(), path=folder, reuse=False)
        return cls(folder)

    def replace(self, file_id: int, documents: Iterable[LexicalDocument]) -> None:
        """Replace a file's chunks. Ids are unsigned 64-bit numbers."""
        rows = [_row(file_id, document) for document in documents]
        self.remove([file_id])
        with raising(LexicalUnwritable):
            for row in rows:
                self._writer.add_document(row)

    def remove(self, file_ids: Iterable[int]) -> None:
        """Remove files; unknown ids are ignored."""
        with raising(LexicalUnwritable):
            for file_id in file_ids:
                self._changed = True
                self._writer.delete_documents_by_term("file_key", str(file_id))

    def commit(self) -> None:
        """Make the changes since the last commit durable and visible to readers, if there are any."""
        if self._changed:
            with raising(LexicalUnwritable):
                self._writer.commit()
            self._changed = False

    def close(self) -> None:
        """Close the index; call this once. Uncommitted changes are lost; interrupted merges start again
        later."""
        del self._writer


WRITER_BYTES = 30_000_000
"""Bytes of memory for documents before a segment is written; the engine requires at least 15 MB."""


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
