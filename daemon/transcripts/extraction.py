"""Owns the extraction: entries go in, in one pass, and the decisions that stand in them come out.

Precision comes first, since a wrong decision misleads every later reader: what isn't evident is left out. It
knows no file and no host's format.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol

from msgspec import Struct

from ..memory.experience import OutcomeKind
from ..privacy.low_trust import suspicions
from .candidates import Candidate, best, folded, in_order
from .conversation import Conversation
from .entry import Entry

MAX_FINDINGS = 8
"""The best of a transcript; sessions of a day hold three to six decisions worth telling a colleague."""
MAX_SPEAKERS = 32
"""So many agents of one transcript are followed at once; the longest silent one is concluded before."""


class Finding(Struct, frozen=True):
    """A decision that stands in a transcript, or the cause of a fault, or what was given up.

    `files` are paths as the host wrote them, `line` the record that states it, `evidence` says in words why
    it was taken, `trust` is low where the text steers its reader. Secrets are not masked yet.
    """

    decision: str
    rationale: str
    files: tuple[str, ...]
    outcome: OutcomeKind
    error: str
    line: int
    at: str
    evidence: tuple[str, ...]
    trust: Literal["normal", "low"]
    agent_id: str
    session_id: str


class Extractor(Protocol):
    """Whoever finds decisions in entries: `extract`, or a model for which it is the fallback."""

    def __call__(self, entries: Iterable[Entry]) -> list[Finding]:
        """Return the decisions in entries, oldest first."""


def extract(entries: Iterable[Entry]) -> list[Finding]:
    """Return at most `MAX_FINDINGS` decisions, in the order of the transcript, the best by their evidence.

    Memory is bounded by what is kept of a turn, whatever the number of entries.
    """
    speakers: dict[str, Conversation] = {}
    candidates: list[Candidate] = []
    for entry in entries:
        name = entry.agent_id if entry.sidechain else ""
        conversation = speakers.pop(name, None) or Conversation()
        speakers[name] = conversation  # the last one spoke last
        conversation.add(entry)
        if len(speakers) > MAX_SPEAKERS:
            silent = speakers.pop(next(iter(speakers)))
            candidates = best([*candidates, *silent.conclude()], MAX_FINDINGS)
    for conversation in speakers.values():
        candidates += conversation.conclude()
    return [_finding(candidate) for candidate in in_order(best(folded(in_order(candidates)), MAX_FINDINGS))]


def _finding(candidate: Candidate) -> Finding:
    statement, entry = candidate.statement, candidate.entry
    steers = suspicions(f"{statement.decision}\n{statement.rationale}")
    return Finding(
        statement.decision,
        statement.rationale,
        candidate.files,
        candidate.outcome,
        candidate.error,
        entry.line,
        entry.at,
        (*statement.evidence, *candidate.evidence),
        "low" if steers else "normal",
        entry.agent_id,
        entry.session_id,
    )
