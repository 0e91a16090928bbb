"""What a search has found before the vector search answers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from .candidates import Candidates
from .filters import Filter
from .query import Hit, Need, Route
from .question import Question


class GatheredCandidates(Struct, frozen=True):
    """A question with its route and its candidates before the vector search.

    `intent` is the route that the question's words ask for, `route` the route that is taken. `answer` has the
    final hits, None if the candidates must be ranked. `files` are the ids of the files to search, None for
    all. `degraded` says which index could not be asked and why. `lexical_damaged` says that the lexical index
    must be rebuilt, `narrowed` that the question's own words limited the search to a part of the project.
    """

    question: Question
    intent: Route
    route: Route
    evidence: tuple[str, ...]
    filter: Filter
    candidates: Candidates
    rarity: Mapping[str, float]
    files: tuple[int, ...] | None
    answer: tuple[Hit, ...] | None = None
    degraded: tuple[str, ...] = ()
    lexical_damaged: bool = False
    narrowed: bool = False
    names: tuple[str, ...] = ()
    """Names that the graph doesn't have and that are searched as text; `used` if their uses are wanted."""
    used: bool = False
    unlinked: tuple[str, ...] = ()
    """Names that the answer is about and whose files may not be linked yet."""
    need: Need | None = None
    """The probability that the question needs code, if requested (see `with_need`)."""
