"""The commit messages of a project as the index stores them: which files past commits changed for such words.

The messages are stored as terms with their BM25 weights, so that a question is compared with thousands of
them in less than a millisecond.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

import msgspec

from ..core.storage import Database, DatabaseError, select_in
from .terms import document_terms

SCHEMA = """
CREATE TABLE commits (number INTEGER PRIMARY KEY, paths BLOB NOT NULL);
CREATE TABLE message_terms (
    term TEXT PRIMARY KEY, commits BLOB NOT NULL, weights BLOB NOT NULL) WITHOUT ROWID;
"""

BODY_CHARACTERS = 600
"""Maximum characters of a message's body whose words count; the subject counts whole."""

COMMIT_FILES_MAX = 50
"""Maximum number of files of a commit whose message counts; larger ones say little about each file."""

COMMON = 0.3
"""Maximum share of the commits that may have a term for the term to be compared."""

ALIKE = 50
"""Number of the most similar commits whose files get evidence."""

K1, B = 1.2, 0.75
"""The usual constants of BM25."""


class Changed(NamedTuple):
    """The evidence that a file was changed for similar words: the similarity (0 to 1) of the most similar
    commit that changed it, and the sum of the similarities of all such commits, each divided by its rank."""

    nearest: float
    ranked: float


class Messages:
    """The messages of a project's commits, to be added one by one, the latest first."""

    def __init__(self, known: Collection[str]) -> None:
        """Only paths in `known` count."""
        self._known = known
        self._commits: list[tuple[Counter[str], list[str]]] = []

    def add(self, message: str, paths: Sequence[str]) -> None:
        """Add a commit; takes .1 ms. One without known paths, or with too many paths, doesn't count."""
        kept = [path for path in paths if path in self._known]
        if kept and len(paths) <= COMMIT_FILES_MAX:
            subject, _, body = message.partition("\n")
            self._commits.append((Counter(document_terms(f"{subject}\n{body[:BODY_CHARACTERS]}")), kept))

    def put(self, database: Database) -> None:
        """Replace the commits in the database. Call this inside a transaction."""
        usual = sum(terms.total() for terms, _ in self._commits) / (len(self._commits) or 1) or 1.0
        postings: dict[str, tuple[array[int], array[float]]] = {}
        for number, (terms, _) in enumerate(self._commits):
            longer = K1 * (1 - B + B * terms.total() / usual)
            for term, count in terms.items():
                numbers, weights = postings.setdefault(term, (array("I"), array("f")))
                numbers.append(number)
                weights.append(count * (K1 + 1) / (count + longer))
        database.execute("DELETE FROM commits")
        database.execute("DELETE FROM message_terms")
        database.executemany(
            "INSERT INTO commits VALUES (?, ?)",
            [(number, msgspec.msgpack.encode(paths)) for number, (_, paths) in enumerate(self._commits)],
        )
        database.executemany(
            "INSERT INTO message_terms VALUES (?, ?, ?)",
            [(term, numbers.tobytes(), weights.tobytes()) for term, (numbers, weights) in postings.items()],
        )


def changed_for(database: Database, terms: Mapping[str, float], paths: Collection[str]) -> dict[str, Changed]:
    """Return the evidence for each of the files that commits with a message similar to weighted terms
    changed. Raises `DatabaseError`, also for rows that don't fit each other."""
    count = database.execute("SELECT count(*) FROM commits").fetchone()[0]
    if not count or not terms:
        return {}
    scores, most = _similar(database, terms, count)
    best = nlargest(ALIKE, scores.items(), key=lambda pair: (pair[1], -pair[0]))
    rows = dict(
        select_in(database, "SELECT number, paths FROM commits WHERE number IN ({marks})", dict(best))
    )
    found: dict[str, Changed] = {}
    try:
        for rank, (number, score) in enumerate(best, 1):
            for path in msgspec.msgpack.decode(rows[number], type=list[str]):
                if path in paths:
                    similarity = score / most
                    nearest, ranked = found.get(path, Changed(0.0, 0.0))
                    found[path] = Changed(max(nearest, similarity), ranked + similarity / rank)
    except (KeyError, msgspec.DecodeError) as error:
        raise DatabaseError(f"the commits don't fit their messages: {error!r}") from error
    return found


def _similar(database: Database, terms: Mapping[str, float], count: int) -> tuple[dict[int, float], float]:
    """Return the score of each commit that shares a term, and the score that a message of all terms has."""
    query = "SELECT term, commits, weights FROM message_terms WHERE term IN ({marks})"
    scores: dict[int, float] = {}
    most = sum(terms.values()) * math.log(1 + count + 0.5)
    for term, packed, weighed in select_in(database, query, terms):
        numbers, weights = array("I"), array("f")
        try:
            numbers.frombytes(packed)
            weights.frombytes(weighed)
        except ValueError as error:
            raise DatabaseError(f"a term's commits are damaged: {error}") from error
        rarity = terms[term] * math.log(1 + (count - len(numbers) + 0.5) / (len(numbers) + 0.5))
        most += rarity - terms[term] * math.log(1 + count + 0.5)
        if len(numbers) <= COMMON * count:
            for number, weight in zip(numbers, weights, strict=False):
                scores[number] = scores.get(number, 0.0) + rarity * weight
    return scores, most or 1.0
