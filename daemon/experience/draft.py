"""Owns the draft: an experience as it is given, and the checks that make one of it; knows no file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast, get_args

from ..errors import InvalidRequest
from .experience import FROM_CLIENT, Experience, OutcomeKind, Provenance, timestamp_of

MAX_TEXT_BYTES = 65_536
"""A decision, rationale or error above 64 KiB of UTF-8 is refused: it is a document, not a decision."""
MAX_NAME_CHARACTERS = 200
"""Of an id, an agent's or a session's name, a commit: the longest ids in use have 64."""
MAX_FILES = 1_000
MAX_FILES_BYTES = 262_144
"""With the texts this keeps the largest line, each byte escaped to two, below 1 MiB."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An experience as a caller gives it, not yet checked.

    `timestamp` is ISO 8601, empty for now; one without a zone is taken as UTC and a future one as now.
    `files_touched` may be relative to the project's root or absolute.
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


class BadField(Exception):  # it is caught in this folder and never reaches a person as such
    """A field that can't be used. The text completes a sentence that begins with the field's name."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.field = name


def draft_of(fields: Mapping[str, object], provenance: Provenance = FROM_CLIENT) -> Draft:
    """Make a draft of a map as a client sends it: decision, agent_id, session_id, rationale?, files_touched?,
    outcome? {kind, error?}, timestamp?, commit?.

    Raises `InvalidRequest` with the field's name for one that is missing or of a wrong type.
    """
    try:
        return _draft_of(fields, provenance)
    except BadField as error:
        raise InvalidRequest(f"experience.{error.field} {error}.", f"experience.{error.field}") from error


def checked(draft: Draft, now: str, root: str) -> tuple[Experience, int]:
    """Return a draft as an experience without an id, and the number of files that were left out.

    `now` is the current time as `timestamp_of` gives it, `root` the project's root, by which absolute paths
    are made relative, or empty. Raises `BadField`.
    """
    files, dropped = _files(draft.files_touched, root)
    timestamp = min(normal_timestamp(draft.timestamp), now) if draft.timestamp else now
    return _experience_of(draft, "", timestamp, files), dropped


def experience_in(fields: Mapping[str, object]) -> Experience:
    """Read an experience out of a map that was stored; unknown fields are ignored. Raises `BadField`."""
    draft = _draft_of({"agent_id": "", "session_id": "", **fields}, _provenance_of(fields))
    if not (identifier := _clean_name("id", _text(fields, "id"))):
        raise BadField("id", "is empty")
    timestamp = normal_timestamp(_text(fields, "timestamp"))
    return _experience_of(draft, identifier, timestamp, _files(draft.files_touched, "")[0])


def normal_timestamp(text: str) -> str:
    """Return a time in ISO 8601, UTC where it has no zone, as `timestamp_of` does. Raises `BadField`."""
    try:
        moment = datetime.fromisoformat(text)
        return timestamp_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise BadField("timestamp", "must be a time in ISO 8601, such as 2025-01-31T12:00:00Z") from error


def _draft_of(fields: Mapping[str, object], provenance: Provenance) -> Draft:
    outcome = fields.get("outcome")
    if outcome is None:
        outcome = {}
    if not isinstance(outcome, dict):
        raise BadField("outcome", "must be a map with kind and error")
    files = fields.get("files_touched")
    if files is None:
        files = ()
    if not isinstance(files, list | tuple) or not all(isinstance(path, str) for path in files):
        raise BadField("files_touched", "must be a list of strings")
    return Draft(
        _text(fields, "decision"),
        _text(fields, "agent_id"),
        _text(fields, "session_id"),
        _text(fields, "rationale", ""),
        tuple(files),
        _text(outcome, "kind", "", name="outcome.kind"),
        _text(outcome, "error", "", name="outcome.error"),
        _text(fields, "timestamp", ""),
        _text(fields, "commit", ""),
        provenance,
    )


def _provenance_of(fields: Mapping[str, object]) -> Provenance:
    """Read where an experience came from; more may stand there in a newer version's line."""
    provenance = fields.get("provenance", {})
    if not isinstance(provenance, dict):
        raise BadField("provenance", "must be a map")
    return Provenance(_text(provenance, "source", ""), _text(provenance, "reference", ""))


def _text(fields: Mapping[str, object], key: str, default: str | None = None, *, name: str = "") -> str:
    value = fields.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadField(name or key, "is missing" if value is None else "must be a string")
    return value


def _experience_of(draft: Draft, identifier: str, timestamp: str, files: tuple[str, ...]) -> Experience:
    """Check and clean a draft's texts."""
    decision = _clean_text("decision", draft.decision)
    if not decision:
        raise BadField("decision", "is empty")
    return Experience(
        identifier,
        timestamp,
        _clean_name("agent_id", draft.agent_id),
        _clean_name("session_id", draft.session_id),
        decision,
        _clean_text("rationale", draft.rationale),
        files,
        _outcome(draft.outcome),
        _clean_text("outcome.error", draft.error),
        _clean_name("commit", draft.commit),
        Provenance(
            _clean_name("provenance.source", draft.provenance.source),
            _clean_text("provenance.reference", draft.provenance.reference),
        ),
    )


_HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters but tab and line feed, the characters that reorder a line's text or hide text in it, and
halves of surrogate pairs, which UTF-8 can't hold."""


def _clean(text: str) -> str:
    """Replace harmful characters by U+FFFD and every kind of line break by a line feed."""
    if text.isprintable():  # the usual case; nothing that is replaced is printable
        return text
    text = re.sub(r"\r\n?|\u2028|\u2029", "\n", text)
    return _HARMFUL.sub("\ufffd", text)


def _clean_text(name: str, text: str) -> str:
    cleaned = _clean(text).strip()
    if len(cleaned.encode()) > MAX_TEXT_BYTES:
        raise BadField(name, f"is longer than {MAX_TEXT_BYTES} bytes; shorten it")
    return cleaned


def _clean_name(name: str, text: str) -> str:
    cleaned = " ".join(_clean(text).split())
    if len(cleaned) > MAX_NAME_CHARACTERS:
        raise BadField(name, f"is longer than {MAX_NAME_CHARACTERS} characters")
    return cleaned


def _outcome(text: str) -> OutcomeKind:
    for kind in get_args(OutcomeKind):
        if text == kind:
            return cast("OutcomeKind", kind)
    raise BadField("outcome.kind", "must be success, failure or reverted")


def _files(paths: Sequence[str], root: str) -> tuple[tuple[str, ...], int]:
    """Return the paths relative to the root, each once, and how many were left out: those outside the root
    and those beyond `MAX_FILES` or `MAX_FILES_BYTES`."""
    kept: dict[str, None] = {}
    size = dropped = 0
    for path in paths:
        relative = _clean(_relative(path, root)).replace("\n", "\ufffd")
        size += len(relative.encode())
        if not relative or len(kept) >= MAX_FILES or size > MAX_FILES_BYTES:
            dropped += 1
        else:
            kept[relative] = None
    return tuple(kept), dropped


def _relative(path: str, root: str) -> str:
    """Return a path relative to the root without a look at the disk, empty for one that isn't below it."""
    if path.startswith("/"):
        folder = posixpath.join(root, "")
        path = posixpath.normpath(path)
        if not root or not path.startswith(folder):
            return ""
        path = path.removeprefix(folder)
    path = posixpath.normpath(path)
    return "" if path in (".", "..") or path.startswith(("../", "/")) else path
