"""Extraction of decisions from a transcript's entries in one pass, and drafts of experiences.

Precision comes first, since a wrong decision misleads every later reader: uncertain statements are left out.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from msgspec import Struct

from ..memory.records import Draft, OutcomeKind, Provenance
from .activity import Activity
from .candidates import Candidate, best, folded, in_order
from .conversation import AgentConversation
from .cursor import Cursor
from .entry import TranscriptEntry

MAX_FINDINGS = 8
"""Maximum decisions of a transcript; sessions of a day hold three to six that matter to a colleague."""
MAX_SPEAKERS = 32
"""Maximum agents of a transcript followed at once; beyond it the agent silent for the longest is
concluded."""


class MinedDecision(Struct, frozen=True):
    """A decision in a transcript, the cause of a fault, or an abandoned attempt.

    `files` are paths as the host wrote them, `line` the record that states it, Secrets are not
    masked yet.
    """

    decision: str
    rationale: str
    files: tuple[str, ...]
    outcome: OutcomeKind
    error: str
    line: int
    at: str
    agent_id: str
    session_id: str


def extract(entries: Iterable[TranscriptEntry]) -> list[MinedDecision]:
    """Return the `MAX_FINDINGS` decisions with the most evidence, in the order of the transcript.

    Memory is bounded by a turn, whatever the number of entries.
    """
    speakers: dict[str, AgentConversation] = {}
    candidates: list[Candidate] = []
    for entry in entries:
        name = entry.agent_id if entry.sidechain else ""
        conversation = speakers.pop(name, None) or AgentConversation()
        speakers[name] = conversation  # in the order in which they spoke last
        conversation.add(entry)
        if len(speakers) > MAX_SPEAKERS:
            silent = speakers.pop(next(iter(speakers)))
            candidates = best([*candidates, *silent.conclude()], MAX_FINDINGS)
    for conversation in speakers.values():
        candidates += conversation.conclude()
    return [_finding(candidate) for candidate in in_order(best(folded(in_order(candidates)), MAX_FINDINGS))]


def _finding(candidate: Candidate) -> MinedDecision:
    statement, entry = candidate.statement, candidate.entry
    return MinedDecision(
        statement.decision,
        statement.rationale,
        candidate.files,
        candidate.outcome,
        candidate.error,
        entry.line,
        entry.at,
        entry.agent_id,
        entry.session_id,
    )


class Mined(Struct, frozen=True):
    """The result of one reading. `finished`: the agent had the last word. `owner` is the agent whose findings
    they are, if it has an id.

    `skipped` are pairs of an unreadable line and the reason; `skipped_lines` counts those beyond them.
    """

    source: str
    owner: str
    cwd: str
    cursor: Cursor
    findings: tuple[MinedDecision, ...]
    skipped: tuple[tuple[int, str], ...]
    skipped_lines: int
    finished: bool
    activity: tuple[Activity, ...] = ()
    """The files that its agents touched, as the host wrote them."""


def draft_of(
    finding: MinedDecision, mined: Mined, path: str, root: str, agent_id: str, session_id: str
) -> Draft:
    """Return a finding as a draft.

    `path` is the transcript's, `root` the project's. A given agent or session applies to all findings except
    a subagent's inside its parent's transcript. An agent without an id gets its host's name.
    """
    own, at = finding.agent_id in {"", mined.owner}, ""
    with suppress(ValueError):
        at = finding.at if datetime.fromisoformat(finding.at) else ""
    return Draft(
        finding.decision,
        (agent_id if own else "") or finding.agent_id or mined.source,
        session_id or finding.session_id,
        finding.rationale,
        tuple(placed(file, mined.cwd, root) for file in finding.files),
        finding.outcome,
        finding.error,
        at,
        provenance=Provenance(mined.source, f"{path}:{finding.line}"),
    )


def placed(file: str, cwd: str, root: str) -> str:
    """Return a path relative to the project: agents work in its folders, and behind symlinks to it.

    A relative path of a conversation outside the project, such as in a container, stays unchanged.
    """
    if not posixpath.isabs(cwd):
        return file
    base = os.path.realpath(cwd)
    if base != root and not base.startswith(posixpath.join(root, "")):
        return file
    if not posixpath.isabs(file):
        return posixpath.join(base, file)
    inside = posixpath.relpath(posixpath.normpath(file), posixpath.normpath(cwd))
    return file if inside.startswith("../") or inside == ".." else posixpath.join(base, inside)
