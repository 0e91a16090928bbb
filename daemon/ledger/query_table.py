"""Owns the table of answered queries in the ledger, by which nearly equal ones are found."""

from __future__ import annotations

from ..core.storage import Database
from .query_sketch import NEARLY_EQUAL, Sketch, prefix, similarity, sketch_in

SCHEMA = """
CREATE TABLE query_terms (
    project INTEGER NOT NULL, term INTEGER NOT NULL, request INTEGER NOT NULL,
    PRIMARY KEY (project, term, request)) WITHOUT ROWID;
"""
"""Only requests of which a reply was reported are in it: others are no evidence."""

MAX_NEAR = 16
"""So many nearly equal queries are weighed, the most equal and latest."""

_MAX_CANDIDATES = 64
"""Of each word the latest so many queries are compared, of at most 13 words: 832 comparisons in all."""


def add(database: Database, project: int, sketch: Sketch, request: int) -> None:
    """Enter a query, once. Needs a transaction."""
    database.executemany(
        "INSERT OR IGNORE INTO query_terms VALUES (?, ?, ?)",
        [(project, term, request) for term in prefix(sketch)],
    )


def remove(database: Database, project: int, sketch: Sketch, request: int) -> None:
    """Remove a query. Needs a transaction."""
    database.executemany(
        "DELETE FROM query_terms WHERE project = ? AND term = ? AND request = ?",
        [(project, term, request) for term in prefix(sketch)],
    )


def near(database: Database, project: int, sketch: Sketch) -> list[tuple[int, float]]:
    """Return the requests of nearly equal queries with their similarity, the most equal and latest first."""
    candidates: set[int] = set()
    for term in prefix(sketch):
        rows = database.execute(
            "SELECT request FROM query_terms WHERE project = ? AND term = ? ORDER BY request DESC LIMIT ?",
            (project, term, _MAX_CANDIDATES),
        )
        candidates.update(number for (number,) in rows)
    found = []
    marks = ", ".join("?" * len(candidates))
    rows = database.execute(
        f"SELECT number, sketch FROM requests WHERE number IN ({marks})",  # noqa: S608 - question marks only
        list(candidates),
    )
    for number, data in rows:
        share = similarity(sketch, sketch_in(data))
        if share >= NEARLY_EQUAL:
            found.append((number, share))
    return sorted(found, key=lambda one: (-one[1], -one[0]))[:MAX_NEAR]
