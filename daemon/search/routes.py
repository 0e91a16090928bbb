"""Owns the names of the routes that a question can take, and of the relations of the code graph."""

from __future__ import annotations

from typing import Literal, get_args

Route = Literal["structural", "positional", "semantic", "hybrid"]
"""`structural` asks for an edge of the code graph, `positional` restricts the search to a definite place,
`semantic` asks in words for behaviour, reasons or concepts; `hybrid` is all the rest, and mixtures."""

Relation = Literal[
    "callers",
    "callees",
    "references",
    "definition",
    "importers",
    "imports",
    "subclasses",
    "superclasses",
    "implementations",
    "overrides",
    "tests",
    "impact",
    "outline",
    "connection",
    "cycles",
    "unused",
]
"""`definition` includes signatures, `connection` is a path between two subjects; `cycles` and `unused` may
have no subject."""

RELATIONS: tuple[Relation, ...] = get_args(Relation)
