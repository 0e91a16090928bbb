"""Owns the turn: what an agent did between two messages of its user, and which of its statements hold."""

from __future__ import annotations

from dataclasses import field

from ..core.lazy_dataclass import dataclass
from .candidates import Candidate
from .evidence import CAUSE
from .folding import say_the_same, telling_words
from .outcomes import Check
from .statements import complains

_FEW_WORDS = 3
"""A user who says less asks for nothing new."""


@dataclass(slots=True)
class Turn:
    """What happened since the user spoke."""

    number: int = 0
    edited: dict[str, None] = field(default_factory=dict)
    changed: bool = False
    taken_back: tuple[str, ...] = ()
    """What git took back last."""
    check: Check | None = None
    """The last one since the last edit."""
    candidates: list[Candidate] = field(default_factory=list)
    open: list[Candidate] = field(default_factory=list)
    """Those of the last thing said, to which the edits that follow belong."""
    reported: bool = False
    source_edited: bool = False
    """Files were edited that hold neither tests nor prose."""
    complaint: bool = False
    """The user asked about a fault."""
    asked: frozenset[str] = frozenset()
    """Words of what the user asked."""

    def ask(self, text: str, before: tuple[frozenset[str], bool]) -> None:
        """Remember what the user asks; `continue` asks for what was asked before."""
        words = telling_words(text)
        self.asked, self.complaint = (words, complains(text)) if len(words) >= _FEW_WORDS else before

    def settle(self) -> None:
        """Drop what was said on the way and isn't borne out by what came next; of causes said at once keep
        the best."""
        for candidate in self.open:
            candidate.settle()
        causes = [one for one in self.open if one.statement.kind == "cause"]
        weak = [one for one in causes if one.statement.needs]
        best = max(weak, key=lambda one: one.weight, default=None) if len(weak) == len(causes) else None
        dropped = {id(one) for one in weak if one is not best and not one.take_otherwise()}
        self.candidates = [
            one
            for one in self.candidates
            if id(one) not in dropped and (one.is_borne_out or one.voice != "narration")
        ]

    def drop_announced(self, text: str, *, at_once: bool) -> None:
        """Forget what was announced in this turn and a later text gives up, which names it or comes next."""
        words = telling_words(text)
        last = {id(one) for one in self.open}
        self.candidates = [
            one
            for one in self.candidates
            if one.statement.kind != "choice"
            or not (
                (one.statement.needs_change and say_the_same(one.words, words, 0.4))
                or (
                    (one.statement.needs_change or one.statement.needs)
                    and id(one) in last
                    and (at_once or say_the_same(one.words, words, 0.2, 2))
                )
            )
        ]


def judge(candidate: Candidate, check: Check | None) -> None:
    """Set a candidate's outcome by the last check after the edits, and by what it says itself."""
    kind = candidate.statement.kind
    if kind == "standing":
        return
    if kind == "undone":
        candidate.outcome, candidate.error = "reverted", ""
    elif kind == "attempt" and not candidate.statement.replaced:
        candidate.outcome = "reverted" if candidate.statement.removed else "failure"
        candidate.error = "" if candidate.statement.removed else candidate.error
    elif check:
        candidate.outcome, candidate.error = ("success", "") if check.passed else ("failure", check.error)
    else:
        candidate.error = ""


def with_one_cause(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates of a turn without the causes that it found on the way to the last one, or to those
    that its report names. One on the way stays if it led to an edit and no check failed on that."""
    causes = [one for one in candidates if one.statement.kind == "cause"]
    reported = [one for one in causes if one.voice == "report"]
    mended = [one for one in causes if one.scene.edited_next and not one.refuted]
    if reported:  # a report may leave out what it mended first
        wanted = reported + [one for one in mended if one.statement.evidence[0] == CAUSE]
    else:
        wanted = mended + causes[-1:]
    return [
        one for one in candidates if one.statement.kind != "cause" or any(one is other for other in wanted)
    ]
