"""Owns the words of queries as numbers, and the table by which nearly equal queries are found."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Sequence
from functools import lru_cache
from math import ceil

from ..core.storage import Database

SCHEMA = """
CREATE TABLE query_terms (
    term INTEGER NOT NULL, request INTEGER NOT NULL, PRIMARY KEY (term, request)) WITHOUT ROWID;
"""
"""Only requests of which a reply was reported are in it: others are no evidence."""

MAX_NEAR = 16
"""Maximum number of nearly equal queries weighed, the most equal and latest."""

SKETCH_TERMS = 64
"""A sketch holds so many words, those with the smallest hashes. Few messages have more different ones; of a
longer one it is a fair sample (bottom-k sketch, Cohen and Kaplan 2007)."""

MIN_TERMS = 3
"""Shorter queries ("go on", "fix it") mean something else each time."""

NEARLY_EQUAL = 0.8
"""Two queries are nearly equal if they have four fifths of their words in common: so one word in ten may be
another. It is a convention of near-duplicate detection, which puts it between 0.8 and 0.9."""

_TEXT_CHARACTERS = 20_000
"""Of a query so many characters are looked at: half from its beginning, half from its end."""

Sketch = tuple[int, ...]
"""Hashes of words, ascending, each once. Empty for a query that is too short to be compared."""


def sketch_of(query: str) -> Sketch:
    """Return the sketch of a query. Case, order, repetition, punctuation and function words don't count."""
    if len(query) > _TEXT_CHARACTERS:
        half = _TEXT_CHARACTERS // 2
        query = f"{query[:half]} {query[-half:]}"
    words = set(_WORD.findall(query.casefold())) - _FUNCTION_WORDS
    return () if len(words) < MIN_TERMS else tuple(sorted({_hash(word) for word in words})[:SKETCH_TERMS])


def similarity(one: Sketch, other: Sketch) -> float:
    """Return the share of words that two queries have in common of all that they have (Jaccard), 0 to 1.

    Exact up to `SKETCH_TERMS` different words, an estimate above: of the smallest hashes of both together.
    """
    if not one or not other:
        return 0.0
    both = sorted({*one, *other})[:SKETCH_TERMS]
    common = {*one}.intersection(other)
    return sum(term in common for term in both) / len(both)


def prefix(sketch: Sketch) -> Sketch:
    """Return those terms of which nearly equal queries have at least one in common.

    Two sets that share the part t of their union share at least one among the first n - ceil(t n) + 1 of
    each in any fixed order (prefix filtering, Chaudhuri, Ganti and Kaushik 2006): so looking these few up
    misses none.
    """
    return sketch[: len(sketch) - ceil(NEARLY_EQUAL * len(sketch)) + 1] if sketch else ()


def sketch_bytes(sketch: Sequence[int]) -> bytes:
    """Return a sketch as bytes, four for a term."""
    return struct.pack(f"<{len(sketch)}I", *sketch)


def sketch_in(data: bytes) -> Sketch:
    """Return the sketch in bytes; a rest that is no term is left out."""
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


def add(database: Database, request: int) -> None:
    """Enter the query of a request, once. Needs a transaction."""
    database.executemany("INSERT OR IGNORE INTO query_terms VALUES (?, ?)", _terms(database, request))


def remove(database: Database, request: int) -> None:
    """Remove the query of a request that is still there. Needs a transaction."""
    database.executemany("DELETE FROM query_terms WHERE term = ? AND request = ?", _terms(database, request))


def near(database: Database, project: bytes, sketch: Sketch) -> list[tuple[int, float]]:
    """Return the requests of nearly equal queries with their similarity, the most equal and latest first."""
    shares: dict[int, float] = {}
    for term in prefix(sketch):
        rows = database.execute(
            "SELECT request, sketch FROM query_terms JOIN requests ON number = request"
            " WHERE term = ? AND project = ? ORDER BY request DESC LIMIT ?",
            (term, project, _MAX_CANDIDATES),
        )
        shares |= {
            number: similarity(sketch, sketch_in(data)) for number, data in rows if number not in shares
        }
    found = [(number, share) for number, share in shares.items() if share >= NEARLY_EQUAL]
    return sorted(found, key=lambda one: (-one[1], -one[0]))[:MAX_NEAR]


def _terms(database: Database, request: int) -> list[tuple[int, int]]:
    row = database.execute("SELECT sketch FROM requests WHERE number = ?", (request,)).fetchone()
    return [(term, request) for term in prefix(sketch_in(row[0]))] if row else []


_MAX_CANDIDATES = 64
"""Of each word the latest so many queries are compared, of at most 13 words: 832 comparisons in all."""

_WORD = re.compile(r"\w[\w'-]*\w")
_FUNCTION_WORDS = frozenset(
    # A list of ninety strings would be twenty times as long to read.
    """an the and or but if of in on at to for from by with as is are was were be been it its this that these
    those there here what which who how why when where do does did can could should would will shall may
    might must have has had not no so than then too very please me my we our us you your they their he she
    about into just also""".split()  # noqa: SIM905 - see above
)


@lru_cache(maxsize=16_384)
def _hash(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")
