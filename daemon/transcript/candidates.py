"""Owns the candidates: statements with what happened around them, those that say the same, and the best."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from operator import attrgetter

from ..core.lazy_dataclass import dataclass
from ..experience.experience import OutcomeKind
from .entry import Entry
from .folding import joined_outcome, say_the_same, telling_words
from .scene import Scene
from .statement import Statement, Voice

MAX_CANDIDATES = 48
"""So many of one conversation are kept while it is read, six times what is told in the end."""
_SHARE_IN_A_TURN, _LEAST_IN_A_TURN = 0.3, 2
"""A report says again what was said on the way, in other words; between reports more must be shared. Told
twice it would be wrong once, so little is asked for."""
_SHARE_IF_WEAK = 0.45
_CAPTION = 3
"""So few telling words only name what was said in more."""


@dataclass(slots=True)
class Candidate:
    """A statement, where it stands, and what happened since; it changes while the transcript is read."""

    statement: Statement
    voice: Voice
    turn: int
    entry: Entry
    """The record without its text."""
    files: tuple[str, ...] = ()
    near: list[str] = field(default_factory=list)
    """Files that were edited right after it was said, at most `MAX_FILES` of them matter."""
    outcome: OutcomeKind = ""
    error: str = ""
    confirmed: bool = False
    """Files changed after it was said."""
    evidence: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    scene: Scene = field(default_factory=Scene)
    refuted: bool = False
    """Of a cause: a check failed after what was done about it."""

    @property
    def is_borne_out(self) -> bool:
        """Whether what happened around it adds what its words don't say."""
        statement = self.statement
        if not statement.needs:
            return True
        found = {
            "cause": self.scene.for_cause,
            "attempt": self.scene.for_attempt,
        }.get(statement.kind, lambda: self.scene.for_choice(describes=statement.describes))()
        return found >= statement.needs

    def settle(self) -> None:
        """Take it for the other thing that it may be, if only that is borne out."""
        if not self.is_borne_out:
            self.take_otherwise()

    def take_otherwise(self) -> bool:
        """Take it for the other thing that it may be, if that is borne out; return whether it is."""
        before, other = self.statement, self.statement.otherwise
        if other is None:
            return False
        self.statement = other
        if self.is_borne_out:
            return True
        self.statement = before
        return False

    @property
    def weight(self) -> float:
        """How much speaks for it."""
        return self.statement.weight + 0.5 * len(self.evidence)


def candidate_of(statement: Statement, voice: Voice, turn: int, entry: Entry) -> Candidate:
    """Return a candidate of which nothing but its statement is known yet."""
    words = telling_words(statement.decision)
    return Candidate(statement, voice, turn, replace(entry, text=""), words=words)


def folded(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates, each thing that is said once: in the best words, with the last outcome."""
    kept: list[Candidate] = []
    for candidate in candidates:
        for at, other in enumerate(kept):
            if _same(other, candidate):
                kept[at] = _merged(other, candidate)
                break
        else:
            kept.append(candidate)
    return kept


def best(candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the candidates with the most evidence, in their order; of equal ones the later."""
    order = {id(candidate): at for at, candidate in enumerate(candidates)}
    chosen = heapq.nlargest(limit, candidates, key=lambda one: (one.weight, order[id(one)]))
    return sorted(chosen, key=lambda one: order[id(one)])


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in the order of the transcript."""
    return sorted(candidates, key=attrgetter("entry.line"))


def _same(one: Candidate, other: Candidate) -> bool:
    if {one.statement.kind, other.statement.kind} == {"cause", "choice"}:
        return say_the_same(one.words, other.words, 0.8)
    if "standing" in (kinds := {one.statement.kind, other.statement.kind}) and kinds & {"attempt", "undone"}:
        return False  # what the user holds, and what was taken back for it
    if (one.statement.kind == "attempt") != (other.statement.kind == "attempt") and not (
        one.statement.replaced or other.statement.replaced
    ):
        return say_the_same(one.words, other.words)  # what came instead speaks of the same things
    if one.turn == other.turn and "narration" in (one.voice, other.voice) and one.voice != other.voice:
        return say_the_same(_all_words(one), _all_words(other), _SHARE_IN_A_TURN, _LEAST_IN_A_TURN)
    if one.turn == other.turn and (one.statement.needs or other.statement.needs):
        return say_the_same(_all_words(one), _all_words(other), _SHARE_IF_WEAK)
    return say_the_same(one.words, other.words)


def _all_words(candidate: Candidate) -> frozenset[str]:
    return candidate.words | telling_words(candidate.statement.rationale)


def _merged(one: Candidate, other: Candidate) -> Candidate:
    """Return the better of two that say the same, with what is known of either."""
    better, worse = (other, one) if other.weight >= one.weight else (one, other)
    if not better.statement.rationale and len(better.words) <= _CAPTION and len(worse.words) > _CAPTION:
        better.statement = replace(worse.statement, weight=better.statement.weight)
    better.files = better.files or worse.files
    better.outcome = joined_outcome(one.outcome, other.outcome)
    better.error = other.error or one.error if better.outcome == "failure" else ""
    better.evidence = tuple(dict.fromkeys((*better.evidence, *worse.evidence)))
    if not better.statement.rationale:
        better.statement = replace(better.statement, rationale=worse.statement.rationale)
    return better
