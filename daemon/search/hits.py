"""Owns the hit: one result of a question, with where it stood in each list and why it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from ..index.chunk_table import StoredChunk
from ..project.tree import Symbol

Certainty = Literal["", "resolved", "name"]


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
    the file or name that it leads through. `why` says in words what speaks for the file.

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

    @property
    def path(self) -> str:
        """The file."""
        return self.chunk.path

    @property
    def node_id(self) -> str:
        """The node id of the place: the definition or section that it is or stands in, or the file."""
        symbol = self.node.name if self.node is not None else "" if self.certainty else self.chunk.symbol
        return f"{self.path}#{symbol}" if symbol else self.path
