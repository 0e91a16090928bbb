"""Experiences: their record, the drafts that callers give, the checks of fields, and the form as a map."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from ..core.errors import InvalidRequest
from ..core.parameters import read_request
from ..core.times import timestamp_of
from ..privacy.low_trust import LINK, suspicions
from ..privacy.secret_values import mask_piece

OutcomeKind = Literal["", "success", "failure", "reverted"]
Trust = Literal["normal", "low"]
"""`low` is for a text that steers its reader: it is kept and listed, but left out of contexts."""


class Provenance(Struct, frozen=True):
    """The source of an experience: `client` for a caller's map; `reference` is the place in the source, if
    any."""

    source: str = "client"
    reference: str = ""
    trust: Trust = "normal"


FROM_CLIENT = Provenance()


class ExperienceMark(Struct, frozen=True):
    """The outcome that a later experience reported; `by` is its id, empty if the same one was grafted
    again."""

    kind: OutcomeKind
    at: str
    by: str = ""


class Experience(Struct, frozen=True):
    """A decision that an agent took, why, on which files, with what outcome.

    `timestamp` is ISO 8601 UTC with milliseconds and `Z`, so that its text sorts as time does.
    `files_touched` are POSIX paths relative to the project's root. No text holds control characters other
    than line breaks and tabs in `decision`, `rationale` and `error`. `error` goes with the outcome `failure`.
    `sketches` are pairs of a file's path and a sketch of its content at that time (`staleness.encoded`), for
    some of these files. An experience from a pool has its edits applied; `marks` are later reports of its
    outcome, oldest first; `outcome` is the last that was reported or set, which is shown, listed and pruned
    by. `worktree` is the id of the linked work tree in which it was made, `head` the commit that was
    checked out there, and `uncommitted` whether one of its files differed from that.
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
    worktree: str = ""
    head: str = ""
    uncommitted: bool = False
    marks: tuple[ExperienceMark, ...] = ()


def fields_of(experience: Experience) -> dict[str, object]:
    """Return an experience as the map that is stored, without empty fields, normal trust and marks."""
    fields = asdict(experience) | {"sketches": dict(experience.sketches)}
    del fields["marks"]
    outcome = {"kind": fields.pop("outcome"), "error": fields.pop("error")}
    fields["outcome"] = {name: value for name, value in outcome.items() if value}
    fields["provenance"] = asdict(experience.provenance)
    if experience.provenance.trust == "normal":
        del fields["provenance"]["trust"]
    return {name: value for name, value in fields.items() if value}


SPECIFIC_CHARACTERS = 32
"""Minimum length of a decision that is the same in any session; a shorter one, such as `I reverted that
change.`, means something else in another session."""


def identity_of(experience: Experience) -> bytes:
    """Return a hash of 16 bytes that is equal for duplicates: of agent, session and decision.

    A specific decision out of a transcript is the same in every session: hosts copy the records of a
    conversation that is resumed or forked, and a parent repeats its subagents' reports.
    """
    decision = " ".join(experience.decision.split())
    parts = (experience.agent_id, experience.session_id, decision)
    if experience.provenance.source != FROM_CLIENT.source and len(decision) >= SPECIFIC_CHARACTERS:
        parts = ("", "", decision.casefold())
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()


MAX_TEXT_BYTES = 65_536
"""Maximum bytes of UTF-8 of a decision, rationale or error: more is a document, not a decision."""
MAX_NAME_CHARACTERS = 200
"""Maximum length of an id, an agent's or a session's name, a commit: the longest ids in use have 64."""
MAX_FILES = 1_000
MAX_FILES_BYTES = 262_144
"""Maximum bytes of all paths; with the texts, each byte escaped to two, a line stays below 1 MiB."""
SKETCHES_MAX = 8
"""Maximum number of sketches in an experience: the first files matter most."""


def bad_field(name: str, problem: str) -> InvalidRequest:
    """Return the error of a field that can't be used."""
    return InvalidRequest(f"{name} {problem}", name)


class OutcomeFields(Struct, frozen=True):
    """An outcome as a client or a line gives it; `kind` is not checked yet."""

    kind: str = ""
    error: str = ""


class _ExperienceFields(Struct):
    """The fields of an experience as a client gives them."""

    decision: str
    agent_id: str
    session_id: str
    rationale: str = ""
    files_touched: tuple[str, ...] = ()
    outcome: OutcomeFields = OutcomeFields()
    timestamp: str = ""
    commit: str = ""


class _StoredExperience(_ExperienceFields, kw_only=True):
    """The fields of an experience in a line of the pool."""

    id: str
    agent_id: str = ""
    session_id: str = ""
    timestamp: str
    provenance: Provenance = Provenance("")
    sketches: dict[str, str] = {}
    worktree: str = ""
    head: str = ""
    uncommitted: bool = False


def outcome_kind(text: str) -> OutcomeKind:
    """Return a kind of outcome. Raises `InvalidRequest` for another word."""
    if text not in get_args(OutcomeKind):
        raise bad_field("outcome.kind", "must be success, failure or reverted")
    return cast("OutcomeKind", text)


def trust_of(text: str) -> Trust:
    """Return a trust level. Raises `InvalidRequest` for another word."""
    if text not in get_args(Trust):
        raise bad_field("trust", "must be normal or low")
    return cast("Trust", text)


def normal_timestamp(text: str, name: str = "timestamp") -> str:
    """Return a time in ISO 8601, UTC where it has no zone, as `timestamp_of` does.

    Raises `InvalidRequest`.
    """
    try:
        moment = datetime.fromisoformat(text)
        return timestamp_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise bad_field(name, "must be a time in ISO 8601, such as 2025-01-31T12:00:00Z") from error


def clean_text(name: str, text: str) -> str:
    """Return a text without harmful characters and outer spaces. Raises `InvalidRequest` for one too long."""
    cleaned = clean(text).strip()
    if len(cleaned.encode()) > MAX_TEXT_BYTES:
        raise bad_field(name, f"is longer than {MAX_TEXT_BYTES} bytes; shorten it")
    return cleaned


def clean_name(name: str, text: str) -> str:
    """Return an id or a name on one line. Raises `InvalidRequest` for one too long."""
    cleaned = " ".join(clean(text).split())
    if len(cleaned) > MAX_NAME_CHARACTERS:
        raise bad_field(name, f"is longer than {MAX_NAME_CHARACTERS} characters")
    return cleaned


def clean(text: str) -> str:
    """Replace harmful characters by U+FFFD and every kind of line break by a line feed."""
    if text.isprintable():  # the usual case; nothing that is replaced is printable
        return text
    text = re.sub(r"\r\n?|\u2028|\u2029", "\n", text)
    return _HARMFUL.sub("\ufffd", text)


def relative_files(paths: Sequence[str], root: str) -> tuple[tuple[str, ...], int]:
    """Return the paths relative to the root, each once, and the number left out: paths outside the root or
    beyond `MAX_FILES` or `MAX_FILES_BYTES`."""
    kept: dict[str, None] = {}
    size = dropped = 0
    for path in paths:
        relative = clean(_relative(path, root)).replace("\n", "\ufffd")
        size += len(relative.encode())
        if not relative or len(kept) >= MAX_FILES or size > MAX_FILES_BYTES:
            dropped += 1
        else:
            kept[relative] = None
    return tuple(kept), dropped


_HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters but tab and line feed, the characters that reorder a line's text or hide text in it, and
halves of surrogate pairs, which UTF-8 can't hold."""


def _relative(path: str, root: str) -> str:
    """Return a path relative to the root without looking at the disk, empty if it isn't below it."""
    if path.startswith("/"):
        folder = posixpath.join(root, "")
        path = posixpath.normpath(path)
        if not root or not path.startswith(folder):
            return ""
        path = path.removeprefix(folder)
    path = posixpath.normpath(path)
    return "" if path in (".", "..") or path.startswith(("../", "/")) else path


class Draft(Struct, frozen=True):
    """An experience as a caller gives it, not yet checked.

    `timestamp` is ISO 8601, empty for now; without a zone it is UTC, and a future one becomes now.
    `files_touched` may be relative to the project's root or absolute. `sketches` are of some of these files
    by relative path.
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


def draft_of(fields: Mapping[str, object], provenance: Provenance = FROM_CLIENT) -> Draft:
    """Make a draft of a map as a client sends it: decision, agent_id, session_id, rationale?, files_touched?,
    outcome? {kind, error?}, timestamp?, commit?.

    Raises `InvalidRequest` with the field's name for one that is missing or of a wrong type.
    """
    return _draft_of(read_request(_ExperienceFields, fields, "experience."), provenance)


def checked(draft: Draft, now: str, root: str) -> tuple[Experience, tuple[str, ...]]:
    """Check a draft for storing: clean its texts, mask secrets, make paths relative to the project. Returns
    an experience without an id, and what to warn of.

    `now` is the current time as `timestamp_of` gives it, `root` the project's root, or empty. Text that
    steers its reader gets a low trust, whoever gives it; `Pool.update` can change that.
    Raises `InvalidRequest`.
    """
    files, dropped = relative_files(draft.files_touched, root)
    timestamp = min(normal_timestamp(draft.timestamp), now) if draft.timestamp else now
    # Sizes are checked before masking, which would shorten the texts.
    texts = (
        clean_text("decision", draft.decision),
        clean_text("rationale", draft.rationale),
        clean_text("outcome.error", draft.error),
    )
    masked = [mask_piece(text) for text in texts]
    provenance = draft.provenance
    found = {suspicion for text in texts for suspicion in suspicions(text)}
    # Links are allowed in a client's text: people link to where a decision was discussed.
    if found - ({LINK} if provenance.source == FROM_CLIENT.source else set()):
        provenance = Provenance(provenance.source, provenance.reference, "low")
    decision, rationale, error = (text.text for text in masked)
    clear = replace(draft, decision=decision, rationale=rationale, error=error, provenance=provenance)
    secrets = sum(text.count for text in masked)
    warnings = {
        f"{dropped} of its files were left out: outside the project, or too many": dropped,
        "a value that looks like a secret was masked": secrets == 1,
        f"{secrets} values that look like secrets were masked": secrets > 1,
    }
    return _experience_of(clear, "", timestamp, files), tuple(
        text for text, holds in warnings.items() if holds
    )


def experience_in(fields: Mapping[str, object]) -> Experience:
    """Read an experience out of a map that was stored; unknown fields are ignored.

    Raises `InvalidRequest`.
    """
    stored = read_request(_StoredExperience, fields)
    draft = replace(_draft_of(stored, stored.provenance), sketches=tuple(stored.sketches.items()))
    if not (identifier := clean_name("id", stored.id)):
        raise bad_field("id", "is empty")
    timestamp = normal_timestamp(stored.timestamp)
    return replace(
        _experience_of(draft, identifier, timestamp, relative_files(draft.files_touched, "")[0]),
        worktree=clean_name("worktree", stored.worktree),
        head=clean_name("head", stored.head),
        uncommitted=stored.uncommitted,
    )


def _draft_of(given: _ExperienceFields, provenance: Provenance) -> Draft:
    fields = {name: getattr(given, name) for name in _ExperienceFields.__struct_fields__ if name != "outcome"}
    return Draft(**fields, outcome=given.outcome.kind, error=given.outcome.error, provenance=provenance)


def _experience_of(draft: Draft, identifier: str, timestamp: str, files: tuple[str, ...]) -> Experience:
    """Check and clean a draft's texts."""
    decision = clean_text("decision", draft.decision)
    if not decision:
        raise bad_field("decision", "is empty")
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
        tuple(sketch for sketch in draft.sketches if sketch[0] in files),
    )
