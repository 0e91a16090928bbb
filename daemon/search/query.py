"""A search: the question as a caller asks it, its hits, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, field

from ..graph.records import Certainty
from ..index.records import StoredChunk
from ..languages.shared.records import Symbol
from .filters import EVERYTHING, Filter

IN_TRACE, FAILED_TEST = "in the stack trace", "failed test"
"""The reasons of a definition that a pasted failure names."""


class FoundDefinition(Struct, frozen=True):
    """A definition, or lines outside of any definition, that the asker may need.

    `first` and `last` are its lines, from 1, both inclusive. A definition that contains others ends before
    the first of them. `probability` (0 to 1) is the probability that it is needed, and `reasons` name
    the features that add most to it."""

    path: str
    symbol: Symbol | None
    first: int
    last: int
    probability: float
    reasons: Sequence[str] = ()

    @property
    def is_pasted(self) -> bool:
        """Whether a pasted failure names its place, so that it is no guess among others."""
        return IN_TRACE in self.reasons or FAILED_TEST in self.reasons


class Hit(Struct, frozen=True):
    """The best place of a file for a question.

    - `chunk`: that place; `more`: other places of the file that are nearly as good, best first.
    - `score`: between 0 and 1, comparable within one answer.
    - `sources`: the rank of the chunk, from 1, in each list that has it (`tree`, `vector`, `lexical`).
    - `why`: the reasons for the file, in words.
    - `probability`: the probability that the file answers the question; `reasons`: the features that rank it
      before others. Only the first hits have both.

    In a graph answer:

    - `line`: the line of the reference, 0 for none; `certainty`: resolved through imports, or by name alone.
    - `via`: the file or name between the place and the subject of the question.
    - `node`: the definition at the place, or around the reference; None for the file itself.
    - `steps`: the node ids on the way from the node to the subject.
    - `reference`: the path and line of the reference if it is in another place.
    """

    chunk: StoredChunk
    score: float
    sources: Mapping[str, int] = field(default_factory=dict)
    more: Sequence[StoredChunk] = ()
    line: int = 0
    certainty: Certainty = ""
    via: str = ""
    why: Sequence[str] = ()
    node: Symbol | None = None
    steps: Sequence[str] = ()
    reference: tuple[str, int] | None = None
    definitions: Sequence[FoundDefinition] = ()
    probability: float = 0.0
    reasons: Sequence[str] = ()
    is_beyond: bool = False
    """Whether it lies outside of the place that the question names."""

    @property
    def path(self) -> str:
        """The path of the file, relative to the root."""
        return self.chunk.path

    @property
    def node_id(self) -> str:
        """The node id of the place: of the definition or section that contains it, otherwise of the file."""
        symbol = self.node.name if self.node is not None else "" if self.certainty else self.chunk.symbol
        return f"{self.path}#{symbol}" if symbol else self.path


Route = Literal["structural", "positional", "semantic", "hybrid"]
"""`structural` questions ask for an edge of the code graph. `positional` questions search in a definite
place. `semantic` questions ask in words for behaviour, reasons or concepts. All others, and mixtures, are
`hybrid`."""

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

NEED_MIN: Final = 0.3
"""Minimum probability that a prompt needs code; below it no search results are sent. It is low because
withholding needed code is worse than naming a few places: of the prompts of benchmarks/silence that were left
out of the fit, .86 of those that need nothing lie below it, and .02 of the tasks in a project that they are
about."""

NEED_SURE: Final = 0.6
"""Minimum probability that a prompt needs code for definitions to be sent whole; from `NEED_MIN` on only
likely places are named. Of the prompts that need nothing .96 lie below it, and .10 of the tasks."""


class Need(Struct, frozen=True):
    """The probability (0 to 1) that a prompt needs code, and the reason in words.

    It allows one of three: nothing, likely places in a line each (`is_probable`), or definitions whole
    (`is_sure`). `hint` is a text to send if no search results are sent, or ""."""

    probability: float
    reason: str
    hint: str = ""

    @property
    def is_probable(self) -> bool:
        """Whether the search results for the prompt are worth their tokens."""
        return self.probability >= NEED_MIN

    @property
    def is_sure(self) -> bool:
        """Whether definitions are worth sending whole, and not only as likely places."""
        return self.probability >= NEED_SURE


GRAPH_PLACES: Final = 200
"""Maximum number of places of a graph answer for an agent: a line each, some 5,000 tokens in all."""


class SearchQuery(Struct, frozen=True):
    """A question about a project. `route` forces a route, None lets the words decide. `limit` counts files.

    With `for_agent` (the number of places to show, of the graph's `GRAPH_PLACES`) or `definitions`, hits list
    the definitions that may be needed. With `definitions`, an answer from the graph or from a named place is
    also followed by the results of the lexical and vector search."""

    text: str
    limit: int
    filter: Filter = EVERYTHING
    route: Route | None = None
    min_score: float = 0.0
    first: frozenset[str] = frozenset()
    """Files of the scope that asks. Their hits come before all others."""
    recent: tuple[str, ...] = ()
    """Files that were just edited, whose definitions are more probable (`EDITED_ODDS`)."""
    definitions: bool = False
    for_agent: int = 0
    relation: Relation | None = None
    """If set, only the graph answers, with this relation of the names in the text."""

    @property
    def graph_limit(self) -> int:
        """The maximum number of places in an answer of the graph, which an agent needs completely."""
        return max(self.limit, GRAPH_PLACES) if self.for_agent else self.limit


class DescribedHits(NamedTuple):
    """Hits in the form of the reply, and the files that changed since they were indexed (`describe_hits`)."""

    results: list[dict[str, Any]]
    stale: list[str]


class SearchResult(Struct, frozen=True):
    """The hits for a question, best first, and how they were found. `hint` says what to do if there are none.

    `need` is the probability that the prompt needs code, None if unknown or if no definitions were requested.
    `near` says that the name which was asked for is unknown, and the hits have one that is spelled alike.
    """

    hits: tuple[Hit, ...]
    intent: str
    route: str
    evidence: tuple[str, ...]
    degraded: tuple[str, ...]
    hint: str = ""
    need: Need | None = None
    near: bool = False


NOTHING_FOUND = SearchResult((), "hybrid", "hybrid", (), ())
