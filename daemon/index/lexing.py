"""The writing of the lexical index, which follows the store: changes are written soon, or at once."""

from __future__ import annotations

import logging
import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import tantivy
from msgspec import Struct

from ..core.quarantine import quarantine_last
from ..core.system import System
from .chunk_table import ChunkText, TextsDamaged
from .lexical_files import (
    FOLDER,
    LexicalAbsent,
    LexicalDamaged,
    LexicalListing,
    LexicalStatistics,
    LexicalUnwritable,
    check_files,
    read_listing,
    statistics,
)
from .lexical_reader import check_format, make_schema, raising, register_terms
from .reading import Terms
from .store import Store
from .terms import document_terms, path_terms

log = logging.getLogger(__name__)

BATCH_CHANGES = 256

COMMIT_FIRST_S = 0.25
COMMIT_S = 2.0
"""A commit takes 10 ms at 60,000 chunks, and each makes a segment that has to be merged: while there is much
to write, it comes so often. The first ones come sooner, each after twice the time of the one before, so that
a small project is found at once."""

APART_S = 0.3
"""Saves that follow one another are committed so far apart: a commit takes 10 to 20 ms of the time in which
the indexer reads what else was saved. The first save after a while is committed at once."""

IDLE_S = 20.0
"""Seconds without a write after which a writer closes; it holds seven threads and up to 30 MB."""

RETRY_S = 5.0
RETRY_MAX_S = 60.0
"""An index that can't be written, as a disk is full or a folder read-only, is tried again after so long, and
each time it can't after twice as long as before, up to the second of these."""

OFFERED_CHARACTERS = 8_000_000
"""Terms that were cut elsewhere and wait to be written are kept up to so many characters: those of some
thousand files. Those of others are cut here."""

DELETED_MIN = 5_000
"""An index with fewer deleted chunks isn't built anew, however few others there are: merges see to it."""

CREATED_LATELY_S = 60.0
"""Seconds after a rebuild in which a reader that met the old index causes no other rebuild."""

FILLED_FROM = "lexical"
"""The setting in the store that says that the lexical index was filled from this very store, and by which of
its commits: the number that the engine gave it. Without it what lies there belongs to a store that is gone,
whose numbers meant other files; one of an earlier commit is a restored copy."""


class Lexing:
    """The lexical index of one project, on the indexer's working thread. `begin` hears of each file before
    its words are cut.

    `problem` says why it isn't kept, or is empty; it is tried again before long. Raises `DatabaseError` where
    the store fails.
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
        """The index was found whole since this was made, or was made since."""
        self._written = 0
        """The last change that the writer was given, committed or not."""
        self._pause_s = COMMIT_FIRST_S
        self._commit_at = 0.0
        self._committed_at = -APART_S
        self._due_at: float | None = None
        self._used_at = 0.0
        self._again_at = 0.0
        self._failures = 0
        """How often in a row it couldn't be written."""
        self._created_at = -CREATED_LATELY_S
        self._offered: OrderedDict[str, Sequence[Terms]] = OrderedDict()
        self._offered_size = 0

    def close(self) -> None:
        """Let go of the index. What wasn't committed is written again by the next one."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def rebuild(self) -> None:
        """Throw the index away and fill it anew from the store, with the steps that follow."""
        self.close()
        with self._attempt():
            self._create("it is to be built anew")

    def repair(self) -> None:
        """Fill the index anew, since a reader found it damaged, unless that was just done."""
        self._verified = False
        if self._system.monotonic() - self._created_at > CREATED_LATELY_S or not self._is_whole():
            self.close()
            with self._attempt():
                if os.path.lexists(self._folder):
                    self._quarantine(LexicalDamaged("it could not be searched"))
                self._create("it could not be searched")

    def step(self, seconds: float, *, more: bool = False) -> bool:
        """Write what changed for so long; False when the index holds it all, committed, or can't be written.

        With `more` to come soon, commits are put off for up to `COMMIT_S`.
        """
        self._due_at = None
        if self._system.monotonic() < self._again_at:
            return False
        with self._attempt():
            return self._step(self._system.monotonic() + seconds, more=more)
        return False

    def saved(self, seconds: float) -> bool:
        """Write what a save changed, as `step` does; sooner than `APART_S` after a commit it is put off
        instead, until `patience` is over and this is called again. False when nothing is left to do now."""
        due_at = self._committed_at + APART_S
        if self._system.monotonic() >= due_at:
            return self.step(seconds)
        self._due_at = due_at
        return False

    def patience(self) -> float | None:
        """Return in how many seconds what was put off is due, or could not be written is to be tried again;
        None where nothing is."""
        waits = [] if self._due_at is None else [self._due_at]
        if self._failures:
            waits.append(self._again_at)
        return max(0.0, min(waits) - self._system.monotonic()) if waits else None

    def offer(self, path: str, terms: Sequence[Terms]) -> None:
        """Take the terms of a file's chunks, in their order, for when it is written: it costs less then.

        They are used if the chunks are still these.
        """
        self._take_offered(path)
        self._offered[path] = terms
        self._offered_size += _size(terms)
        while self._offered_size > OFFERED_CHARACTERS:
            self._take_offered(next(iter(self._offered)))

    def write_now(self, paths: Iterable[str]) -> None:
        """Write those of these files that wait for it and commit, ahead of what else waits."""
        known = [file_id for file_id in map(self._store.chunks.id_of, paths) if file_id is not None]
        file_ids = self._store.chunks.unlexed_among(known)
        if not file_ids or self._system.monotonic() < self._again_at:
            return
        with self._attempt():
            writer = self._open()
            for file_id in file_ids:
                self._replace(writer, file_id)
            # What else the writer was given is committed along, and noted by the next step.
            writer.commit()
            self._committed_at = self._system.monotonic()
            with self._store.side_notes():
                self._store.chunks.set_files_lexed(file_ids)

    def tidy(self) -> None:
        """Let go of a writer that has nothing to do, and begin anew when most of the index is deleted."""
        if self._writer is None or self._system.monotonic() - self._used_at < IDLE_S:
            return
        with self._attempt():
            statistics = self._writer.statistics()
            self.close()
            if statistics.deleted > max(statistics.documents, DELETED_MIN):
                self._create(
                    f"{statistics.deleted:,} of its chunks are deleted, {statistics.documents:,} not"
                )

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        """Note why something could not be done, and leave it until later."""
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
            self._failures = min(self._failures + 1, 10)  # the pause has long been the longest
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
        """Give the writer what changed; whether that was all."""
        while changes := self._store.chunks.unlexed(BATCH_CHANGES, self._written):
            last = {file_id: change for change, file_id in changes}
            for change, file_id in changes:
                if last[file_id] == change:  # else the file is written as it is now when its last one comes
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
        documents = self._documents_offered(file_id) if self._offered else None
        if documents is not None:
            writer.replace(file_id, documents)
            return
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

    def _documents_offered(self, file_id: int) -> list[LexicalDocument] | None:
        """Return a file's documents from the offered terms; None where these aren't of its present chunks."""
        path, chunks = self._store.chunks.kinds_of_file(file_id)
        terms = self._take_offered(path)
        if terms is None or [each[1:] for each in chunks] != [(chunk.digest, chunk.kind) for chunk in terms]:
            return None
        return [
            LexicalDocument(number, chunk.kind, [chunk.body], [chunk.path], [chunk.symbols])
            for (number, *_), chunk in zip(chunks, terms, strict=True)
        ]

    def _take_offered(self, path: str) -> Sequence[Terms] | None:
        terms = self._offered.pop(path, None)
        if terms is not None:
            self._offered_size -= _size(terms)
        return terms

    def _open(self) -> LexicalWriter:
        """Return the writer; an index that isn't whole, or not of this store, is made anew for it."""
        if self._writer is None:
            if self._store.get_meta(FILLED_FROM) is None:
                return self._create("there is none of this store")
            try:
                self._check_age(read_listing(self._folder))
                self._writer = LexicalWriter(self._folder)
            except LexicalDamaged as error:
                if not isinstance(error, LexicalAbsent):
                    self._quarantine(error)
                return self._create(str(error))
            self._begin()
        return self._writer

    def _quarantine(self, error: LexicalDamaged) -> None:
        """Keep the last damaged index for inspection."""
        kept = quarantine_last(self._folder, self._system)
        log.warning("the lexical index in %s is damaged (%s) and kept as %s", self._folder, error, kept)

    def _create(self, reason: str) -> LexicalWriter:
        log.info("the lexical index in %s is built anew: %s", self._folder, reason)
        # The log first, and the note last: a crash in between leaves an index that is made anew.
        if self._store.get_meta(FILLED_FROM) is not None:
            self.problem = "the lexical index is built anew: not all text is found by its words yet"
        with self._store.side_notes():
            self._store.delete_meta(FILLED_FROM)
            self._store.chunks.unlex_all()
        self._writer = LexicalWriter.create(self._folder)
        self._store.set_meta(FILLED_FROM, "0")
        self._created_at = self._system.monotonic()
        self._committed_at = -APART_S  # what could be found before has to be found again soon
        self._pause_s = COMMIT_FIRST_S
        self._begin()
        return self._writer

    def _begin(self) -> None:
        self._verified = True
        self._written = 0
        self._used_at = self._system.monotonic()
        self._commit_at = self._used_at + self._pause_s

    def _is_whole(self) -> bool:
        """Whether the index can be used; looked at once, since a writer that it fails later says so."""
        if not self._verified and self._store.get_meta(FILLED_FROM) is not None:
            try:
                listing = read_listing(self._folder)
                check_format(listing.format)
                check_files(self._folder, listing)
                self._check_age(listing)
            except (LexicalDamaged, OSError):
                return False  # the next one to open it sees why
            self._verified = True
        return self._verified

    def _check_age(self, listing: LexicalListing) -> None:
        """Raise `LexicalDamaged` where the store has noted a later commit than there is."""
        noted = self._store.get_meta(FILLED_FROM) or ""
        if noted.isdigit() and listing.opstamp < int(noted):
            raise LexicalDamaged("the lexical index is older than what it was filled from")


def _size(terms: Iterable[Terms]) -> int:
    """Return about how many characters terms take."""
    return sum(len(chunk.body) + len(chunk.symbols) + 100 for chunk in terms)


def _document(chunk: ChunkText) -> LexicalDocument:
    symbols = [term for name in chunk.names for term in document_terms(name)]
    return LexicalDocument(
        chunk.id, chunk.kind, document_terms(chunk.text), path_terms(chunk.path), list(dict.fromkeys(symbols))
    )


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
            # Opened for reading too, it would load its segments with each commit for nothing.
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
            os.unlink(folder)  # its target isn't ours
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
        """Count the committed documents. Raises `LexicalDamaged`."""
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
