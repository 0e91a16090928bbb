"""A search: the question as a caller asks it, its hits, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from msgspec import Struct, field

from ..graph.found import Certainty
from ..index.chunk_table import StoredChunk
from ..languages.shared.records import Symbol
from .filters import EVERYTHING, Filter


class FoundDefinition(Struct, frozen=True):
    """A definition, or lines outside of any, that may be what is asked for. `first` and `last` are its lines,
    from 1, both inclusive; of one that holds others the lines above the first of these. `probability` is that
    of being needed, 0 to 1; `reasons` name the features that speak most for it."""

    path: str
    symbol: Symbol | None
    first: int
    last: int
    probability: float
    reasons: Sequence[str] = ()


class Hit(Struct, frozen=True):
    """A file's best place for a question.

    `chunk` is that place, `more` are others of the file that are nearly as good, best first. `score` is
    between 0 and 1 and comparable within one answer. `sources` gives the rank of the chunk in each list that
    has it (`tree`, `vector`, `lexical`), from 1. `line` is the line of a reference that answers a structural
    question, 0 for none, and `certainty` how sure that is: through imports, or by the name alone; `via` is
    the file or name that it leads through. `why` says in words what speaks for the file; `probability` that
    it answers the question and `reasons`, which features set it before others, are known of the first few.

    Where the graph gave the answer, `node` is the definition that stands there, or around the line of the
    reference, None for the file itself; `steps` are the node ids that lead from there to what was asked
    about, and `reference` is the path and line of the reference where that stands elsewhere.
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

    @property
    def path(self) -> str:
        """The file."""
        return self.chunk.path

    @property
    def node_id(self) -> str:
        """The node id of the place: the definition or section that it is or stands in, or the file."""
        symbol = self.node.name if self.node is not None else "" if self.certainty else self.chunk.symbol
        return f"{self.path}#{symbol}" if symbol else self.path


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

NEED_MIN: Final = 0.25
"""A prompt that needs the code with less probability gets nothing of it. Low, since to withhold what is
needed is worse than to send what isn't: of the prompts of benchmarks/silence below it .98 need nothing, in
sets left out of the fit."""

NEED_SURE: Final = 0.75
"""A prompt that needs the code with this probability gets the best place, however improbable that is."""


class Need(Struct, frozen=True):
    """How probable it is that a prompt needs anything of the code (0 to 1), why, in words, and what to send
    instead where it probably doesn't, empty for nothing."""

    probability: float
    reason: str
    hint: str = ""

    @property
    def is_probable(self) -> bool:
        """Whether what was found for the prompt is worth its tokens."""
        return self.probability >= NEED_MIN

    @property
    def is_sure(self) -> bool:
        """Whether something is to be shown though no place is probable."""
        return self.probability >= NEED_SURE


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

    `described` is what clients see of them, None where that wasn't asked for or others may follow.
    `need` is that of the code, for who asks for definitions, None where it can't be known.
    """

    hits: tuple[Hit, ...]
    intent: str
    route: str
    evidence: tuple[str, ...]
    degraded: tuple[str, ...]
    hint: str = ""
    described: DescribedHits | None = None
    need: Need | None = None


NOTHING_FOUND = SearchResult((), "hybrid", "hybrid", (), ())
