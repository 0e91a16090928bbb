"""Candidates for decisions: statements with the events around them, merged if they say the same."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec import Struct, field
from msgspec.structs import replace

from ..memory.experience import OutcomeKind
from .cues import words
from .entry import Entry
from .outcomes import is_prose_file
from .report import Voice
from .statements import Statement


class Scene(Struct):
    """The events around a statement; later events are added when they come."""

    tried: bool = False
    """Source files were edited earlier in this turn."""
    just_edited: bool = False
    """Source files were edited since the agent's previous words."""
    ran: bool = False
    """A command was run since the last edit, or failed."""
    repairing: bool = False
    """A check failed on the latest edits: a fault found now is a fault of the current work."""
    complaint: bool = False
    """The user asked about a fault."""
    on_the_point: bool = False
    """The statement is about what the user asked."""
    as_asked: bool = False
    """The statement repeats the user's request."""
    edited_next: bool = False
    """Source files were edited before the agent spoke again."""
    taken_back_next: bool = False
    """Git reverted files before the agent spoke again."""
    reported: bool = False
    """The statement was made when the work was done."""

    def for_choice(self, *, describes: bool) -> int:
        """Return the evidence for a choice: 0 if no source was edited next to it."""
        if self.reported:
            return int(self.tried and not self.as_asked)
        if describes:  # just made, or else found
            return 2 * int(self.just_edited)
        return int(self.edited_next) + int(self.just_edited)

    def for_cause(self) -> int:
        """Return the evidence for the cause of a fault: 0 if it led to no edit."""
        if self.repairing or not (self.tried if self.reported else self.edited_next):
            return 0
        if not self.complaint and not (self.tried and self.ran):
            return 0  # no fault is known
        first = self.complaint and not self.tried  # words before the first edit explain the fault
        return 1 + int(self.complaint) + int(self.complaint and self.on_the_point) + int(first)

    def for_attempt(self) -> int:
        """Return the evidence for an abandoned attempt: 0 if nothing was tried."""
        if not self.tried or not (self.edited_next or self.taken_back_next or self.reported):
            return 0
        return 1 + int(self.taken_back_next) + int(self.ran)


def is_source(paths: Sequence[str]) -> bool:
    """Whether any edited file holds neither tests nor prose; true if no path is known."""
    return not paths or any(not is_prose_file(path) and not re.search(_TESTS, path) for path in paths)


_TESTS = (
    r"(?i)(?:^|[/\\])(?:tests?|specs?|__tests__|__snapshots__|fixtures?|testdata|mocks?|e2e|golden)[/\\]"
    r"|(?:^|[/\\])(?:test_|conftest)[^/\\]*$|[._-](?:tests?|spec|snap|golden|stories)\.[^/\\]*$"
    r"|(?:Test|Tests|Spec|IT)\.(?:java|kt|swift|scala|cs|php)$|(?:lock|\.lock|lock\.json|lock\.yaml|\.sum)$"
)


_SHARED = 0.6
"""Minimum share of the shorter text's words in the other text for both to mean the same. Restatements in a
report share 0.6 to 1 with the earlier text, two decisions about one file up to 0.45."""
_LEAST = 3


def telling_words(text: str) -> frozenset[str]:
    """Return the stems of a text's uncommon words; of Chinese and Japanese the pairs of characters."""
    found = re.findall(r"[^\W_\u3041-\u9fff]+", text.lower())
    stems = {_stem(word) for word in found if (len(word) > 2 or word.isdigit()) and word not in _COMMON}
    return frozenset(stems.union(re.findall(r"(?=([\u3041-\u9fff]{2}))", text)))


def _stem(word: str) -> str:
    """Return a word without its ending, roughly: enough to match `rows` and `row`."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:6].rstrip("e")


def say_the_same(
    first: frozenset[str], second: frozenset[str], share: float = _SHARED, least: int = _LEAST
) -> bool:
    """Whether two texts share `share` of their telling words, and at least `least` of them."""
    shorter = min(len(first), len(second))
    shared = len(first & second)
    return shared >= min(least, shorter) and bool(shorter) and shared >= share * shorter


_COMMON = words(
    """
    the and for with that this was were has have had not but because since instead rather than over chose
    chosen decided went used use using now from into they them its our are would could which when then also
    only just kept keep made make more less each all any there root cause
    """
)


MAX_CANDIDATES = 48
"""Maximum candidates of a conversation while it is read, six times the number of findings."""
_SHARE_IN_A_TURN, _LEAST_IN_A_TURN = 0.3, 2
"""Minimum share and number of common words within a turn: a report restates the narration in other words."""
_SHARE_IF_WEAK = 0.45
_CAPTION = 3
"""Maximum telling words of a caption, which only names a longer statement."""


class Candidate(Struct):
    """A statement, its position and the events since; it changes while the transcript is read."""

    statement: Statement
    voice: Voice
    turn: int
    entry: Entry
    """The record without its text."""
    files: tuple[str, ...] = ()
    near: list[str] = field(default_factory=list)
    """Files edited right after the statement, of which at most `MAX_FILES` matter."""
    outcome: OutcomeKind = ""
    error: str = ""
    confirmed: bool = False
    """Files changed after the statement."""
    evidence: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    scene: Scene = field(default_factory=Scene)
    refuted: bool = False
    """For a cause: a check failed after its repair."""

    @property
    def is_borne_out(self) -> bool:
        """Whether the surrounding events add the evidence that the words lack."""
        statement = self.statement
        if not statement.needs:
            return True
        found = {
            "cause": self.scene.for_cause,
            "attempt": self.scene.for_attempt,
        }.get(statement.kind, lambda: self.scene.for_choice(describes=statement.describes))()
        return found >= statement.needs

    def settle(self) -> None:
        """Switch to the alternative statement if it is the only one that events confirm."""
        if not self.is_borne_out:
            self.take_otherwise()

    def take_otherwise(self) -> bool:
        """Switch to the alternative statement if events confirm it; return whether they do."""
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
        """The total evidence."""
        return self.statement.weight + 0.5 * len(self.evidence)


def candidate_of(statement: Statement, voice: Voice, turn: int, entry: Entry) -> Candidate:
    """Return a new candidate for a statement."""
    words = telling_words(statement.decision)
    return Candidate(statement, voice, turn, replace(entry, text=""), words=words)


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
    """Return the candidates with the most evidence, in their order; the later of equal ones."""
    order = {id(candidate): at for at, candidate in enumerate(candidates)}
    chosen = heapq.nlargest(limit, candidates, key=lambda candidate: (candidate.weight, order[id(candidate)]))
    return sorted(chosen, key=lambda candidate: order[id(candidate)])


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in the order of the transcript."""
    return sorted(candidates, key=attrgetter("entry.line"))


def _same(first: Candidate, second: Candidate) -> bool:
    if {first.statement.kind, second.statement.kind} == {"cause", "choice"}:
        return say_the_same(first.words, second.words, 0.8)
    if "standing" in (kinds := {first.statement.kind, second.statement.kind}) and kinds & {
        "attempt",
        "undone",
    }:
        return False  # a user's standing decision, and what was undone for it
    if (first.statement.kind == "attempt") != (second.statement.kind == "attempt") and not (
        first.statement.replaced or second.statement.replaced
    ):
        return say_the_same(first.words, second.words)  # the replacement is about the same things
    if (
        first.turn == second.turn
        and "narration" in (first.voice, second.voice)
        and first.voice != second.voice
    ):
        return say_the_same(_all_words(first), _all_words(second), _SHARE_IN_A_TURN, _LEAST_IN_A_TURN)
    if first.turn == second.turn and (first.statement.needs or second.statement.needs):
        return say_the_same(_all_words(first), _all_words(second), _SHARE_IF_WEAK)
    return say_the_same(first.words, second.words)


def _all_words(candidate: Candidate) -> frozenset[str]:
    return candidate.words | telling_words(candidate.statement.rationale)


def _merged(earlier: Candidate, later: Candidate) -> Candidate:
    """Return the better of two candidates that say the same, with the facts of both."""
    better, worse = (later, earlier) if later.weight >= earlier.weight else (earlier, later)
    if not better.statement.rationale and len(better.words) <= _CAPTION and len(worse.words) > _CAPTION:
        better.statement = replace(worse.statement, weight=better.statement.weight)
    better.files = better.files or worse.files
    better.outcome = later.outcome or earlier.outcome  # the later outcome, unless it has none
    better.error = later.error or earlier.error if better.outcome == "failure" else ""
    better.evidence = tuple(dict.fromkeys((*better.evidence, *worse.evidence)))
    if not better.statement.rationale:
        better.statement = replace(better.statement, rationale=worse.statement.rationale)
    return better
