"""Owns the hit: one result of a question, with where it stood in each list and why it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..index.chunk_table import StoredChunk

Certainty = Literal["", "resolved", "name"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A file's best place for a question.

    `chunk` is that place, `more` are others of the file that are nearly as good, best first. `score` is
    between 0 and 1 and comparable within one answer. `sources` gives the rank of the chunk in each list that
    has it (`tree`, `vector`, `lexical`), from 1. `line` is the line of a reference that answers a structural
    question, 0 for none, and `certainty` how sure that is: through imports, or by the name alone; `via` is
    the file or name that it leads through. `why` says in words what speaks for the file.
    """

    chunk: StoredChunk
    score: float
    sources: Mapping[str, int] = field(default_factory=dict)
    more: Sequence[StoredChunk] = ()
    line: int = 0
    certainty: Certainty = ""
    via: str = ""
    why: Sequence[str] = ()

    @property
    def path(self) -> str:
        """The file."""
        return self.chunk.path

    @property
    def node_id(self) -> str:
        """The node id of the place: the definition or section that it is, or the file."""
        symbol = self.chunk.symbol
        return f"{self.path}#{symbol}" if symbol else self.path
