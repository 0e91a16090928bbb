"""Candidates for decisions: statements with the events around them, merged if they say the same."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.vocabulary import words
from ..memory.records import OutcomeKind
from .decision_score import LEAST, probability_of
from .entry import TranscriptEntry
from .sentences import Voice
from .statements import Statement

MAX_CANDIDATES = 48
"""Maximum candidates of a conversation while it is read, six times the number of findings."""


class Candidate(Struct):
    """A statement, its position and the events since; it changes while the transcript is read."""

    statement: Statement
    voice: Voice
    turn: int
    entry: TranscriptEntry
    """The record without its text."""
    words: frozenset[str]
    events: set[str] = field(default_factory=set)
    """The events around it, as evidence; see decision_score.py."""
    files: tuple[str, ...] = ()
    near: list[str] = field(default_factory=list)
    """Files edited right after the statement, of which at most `MAX_FILES` matter."""
    outcome: OutcomeKind = ""
    error: str = ""
    confirmed: bool = False
    """Files changed after the statement."""

    @property
    def probability(self) -> float:
        """The probability that it is a decision; a user's standing decision is one."""
        return probability_of(self.statement.kind, self.statement.features | self.events)

    @property
    def sums_up(self) -> bool:
        """Whether it is part of a report, which restates the narration."""
        return self.voice != "narration" or "listed" in self.statement.features

    @property
    def is_likely(self) -> bool:
        """Whether its evidence is enough."""
        return self.probability >= LEAST


def candidate_of(statement: Statement, voice: Voice, turn: int, entry: TranscriptEntry) -> Candidate:
    """Return a new candidate for a statement."""
    return Candidate(statement, voice, turn, replace(entry, text=""), telling_words(statement.decision))


def without_overlaps(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates without those that share a sentence with a more probable one, in order."""
    taken: set[tuple[int, int]] = set()
    kept: set[int] = set()
    for candidate in sorted(candidates, key=attrgetter("probability"), reverse=True):
        places = {(candidate.entry.line, place) for place in candidate.statement.places}
        if not places & taken:
            taken |= places
            kept.add(id(candidate))
    return [candidate for candidate in candidates if id(candidate) in kept]


def folded(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates with duplicates merged: the best words, the last outcome."""
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
    """Return the most probable candidates in their order; the later of equal ones."""
    ranked = heapq.nlargest(limit, enumerate(candidates), key=lambda pair: (pair[1].probability, pair[0]))
    return [candidate for _, candidate in sorted(ranked, key=lambda pair: pair[0])]


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in the order of the transcript."""
    return sorted(candidates, key=attrgetter("entry.line"))


_SHARED = 0.6
"""Minimum share of the shorter text's words in the other text for both to mean the same. Restatements in a
report share 0.6 to 1 with the earlier text, two decisions about one file up to 0.45."""
_LEAST = 3
_SHARE_IN_A_TURN, _LEAST_IN_A_TURN = (0.3, 0.45), 2
"""The same within a turn, where a report restates the narration in other words: of one kind, of two kinds."""
_SHARE_OF_CAUSES = 0.15


def telling_words(text: str) -> frozenset[str]:
    """Return the stems of a text's uncommon words; of Chinese and Japanese the pairs of characters."""
    found = re.findall(r"[^\W_\u3041-\u9fff]+", text.lower())
    stems = {_stem(word) for word in found if (len(word) > 2 or word.isdigit()) and word not in _COMMON}
    return frozenset(stems.union(re.findall(r"(?=([\u3041-\u9fff]{2}))", text)))


def _stem(word: str) -> str:
    """Return a word without its ending, roughly: enough to match `rows` and `row`."""
    shorter = re.sub(r"(?<=\w{3})(?:ing|ed|es|s)$", "", word)
    return shorter[:6].rstrip("e")


def say_the_same(
    first: frozenset[str], second: frozenset[str], share: float = _SHARED, least: int = _LEAST
) -> bool:
    """Whether two texts share `share` of their telling words, and at least `least` of them."""
    shorter = min(len(first), len(second))
    shared = len(first & second)
    return shared >= min(least, shorter) and bool(shorter) and shared >= share * shorter


_COMMON = words(
    "the and for with that this was were has have had not but because since instead rather than over chose"
    " chosen decided went use used using now from into they them its our are would could which when then also"
    " only just kept keep made make more less each all any there root cause"
)


def _same(first: Candidate, second: Candidate) -> bool:
    kinds = {first.statement.kind, second.statement.kind}
    if kinds == {"standing", "attempt"}:
        return False  # a user's standing decision, and what was undone for it
    if first.turn == second.turn and first.sums_up != second.sums_up:
        share = _SHARE_OF_CAUSES if kinds == {"cause"} else _SHARE_IN_A_TURN[len(kinds) - 1]
        return say_the_same(_all_words(first), _all_words(second), share, _LEAST_IN_A_TURN)
    return say_the_same(first.words, second.words, 0.8 if kinds == {"cause", "choice"} else _SHARED)


def _all_words(candidate: Candidate) -> frozenset[str]:
    return candidate.words | telling_words(candidate.statement.rationale)


def _merged(earlier: Candidate, later: Candidate) -> Candidate:
    """Return the better of two candidates that say the same, with the facts of both."""
    better, worse = (later, earlier) if later.probability >= earlier.probability else (earlier, later)
    better.files = better.files or worse.files
    better.outcome = later.outcome or earlier.outcome  # the later outcome, unless it has none
    better.error = later.error or earlier.error if better.outcome == "failure" else ""
    return better
