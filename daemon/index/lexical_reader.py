"""Searches the lexical index: finds the chunks that contain a question's terms, ranked by BM25."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from heapq import nlargest
from threading import Lock
from typing import Any

import tantivy
from msgspec import Struct

from .lexical_files import (
    FORMAT,
    LexicalDamaged,
    LexicalHit,
    LexicalUnwritable,
    check_files,
    check_format,
    check_sizes,
    read_listing,
)


class FieldWeights(Struct, frozen=True):
    """The weights of a term's matches in each field; every field has BM25 statistics of its own.

    Measured on 849 commit messages of six repositories: .5 for path and symbols gave .654 NDCG@10, all terms
    in one field .647, and the body alone .619; values between .3 and .7 hardly differ.
    """

    body: float = 1.0
    path: float = 0.5
    symbols: float = 0.5


DEFAULT_WEIGHTS = FieldWeights()


class LexicalReader:
    """Searches one lexical index. Threads may share it; a search releases the interpreter lock.

    It searches the commit that its last refresh loaded, even if the files have changed since.
    """

    def __init__(self, folder: str) -> None:
        """Open an index and verify its files' checksums. Raises `LexicalDamaged` or `OSError`."""
        self._folder = folder
        self._lock = Lock()
        self._raw = b""
        self._checked: dict[str, int] = {}
        listing = read_listing(folder)
        check_format(listing.format)
        check_files(folder, listing)
        with raising(LexicalDamaged):
            self._index = tantivy.Index.open(folder)
            self._index.config_reader("manual")
            self._searcher = self._index.searcher()
        self._schema = self._index.schema
        self.refresh()

    def refresh(self) -> bool:
        """Load the latest commit; return whether it is a new one. If it isn't, this only reads one small file
        and checks the sizes of the others.

        Raises `LexicalDamaged` or `OSError`; searches then continue in the former state.
        """
        with self._lock:
            listing = read_listing(self._folder)
            if listing.raw == self._raw:
                check_sizes(self._folder, self._checked)
                return False
            check_format(listing.format)
            checked = check_files(self._folder, listing, self._checked)
            with raising(LexicalDamaged):
                # This may load a later commit than the listing's, which the next refresh then checks.
                self._index.reload()
                self._searcher = self._index.searcher()
            self._checked, self._raw = checked, listing.raw
            return True

    def search(
        self,
        terms: Mapping[str, float],
        limit: int,
        *,
        files: Collection[int] | None = None,
        kinds: Collection[str] | None = None,
        weights: FieldWeights = DEFAULT_WEIGHTS,
    ) -> list[LexicalHit]:
        """Return the chunks that contain any of the terms, best first, at most `limit`.

        `terms` maps each term to its weight, above 0. Only the `MAX_TERMS` with the highest product of weight
        and inverse document frequency are searched for. `files` and `kinds` restrict the search; None means
        all. Chunks with equal scores are ordered by id. If too many chunks share the last score (four times
        the limit are examined), the index decides which are returned, and returns the same until the next
        commit. Raises `LexicalDamaged`.
        """
        if limit <= 0 or not (files is None or files) or not (kinds is None or kinds):
            return []
        search = _Search(self._searcher, self._schema)
        query = search.query(terms, weights)
        if query is None:
            return []
        if kinds is not None:
            query = search.among(query, "kind", kinds)
        if files is None:
            return search.best(query, limit)
        if len(files) <= MAX_FILE_CLAUSE:
            return search.best(search.among(query, "file_key", map(str, files)), limit)
        return search.best(query, limit, files if isinstance(files, AbstractSet) else frozenset(files))

    def may_hold(self, weights: Mapping[str, float], least: float) -> bool:
        """Whether any chunk may contain terms with a total weight of at least `least`.

        Takes .15 ms, while `search` and `holding` take .7 ms; for most questions no chunk has enough weight.
        Raises `LexicalDamaged`.
        """
        return least <= 0 or _Search(self._searcher, self._schema).heaviest(weights) >= least - 0.001

    def holding(
        self, hits: Collection[LexicalHit], weights: Mapping[str, float], least: float
    ) -> AbstractSet[int]:
        """Return the ids of hits whose text contains terms with a total weight of at least `least`.

        Raises `LexicalDamaged`.
        """
        search = _Search(self._searcher, self._schema)
        chunks = {hit.chunk_id for hit in hits}
        if least <= 0:
            return chunks
        if not hits or not weights:
            return frozenset()
        return chunks & search.holding({str(hit.file_id) for hit in hits}, weights, least)

    def coverage(
        self, terms: Mapping[str, float], files: Collection[int]
    ) -> dict[int, tuple[float, float, float]]:
        """Return by file id which share of the terms the file's text contains, for files with any of them.

        The three numbers are the share of the weight in the file, the share of the number of terms, and the
        highest share of the weight in a single chunk. Only the `COVERED_TERMS` heaviest terms are searched
        for, which takes .5 ms for 60 files. Raises `LexicalDamaged`.
        """
        told = nlargest(COVERED_TERMS, terms, key=terms.__getitem__)
        if not told or not files:
            return {}
        return _Search(self._searcher, self._schema).coverage({term: terms[term] for term in told}, files)

    def document_frequency(self, term: str) -> int:
        """Return the number of chunks with a term in their text, path or symbols, whichever has the most.

        Deleted chunks count until their segment is merged. Takes 5 microseconds. Raises `LexicalDamaged`.
        """
        return max(self.places(term).values(), default=0)

    def places(self, term: str) -> dict[str, int]:
        """Return the number of chunks with a term by field: `body`, `path` and `symbols`, without fields
        where it is 0."""
        return _Search(self._searcher, self._schema).places(term)

    @property
    def documents(self) -> int:
        """The number of searchable chunks, as of the last refresh."""
        return int(self._searcher.num_docs)


MAX_TERMS = 96
"""Maximum number of a question's terms that are searched for. With the whole messages of 849 commits as
questions, 16 gave .598 NDCG@10, 32 .647, 64 .664, 96 .669, and all terms .668."""

MAX_FILE_CLAUSE = 10_000
"""Maximum number of files in a clause of the query (3 ms for 4,000); for more files the hits are filtered."""


COVERED_TERMS = 12
"""Maximum number of terms whose presence in a chunk is read from its score: each term adds a power of two,
and the engine's 32-bit floats are exact for up to 24 of them."""

COVERING_CHUNKS = 2_000
"""Maximum number of chunks examined for `coverage`, those with the heaviest terms first."""


class _Search:
    """A search in one state of the index."""

    def __init__(self, searcher: tantivy.Searcher, schema: tantivy.Schema) -> None:
        self.searcher = searcher
        self.schema = schema

    def query(self, terms: Mapping[str, float], weights: FieldWeights) -> tantivy.Query | None:
        """Make a query of the `MAX_TERMS` most informative terms; None if no chunk has any term."""
        places = {term: found for term in terms if terms[term] > 0 and (found := self.places(term))}
        rarest = nlargest(
            MAX_TERMS, places, lambda term: terms[term] * self._rarity(max(places[term].values()))
        )
        clauses = [
            self._clause(field, term, terms[term] * weight)
            for term in rarest
            for field in places[term]
            if (weight := float(getattr(weights, field))) > 0
        ]
        return tantivy.Query.boolean_query(clauses) if clauses else None

    def among(self, query: tantivy.Query, field: str, values: Iterable[str]) -> tantivy.Query:
        """Restrict a query to chunks with one of `values` in a field, without changing scores."""
        chosen = tantivy.Query.term_set_query(self.schema, field, list(values))
        unscored = tantivy.Query.const_score_query(chosen, 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])

    def holding(self, files: Collection[str], weights: Mapping[str, float], least: float) -> frozenset[int]:
        """Return the chunks of files (given by their keys) whose text has terms of weight `least` or more."""
        query = self.among(self._weighing(weights), "file_key", files)
        documents = int(self.searcher.num_docs)
        size = min(HOLDING_FETCHED, documents)
        while True:
            with raising(LexicalDamaged):
                found = self.searcher.search(query, size, count=False).hits if size else []
            enough = [address for score, address in found if score is not None and score >= least - 0.001]
            if len(enough) < size or size == documents:
                with raising(LexicalDamaged):
                    return frozenset(map(int, filter(None, self.searcher.fast_field_values("chunk", enough))))
            size = min(size * 4, documents)

    def heaviest(self, weights: Mapping[str, float]) -> float:
        """Return the highest total weight of terms in the text of one chunk."""
        if not self.searcher.num_docs or not weights:
            return 0.0
        with raising(LexicalDamaged):
            found = self.searcher.search(self._weighing(weights), 1, count=False).hits
        return float(found[0][0] or 0.0) if found else 0.0

    def _weighing(self, weights: Mapping[str, float]) -> tantivy.Query:
        """Make a query whose score is the total weight of the terms in a chunk's text."""
        clauses = [
            (
                tantivy.Occur.Should,
                tantivy.Query.const_score_query(
                    tantivy.Query.term_query(self.schema, "body", term, "freq"), weight
                ),
            )
            for term, weight in weights.items()
        ]
        return tantivy.Query.boolean_query(clauses)

    def coverage(
        self, weights: Mapping[str, float], files: Collection[int]
    ) -> dict[int, tuple[float, float, float]]:
        """Return the result of `LexicalReader.coverage`; a chunk's score encodes the terms that it
        contains."""
        ordered = sorted(weights.items(), key=lambda pair: pair[1])
        clauses = [
            (
                tantivy.Occur.Should,
                tantivy.Query.const_score_query(
                    tantivy.Query.term_query(self.schema, "body", term, "freq"), float(1 << place)
                ),
            )
            for place, (term, _) in enumerate(ordered)
        ]
        query = self.among(tantivy.Query.boolean_query(clauses), "file_key", map(str, files))
        size = min(COVERING_CHUNKS, int(self.searcher.num_docs))
        with raising(LexicalDamaged):
            hits = self.searcher.search(query, size, count=False).hits if size else []
            numbers: Sequence[Any] = self.searcher.fast_field_values("file", [address for _, address in hits])
        by_set: dict[int, float] = {}

        def weight_of(terms: int) -> float:
            if terms not in by_set:
                by_set[terms] = sum(w for place, (_, w) in enumerate(ordered) if terms >> place & 1)
            return by_set[terms]

        held: dict[int, int] = {}
        most: dict[int, float] = {}
        for (score, _), number in zip(hits, numbers, strict=True):
            terms = round(score)
            held[number] = held.get(number, 0) | terms
            most[number] = max(most.get(number, 0.0), weight_of(terms))
        total = sum(weights.values()) or 1.0
        return {
            number: (weight_of(terms) / total, terms.bit_count() / len(ordered), most[number] / total)
            for number, terms in held.items()
        }

    def best(
        self, query: tantivy.Query, limit: int, files: AbstractSet[int] | None = None
    ) -> list[LexicalHit]:
        """Return the best hits; fetches more until enough are in `files` and all ties with the last are
        known."""
        documents = int(self.searcher.num_docs)
        size = min(limit + _TIES, documents)
        while True:
            fetched = self._fetch(query, size)
            hits = fetched if files is None else [hit for hit in fetched if hit.file_id in files]
            enough = len(hits) >= limit and (hits[limit - 1].score > fetched[-1].score or size >= 4 * limit)
            if enough or len(fetched) < size or size == documents:
                return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]
            size = min(size * 4, documents)

    def places(self, term: str) -> dict[str, int]:
        """Return the number of chunks with a term by field, without fields where it is 0."""
        with raising(LexicalDamaged):
            counts = {field: int(self.searcher.doc_freq(field, term)) for field in TEXT_FIELDS}
        return {field: count for field, count in counts.items() if count}

    def _rarity(self, frequency: int) -> float:
        """Return BM25's inverse document frequency, in the variant with an added 1 that keeps it above 0."""
        # Deleted chunks count in the frequency, but not in the number of documents.
        documents = max(int(self.searcher.num_docs), frequency)
        return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))

    def _clause(self, field: str, term: str, weight: float) -> tuple[tantivy.Occur, tantivy.Query]:
        query = tantivy.Query.term_query(self.schema, field, term, "freq")
        return tantivy.Occur.Should, tantivy.Query.boost_query(query, weight)

    def _fetch(self, query: tantivy.Query, size: int) -> list[LexicalHit]:
        if not size:
            return []
        with raising(LexicalDamaged):
            found = self.searcher.search(query, size, count=False).hits
            addresses = [address for _, address in found]
            chunks: Sequence[Any] = self.searcher.fast_field_values("chunk", addresses)
            files: Sequence[Any] = self.searcher.fast_field_values("file", addresses)
        # The scores of equal chunks may differ in the last bits, depending on the order of summation.
        scores = [round(score, 3) for score, _ in found]
        return list(map(LexicalHit._make, zip(chunks, files, scores, strict=True)))


HOLDING_FETCHED = 100
"""Number of chunks fetched at first in the search for chunks with enough of a text, of which few exist."""

_TIES = 32
"""Number of additional hits fetched at first, to detect ties with the last hit."""


TEXT_FIELDS = ("body", "path", "symbols")
"""The fields that are searched: a chunk's text, its file's path, and the names of its definitions."""


def make_schema() -> tantivy.Schema:
    """Make the schema: ids for results, keys to filter and delete by, search terms; no text is stored."""
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("chunk", fast=True)
    builder.add_unsigned_field("file", fast=True)
    # The key is text, because the engine's Python binding reads a number to delete as signed, which matches
    # no unsigned id, and each deletion by query would hold 9 KB until the commit.
    builder.add_text_field("file_key", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    for field in TEXT_FIELDS:
        builder.add_text_field(field, tokenizer_name=FORMAT, index_option="freq")
    return builder.build()


def register_terms(index: tantivy.Index) -> None:
    """Make the engine split indexed text at spaces only, because terms are cut before. Query terms aren't
    split at all."""
    whitespace = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(FORMAT, whitespace)


@contextmanager
def raising(error_class: type[LexicalDamaged | LexicalUnwritable]) -> Iterator[None]:
    """Raise `error_class` for the engine's errors: nearly all are ValueErrors, and some are panics."""
    try:
        yield
    except (ValueError, RuntimeError, OSError) as error:
        raise error_class(f"the lexical index: {error}") from error
    except BaseException as error:
        # A panic isn't an Exception, and its class can't be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise error_class(f"the lexical index: {error}") from error
