"""Owns the statement: a decision as a sentence states it, and the sentence among its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..core.lazy_dataclass import dataclass
from .phrases import Phrases
from .report import Sentence

Voice = Literal["report", "narration", "summary", "user"]
"""Who speaks when: the agent at the end of a turn, on the way, in a compaction's summary, or the user."""
Kind = Literal["choice", "cause", "attempt", "undone", "standing"]
"""What was chosen, caused a fault, was tried and given up, was taken back, or what the user holds."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A decision as a sentence states it, or two. `evidence` says in words why it was taken for one, `weight`
    how much that is: 2 is one good reason, and each further one adds 0.5 to 2."""

    kind: Kind
    decision: str
    rationale: str
    evidence: tuple[str, ...]
    weight: float
    needs_change: bool = False
    """It was announced: counts only if files changed after it was said."""
    source: str = ""
    """All that was said, which may name files that the decision doesn't."""
    replaced: bool = False
    """Of an attempt: it also says what was done instead."""
    removed: bool = False
    """Of an attempt: it says that it was taken out again."""
    describes: bool = False
    """It says how something is; counts only where source files were edited."""
    needs: int = 0
    """So many signals must lie in what happened around it; none where its words are enough."""
    otherwise: Statement | None = None
    """What else it may be, where what happened around it doesn't bear it out."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence that is read, by its place in its block."""

    block: Sequence[Sentence]
    at: int
    voice: Voice
    phrases: Phrases

    @property
    def sentence(self) -> Sentence:
        """The sentence itself."""
        return self.block[self.at]

    @property
    def before(self) -> Sentence | None:
        """The sentence before it."""
        return self.block[self.at - 1] if self.at else None

    @property
    def after(self) -> Sentence | None:
        """The sentence behind it."""
        return self.block[self.at + 1] if self.at + 1 < len(self.block) else None

    @property
    def is_reported(self) -> bool:
        """Whether it was said when the work was done, not on the way."""
        return self.voice != "narration"
