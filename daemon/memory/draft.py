"""Owns the draft: an experience as it is given, and the checks that make one of it; knows no file."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidRequest
from ..privacy.low_trust import LINK, suspicions
from ..privacy.secret_values import mask_piece
from .experience import FROM_CLIENT, Experience, Provenance, Trust
from .fields import (
    BadField,
    clean_name,
    clean_text,
    files_in,
    normal_timestamp,
    outcome_in,
    outcome_kind,
    relative_files,
    sketches_in,
    text_in,
    trust_of,
)


class Draft(Struct, frozen=True):
    """An experience as a caller gives it, not yet checked.

    `timestamp` is ISO 8601, empty for now; one without a zone is taken as UTC and a future one as now.
    `files_touched` may be relative to the project's root or absolute. `sketches` are of some of them by their
    relative path.
    """

    decision: str
    agent_id: str
    session_id: str
    rationale: str = ""
    files_touched: tuple[str, ...] = ()
    outcome: str = ""
    error: str = ""
    timestamp: str = ""
    commit: str = ""
    provenance: Provenance = FROM_CLIENT
    sketches: tuple[tuple[str, str], ...] = ()


class Checked(Struct, frozen=True):
    """A draft that can be kept: an experience without an id, and what was done to it.

    `files_dropped` counts files that were left out, `secrets` values that were masked.
    """

    experience: Experience
    files_dropped: int
    secrets: int


def draft_of(fields: Mapping[str, object], provenance: Provenance = FROM_CLIENT) -> Draft:
    """Make a draft of a map as a client sends it: decision, agent_id, session_id, rationale?, files_touched?,
    outcome? {kind, error?}, timestamp?, commit?.

    Raises `InvalidRequest` with the field's name for one that is missing or of a wrong type.
    """
    try:
        return _draft_of(fields, provenance)
    except BadField as error:
        raise InvalidRequest(f"experience.{error.field} {error}.", f"experience.{error.field}") from error


def checked(draft: Draft, now: str, root: str) -> Checked:
    """Check a draft and make it fit to be written: cleaned, without secrets, with paths in the project.

    `now` is the current time as `timestamp_of` gives it, `root` the project's root, by which absolute paths
    are made relative, or empty. Text that steers its reader gets a low trust, whoever gives it; that can be
    changed later (`Pool.update`). Raises `BadField`.
    """
    files, dropped = relative_files(draft.files_touched, root)
    timestamp = min(normal_timestamp(draft.timestamp), now) if draft.timestamp else now
    # Before secrets are looked for, since a masked one makes no document a decision.
    texts = (
        clean_text("decision", draft.decision),
        clean_text("rationale", draft.rationale),
        clean_text("outcome.error", draft.error),
    )
    masked = [mask_piece(text) for text in texts]
    provenance = draft.provenance
    found = {one for text in texts for one in suspicions(text)}
    # A client is an agent as often as a person. A person gives a link to where a decision was discussed.
    if found - ({LINK} if provenance.source == FROM_CLIENT.source else set()):
        provenance = Provenance(provenance.source, provenance.reference, "low")
    decision, rationale, error = (one.text for one in masked)
    clear = replace(draft, decision=decision, rationale=rationale, error=error, provenance=provenance)
    return Checked(_experience_of(clear, "", timestamp, files), dropped, sum(one.count for one in masked))


def experience_in(fields: Mapping[str, object]) -> Experience:
    """Read an experience out of a map that was stored; unknown fields are ignored. Raises `BadField`."""
    draft = _draft_of({"agent_id": "", "session_id": "", **fields}, _provenance_of(fields))
    draft = replace(draft, sketches=sketches_in(fields))
    if not (identifier := clean_name("id", text_in(fields, "id"))):
        raise BadField("id", "is empty")
    timestamp = normal_timestamp(text_in(fields, "timestamp"))
    return _experience_of(draft, identifier, timestamp, relative_files(draft.files_touched, "")[0])


def _draft_of(fields: Mapping[str, object], provenance: Provenance) -> Draft:
    kind, error = outcome_in(fields)
    return Draft(
        text_in(fields, "decision"),
        text_in(fields, "agent_id"),
        text_in(fields, "session_id"),
        text_in(fields, "rationale", ""),
        files_in(fields),
        kind,
        error,
        text_in(fields, "timestamp", ""),
        text_in(fields, "commit", ""),
        provenance,
    )


def _provenance_of(fields: Mapping[str, object]) -> Provenance:
    """Read where an experience came from; more may stand there in a newer version's line."""
    provenance = fields.get("provenance", {})
    if not isinstance(provenance, dict):
        raise BadField("provenance", "must be a map")
    trust: Trust = trust_of(text_in(provenance, "trust", "normal"))
    return Provenance(text_in(provenance, "source", ""), text_in(provenance, "reference", ""), trust)


def _experience_of(draft: Draft, identifier: str, timestamp: str, files: tuple[str, ...]) -> Experience:
    """Check and clean a draft's texts."""
    decision = clean_text("decision", draft.decision)
    if not decision:
        raise BadField("decision", "is empty")
    return Experience(
        identifier,
        timestamp,
        clean_name("agent_id", draft.agent_id),
        clean_name("session_id", draft.session_id),
        decision,
        clean_text("rationale", draft.rationale),
        files,
        outcome_kind(draft.outcome),
        clean_text("outcome.error", draft.error),
        clean_name("commit", draft.commit),
        Provenance(
            clean_name("provenance.source", draft.provenance.source),
            clean_text("provenance.reference", draft.provenance.reference),
            draft.provenance.trust,
        ),
        tuple(one for one in draft.sketches if one[0] in files),
    )
