"""Owns the experience: its record, its form as a map, and when two count as the same; knows no file.

How one is made of what a caller gives is the draft's.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

OutcomeKind = Literal["", "success", "failure", "reverted"]
Trust = Literal["normal", "low"]
"""`low` is for a text that steers its reader: it is kept and listed, and left out of contexts."""


class Provenance(Struct, frozen=True):
    """Where an experience came from: `client` for a caller's map; `reference` is the place in it, if any."""

    source: str = "client"
    reference: str = ""
    trust: Trust = "normal"


FROM_CLIENT = Provenance()


class ExperienceMark(Struct, frozen=True):
    """What a later experience said of this one; `by` is its id, empty if it was this one grafted again."""

    kind: OutcomeKind
    at: str
    by: str = ""


class Experience(Struct, frozen=True):
    """A decision that an agent took, why, on which files, with what outcome.

    `timestamp` is ISO 8601 UTC with milliseconds and `Z`, so that its text sorts as time does.
    `files_touched` are POSIX paths relative to the project's root. No text holds control characters other
    than line breaks and tabs in `decision`, `rationale` and `error`. `error` goes with the outcome `failure`.
    `sketches` are of some of these files as they were then, by path, written by `sketch.encoded`. As it is
    read from a pool it is what its edits made of it; `marks` are those of them that say what became of the
    decision later, oldest first.
    """

    id: str
    timestamp: str
    agent_id: str
    session_id: str
    decision: str
    rationale: str = ""
    files_touched: tuple[str, ...] = ()
    outcome: OutcomeKind = ""
    error: str = ""
    commit: str = ""
    provenance: Provenance = FROM_CLIENT
    sketches: tuple[tuple[str, str], ...] = ()
    marks: tuple[ExperienceMark, ...] = ()


def fields_of(experience: Experience) -> dict[str, object]:
    """Return an experience as the map that is stored; empty fields, a normal trust and marks are left out."""
    provenance = {"source": experience.provenance.source, "reference": experience.provenance.reference}
    if experience.provenance.trust != "normal":
        provenance["trust"] = experience.provenance.trust
    outcome = {"kind": experience.outcome, "error": experience.error}
    fields = {
        "id": experience.id,
        "timestamp": experience.timestamp,
        "agent_id": experience.agent_id,
        "session_id": experience.session_id,
        "decision": experience.decision,
        "rationale": experience.rationale,
        "files_touched": experience.files_touched,
        "outcome": {name: value for name, value in outcome.items() if value},
        "commit": experience.commit,
        "provenance": provenance,
        "sketches": dict(experience.sketches),
    }
    return {name: value for name, value in fields.items() if value}


def identity_of(experience: Experience) -> bytes:
    """Return 16 bytes that experiences have in common which count as the same: agent, session, decision."""
    parts = (experience.agent_id, experience.session_id, " ".join(experience.decision.split()))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()


def timestamp_of(moment: datetime) -> str:
    """Return an aware time as an experience has it: ISO 8601 UTC with milliseconds and `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
