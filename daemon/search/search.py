"""A search as it is asked for, and what it came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from .filters import EVERYTHING, Filter
from .hits import Hit
from .routes import Relation, Route

if TYPE_CHECKING:
    from .need import Need


class SearchQuery(Struct, frozen=True):
    """A question to a project. `route` forces one, None leaves the choice; `limit` counts files.

    With `for_agent`, which counts the places that are shown, hits say which of their definitions may be
    needed. With `definitions` they do as well, and an answer of the graph or of a place is followed by what
    words and meaning find."""

    text: str
    limit: int
    filter: Filter = EVERYTHING
    route: Route | None = None
    min_score: float = 0.0
    first: frozenset[str] = frozenset()
    """Files of the scope that asks: their hits come before all others."""
    definitions: bool = False
    for_agent: int = 0
    relation: Relation | None = None
    """With one the graph alone answers, with that relation of what the text names."""


class DescribedHits(NamedTuple):
    """Hits as clients see them, and the files that aren't what was found in them any more, see
    `describe_hits`."""

    results: list[dict[str, Any]]
    stale: list[str]


class SearchResult(Struct, frozen=True):
    """The hits of a question, best first, and how they came about. `hint` says what to do about nothing.

    `told` is what clients see of them, where that was asked for and the graph had the answer; else None.
    `need` is that of the code, for who asks for definitions, None where it can't be known.
    """

    hits: tuple[Hit, ...]
    intent: str
    route: str
    evidence: tuple[str, ...]
    degraded: tuple[str, ...]
    hint: str = ""
    told: DescribedHits | None = None
    need: Need | None = None


NOTHING_FOUND = SearchResult((), "hybrid", "hybrid", (), ())
