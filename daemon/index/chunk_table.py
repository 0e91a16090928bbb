"""The tables of chunks in a project's index: lines, texts, and the changes not yet in the lexical index."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import Struct

from ..core.errors import FovealError
from ..core.sized_cache import SizedCache
from ..core.storage import Database, in_batches, select_in
from .chunks import Chunk

SCHEMA = """
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, file_id INTEGER NOT NULL, start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL, symbol TEXT NOT NULL, kind TEXT NOT NULL, names TEXT NOT NULL,
    digest BLOB NOT NULL, embed INTEGER NOT NULL);
CREATE INDEX chunks_by_file ON chunks (file_id);
CREATE INDEX chunks_by_digest ON chunks (digest);
CREATE TABLE texts (file_id INTEGER PRIMARY KEY, chunks BLOB NOT NULL);
CREATE TABLE unlexed (change INTEGER PRIMARY KEY AUTOINCREMENT, file_id INTEGER NOT NULL);
"""
"""`texts` has the texts of a file's chunks in source order, so that derived indexes can be rebuilt without
reading the project's files. `unlexed` is the log of changes that the lexical index hasn't committed yet. A
row is written together with the chunks and deleted after the commit, so that no crash loses a change.
Chunk ids are never reused, so that the embedder can continue after the last id that it has read."""

COPIES_READ = 10
"""Average number of chunks for each digest up to which one statement reads several digests."""


class StoredChunk(Struct, frozen=True):
    """A stored chunk with its file. `names` are the definition names of its header, outermost first."""

    id: int
    file_id: int
    path: str
    language: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    names: tuple[str, ...]
    digest: bytes


class ChunkPlace(NamedTuple):
    """The place of a chunk: the fields that ranking needs for hundreds of candidates."""

    id: int
    file_id: int
    path: str
    language: str
    start_line: int
    end_line: int


class ChunkText(Struct, frozen=True):
    """A chunk with its text, from which the lexical index and the embeddings are made."""

    id: int
    file_id: int
    path: str
    kind: str
    names: tuple[str, ...]
    digest: bytes
    text: str


class StoredText(NamedTuple):
    """A file's chunks in stored form: a row for each without ids, and all texts compressed together."""

    rows: tuple[tuple[int, int, str, str, str, bytes, bool], ...]
    packed: bytes


def pack_chunks(chunks: Sequence[Chunk]) -> StoredText:
    """Return a file's chunks in stored form, in source order."""
    return StoredText(
        tuple(
            (c.start_line, c.end_line, c.symbol, c.kind, "\0".join(c.names), c.digest, c.embed)
            for c in chunks
        ),
        zlib.compress("\0".join(chunk.text for chunk in chunks).encode("utf-8", "replace"), 1),
    )


NO_TEXT = pack_chunks(())


class TextsDamaged(FovealError):
    """The stored texts of a file are damaged, which SQLite can't detect; the file must be indexed again."""


class ChunkTable:
    """Writes chunks. Call every method inside a transaction of the store."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, file_id: int, text: StoredText) -> None:
        """Replace the chunks of a file."""
        self._db.execute("DELETE FROM chunks WHERE file_id = ?", (file_id,))
        self._db.executemany(
            "INSERT INTO chunks (file_id, start_line, end_line, symbol, kind, names, digest, embed)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(file_id, *row) for row in text.rows],
        )
        self._db.execute("INSERT OR REPLACE INTO texts VALUES (?, ?)", (file_id, text.packed))
        self._log(file_id)

    def clear(self, file_id: int) -> None:
        """Delete the chunks of a file, and log the change for the lexical index."""
        if self._db.execute("DELETE FROM texts WHERE file_id = ?", (file_id,)).rowcount:
            self._db.execute("DELETE FROM chunks WHERE file_id = ?", (file_id,))
            self._log(file_id)

    def unlexed(self, limit: int, after: int = 0) -> list[tuple[int, int]]:
        """Return (change, file id) of the changes later than `after`, oldest first, at most `limit`."""
        rows = self._db.execute(
            "SELECT change, file_id FROM unlexed WHERE change > ? ORDER BY change LIMIT ?", (after, limit)
        )
        return rows.fetchall()

    def set_lexed(self, change: int) -> None:
        """Note that the lexical index has committed all changes up to this one."""
        self._db.execute("DELETE FROM unlexed WHERE change <= ?", (change,))

    def set_files_lexed(self, file_ids: Iterable[int]) -> None:
        """Note that the lexical index has committed these files as they are now."""
        self._db.executemany("DELETE FROM unlexed WHERE file_id = ?", [(file_id,) for file_id in file_ids])

    def unlexed_among(self, file_ids: Iterable[int]) -> list[int]:
        """Return the given files that have changes which the lexical index hasn't committed yet."""
        query = "SELECT DISTINCT file_id FROM unlexed WHERE file_id IN ({marks})"
        return sorted(number for (number,) in select_in(self._db, query, file_ids))

    def unlex_all(self) -> None:
        """Log all files as changed, so that an empty lexical index is filled again."""
        self._db.execute("DELETE FROM unlexed")
        self._db.execute("INSERT INTO unlexed (file_id) SELECT file_id FROM texts")

    def forget_content(self, file_id: int) -> None:
        """Mark a file as unread, so that it is indexed again when the index is next opened."""
        self._db.execute("UPDATE files SET digest = x'' WHERE id = ?", (file_id,))

    def id_of(self, path: str) -> int | None:
        """Return a file's id, None for an unknown path."""
        row = self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        return None if row is None else int(row[0])

    def of_file(self, file_id: int) -> list[ChunkText]:
        """Return a file's chunks with their texts, in source order; empty if the file was deleted.

        Raises `TextsDamaged`.
        """
        rows = self._db.execute(
            "SELECT c.id, f.path, c.kind, c.names, c.digest FROM chunks c JOIN files f ON f.id = c.file_id"
            " WHERE c.file_id = ? ORDER BY c.id",
            (file_id,),
        ).fetchall()
        if not rows:
            return []
        packed = self._db.execute("SELECT chunks FROM texts WHERE file_id = ?", (file_id,)).fetchone()
        texts = _unpacked(b"" if packed is None else packed[0], len(rows))
        return [
            ChunkText(number, file_id, path, kind, _names(names), bytes(digest), _decoded(text))
            for (number, path, kind, names, digest), text in zip(rows, texts, strict=True)
        ]

    def _log(self, file_id: int) -> None:
        self._db.execute("INSERT INTO unlexed (file_id) VALUES (?)", (file_id,))


class ChunkQueries:
    """Reads chunks over a reader's connection."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def count(self) -> int:
        """Return the number of chunks."""
        return self.size()[0]

    def size(self) -> tuple[int, int]:
        """Return the number of chunks, and the highest id that was ever given (0 for none)."""
        (count,) = self._db.execute("SELECT COUNT(*) FROM chunks").fetchone()
        last = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").fetchone()
        return int(count), 0 if last is None else int(last[0])

    def by_ids(self, ids: Iterable[int]) -> dict[int, StoredChunk]:
        """Return chunks by id, without deleted ones."""
        return {chunk.id: chunk for chunk in self._stored("c.id", ids)}

    def by_digests(self, digests: Iterable[bytes]) -> list[StoredChunk]:
        """Return all chunks with any of these digests, in the order of ids."""
        return sorted(self._stored("c.digest", digests), key=lambda chunk: chunk.id)

    def places(self, ids: Iterable[int]) -> dict[int, ChunkPlace]:
        """Return the places of chunks by id, without deleted ones."""
        return {place.id: place for place in self._places("c.id", ids)}

    def places_in(self, paths: Iterable[str]) -> list[ChunkPlace]:
        """Return the places of the chunks of files, in the order of ids."""
        return sorted(self._places("f.path", paths))

    def places_by_digests(
        self, digests: Iterable[bytes], copies: int, file_ids: Collection[int] | None = None
    ) -> list[tuple[bytes, ChunkPlace]]:
        """Return (digest, place) of the chunks with these digests, by chunk id.

        Only the first `copies` chunks of each digest are returned, and only those in the files `file_ids`
        (None for all files)."""
        found: list[tuple[bytes, ChunkPlace]] = []
        for batch in in_batches(digests):
            most = COPIES_READ * len(batch)
            rows = list(select_in(self._db, f"{_PLACED} WHERE c.digest IN ({{marks}}) LIMIT ?", batch, most))
            if len(rows) == most:  # a digest has many copies: read only the wanted number of each
                rows = [row for digest in batch for row in self._copies(digest, copies, file_ids)]
            else:
                rows = _first_copies(rows, copies, file_ids)
            found.extend((row[0], ChunkPlace._make(row[1:])) for row in rows)
        return sorted(found, key=lambda pair: pair[1].id)

    def of_paths(self, paths: Iterable[str]) -> list[StoredChunk]:
        """Return the chunks of files, in the order of ids."""
        return sorted(self._stored("f.path", paths), key=lambda chunk: chunk.id)

    def to_embed(self, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """Return (id, file id, digest) of chunks worth embedding whose id is greater than `after`.

        They come in the order of ids, at most `limit`.
        """
        rows = self._db.execute(
            "SELECT id, file_id, digest FROM chunks WHERE id > ? AND embed ORDER BY id LIMIT ?",
            (after, limit),
        )
        return [(number, file_id, bytes(digest)) for number, file_id, digest in rows]

    def present(self, ids: Iterable[int]) -> list[int]:
        """Return the ids whose chunks still exist."""
        # The join with the files is needed because a reader may see only some of the files.
        query = "SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id IN ({marks})"
        return [number for (number,) in select_in(self._db, query, ids)]

    def at(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], StoredChunk]:
        """Return the chunk at each place, by (path, line): the chunk that contains the line, else the file's
        first chunk. Files without chunks are left out."""
        found: dict[tuple[str, int], StoredChunk] = {}
        for path, line in places:
            # In the order of ids SQLite stops at the first match: a file may have thousands of chunks.
            row = (
                self._db.execute(
                    f"{_AT} AND c.start_line <= ? AND c.end_line >= ? {_FIRST}", (path, line, line)
                ).fetchone()
                or self._db.execute(f"{_AT} {_FIRST}", (path,)).fetchone()
            )
            if row is not None:
                found[path, line] = _stored_chunk(row)
        return found

    def texts(self, ids: Iterable[int]) -> dict[int, ChunkText]:
        """Return chunks with their texts, by id, without deleted chunks and those whose text is damaged.

        Call it inside a snapshot, because it reads several tables.
        """
        known = self.by_ids(ids)
        return {
            number: ChunkText(number, chunk.file_id, chunk.path, chunk.kind, chunk.names, chunk.digest, text)
            for number, text in self.texts_of(known.values()).items()
            if (chunk := known[number])
        }

    def texts_of(self, chunks: Iterable[StoredChunk | ChunkPlace]) -> dict[int, str]:
        """Return the texts of chunks by id, without damaged ones. Call it inside a snapshot."""
        wanted: dict[int, list[int]] = {}
        for chunk in chunks:
            wanted.setdefault(chunk.file_id, []).append(chunk.id)
        found: dict[int, str] = {}
        for file_id, numbers in sorted(wanted.items()):
            first, count, packed = self._db.execute(_PACKED, (file_id,)).fetchone()
            held = [number for number in numbers if count and first <= number < first + count]
            # The indexer reads a file with damaged texts again when it finds the damage.
            with suppress(TextsDamaged):
                texts = _kept_texts(packed or b"", count) if held else []
                found.update((number, _decoded(texts[number - first])) for number in sorted(held))
        return found

    def digests_of(self, file_ids: Iterable[int]) -> set[bytes]:
        """Return the digests of the chunks of files."""
        rows = select_in(self._db, "SELECT digest FROM chunks WHERE file_id IN ({marks})", file_ids)
        return {bytes(digest) for (digest,) in rows}

    def alive(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return the given digests that at least one chunk still has."""
        rows = select_in(self._db, "SELECT digest FROM chunks WHERE digest IN ({marks})", digests)
        return {bytes(digest) for (digest,) in rows}

    def file_ids(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the ids of files by path."""
        return dict(select_in(self._db, "SELECT path, id FROM files WHERE path IN ({marks})", paths))

    def paths(self, file_ids: Iterable[int]) -> dict[int, str]:
        """Return the paths of files by id."""
        return dict(select_in(self._db, "SELECT id, path FROM files WHERE id IN ({marks})", file_ids))

    def _stored(self, column: str, values: Iterable[object]) -> Iterator[StoredChunk]:
        return map(_stored_chunk, select_in(self._db, f"{_STORED} WHERE {column} IN ({{marks}})", values))

    def _places(self, column: str, values: Iterable[object]) -> Iterator[ChunkPlace]:
        query = (
            f"SELECT {_PLACE} FROM chunks c JOIN files f ON f.id = c.file_id WHERE {column} IN ({{marks}})"  # noqa: S608 - fixed text
        )
        return map(ChunkPlace._make, select_in(self._db, query, values))

    def _copies(
        self, digest: bytes, copies: int, file_ids: Collection[int] | None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield rows of `_PLACED`: the first `copies` chunks with a digest in the files `file_ids`."""
        rows = self._db.execute(f"{_PLACED} WHERE c.digest = ? ORDER BY c.id", (digest,))
        return islice((row for row in rows if file_ids is None or row[2] in file_ids), copies)


_STORED = (
    "SELECT c.id, c.file_id, f.path, f.language, c.start_line, c.end_line, c.symbol, c.kind, c.names,"
    " c.digest FROM chunks c JOIN files f ON f.id = c.file_id"
)
_AT = f"{_STORED} WHERE f.path = ?"
_FIRST = "ORDER BY c.id LIMIT 1"


# A file's chunks are written together, so their ids follow each other.
_PACKED = (
    "SELECT MIN(id), COUNT(*), (SELECT chunks FROM texts WHERE file_id = ?1) FROM chunks WHERE file_id = ?1"
)

UNPACKED_BYTES = 8_000_000
"""Maximum bytes of cached uncompressed texts, enough for about 100 files. Questions often find chunks of the
same large files, and decompressing 70 KB takes 0.1 ms."""

TEXT_BYTES = 64
"""Overhead of each cached text in bytes: its object and its list entry."""

_UNPACKED = SizedCache[bytes, list[bytes]](UNPACKED_BYTES)
"""Uncompressed texts by their compressed bytes, shared by all projects of the process."""

_PLACE = "c.id, c.file_id, f.path, f.language, c.start_line, c.end_line"
_PLACED = f"SELECT c.digest, {_PLACE} FROM chunks c JOIN files f ON f.id = c.file_id"  # noqa: S608 - fixed text


def _first_copies(
    rows: Iterable[tuple[Any, ...]], copies: int, file_ids: Collection[int] | None
) -> list[tuple[Any, ...]]:
    """Return the rows of `_PLACED` in the order of ids: those in `file_ids`, at most `copies` of a digest."""
    counts: Counter[bytes] = Counter()
    kept = []
    for row in sorted(rows, key=itemgetter(1)):
        if (file_ids is None or row[2] in file_ids) and counts[row[0]] < copies:
            counts[row[0]] += 1
            kept.append(row)
    return kept


def _stored_chunk(row: tuple[int, int, str, str, int, int, str, str, str, bytes]) -> StoredChunk:
    number, file_id, path, language, start, end, symbol, kind, names, digest = row
    return StoredChunk(
        number, file_id, path, language, start, end, symbol, kind, _names(names), bytes(digest)
    )


def _unpacked(packed: bytes, count: int) -> list[bytes]:
    """Return the `count` texts that are compressed together, not decoded yet. Raises `TextsDamaged`."""
    try:
        texts = zlib.decompress(packed).split(b"\0")
    except zlib.error as error:
        raise TextsDamaged(f"a file's text in the index is damaged ({error})") from error
    if len(texts) != count:
        raise TextsDamaged(f"there are {len(texts)} texts for the {count} chunks of a file")
    return texts


def _kept_texts(packed: bytes, count: int) -> list[bytes]:
    """Return the result of `_unpacked`, from the cache if possible."""
    texts = _UNPACKED.get(packed)
    if texts is None or len(texts) != count:
        texts = _unpacked(packed, count)
        _UNPACKED.put(packed, texts, len(packed) + sum(map(len, texts)) + TEXT_BYTES * count)
    return texts


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise TextsDamaged(f"a file's text in the index is damaged ({error})") from error


def _names(joined: str) -> tuple[str, ...]:
    return tuple(joined.split("\0")) if joined else ()
