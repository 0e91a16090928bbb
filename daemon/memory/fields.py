"""Owns the checks of single fields: types, sizes, what a text may hold; knows neither draft nor file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast, get_args

from .experience import OutcomeKind, Trust, timestamp_of

MAX_TEXT_BYTES = 65_536
"""A decision, rationale or error above 64 KiB of UTF-8 is refused: it is a document, not a decision."""
MAX_NAME_CHARACTERS = 200
"""Of an id, an agent's or a session's name, a commit: the longest ids in use have 64."""
MAX_FILES = 1_000
MAX_FILES_BYTES = 262_144
"""With the texts this keeps the largest line, each byte escaped to two, below 1 MiB."""
SKETCHES_MAX = 8
"""Maximum number of sketches in an experience: the first files are those that it is about."""
SKETCH_CHARACTERS = 400
"""A sketch has 344 at most."""


class BadField(Exception):  # it is caught in this folder and never reaches a person as such
    """A field that can't be used. The text completes a sentence that begins with the field's name."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.field = name


def text_in(fields: Mapping[str, object], key: str, default: str | None = None, *, name: str = "") -> str:
    """Return a string of a map; None counts as absent. Raises `BadField`."""
    value = fields.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadField(name or key, "is missing" if value is None else "must be a string")
    return value


def sketches_in(fields: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the sketches of files by path; what is none is left out, since nothing depends on it."""
    sketches = fields.get("sketches")
    if not isinstance(sketches, dict):
        return ()
    found = [(path, text) for path, text in sketches.items() if isinstance(text, str)]
    return tuple((path, text) for path, text in found[:SKETCHES_MAX] if len(text) <= SKETCH_CHARACTERS)


def files_in(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the paths of a map as they stand there. Raises `BadField`."""
    files = fields.get("files_touched")
    if files is None:
        return ()
    if not isinstance(files, list | tuple) or not all(isinstance(path, str) for path in files):
        raise BadField("files_touched", "must be a list of strings")
    return tuple(files)


def outcome_in(fields: Mapping[str, object]) -> tuple[str, str]:
    """Return the kind and the error of a map's outcome, not yet checked. Raises `BadField`."""
    outcome = fields.get("outcome")
    if outcome is None:
        return "", ""
    if not isinstance(outcome, dict):
        raise BadField("outcome", "must be a map with kind and error")
    return (
        text_in(outcome, "kind", "", name="outcome.kind"),
        text_in(outcome, "error", "", name="outcome.error"),
    )


def outcome_kind(text: str) -> OutcomeKind:
    """Return a kind of outcome. Raises `BadField` for another word."""
    for kind in get_args(OutcomeKind):
        if text == kind:
            return cast("OutcomeKind", kind)
    raise BadField("outcome.kind", "must be success, failure or reverted")


def trust_of(text: str) -> Trust:
    """Return how far a text may be believed. Raises `BadField` for another word."""
    for trust in get_args(Trust):
        if text == trust:
            return cast("Trust", trust)
    raise BadField("trust", "must be normal or low")


def normal_timestamp(text: str) -> str:
    """Return a time in ISO 8601, UTC where it has no zone, as `timestamp_of` does. Raises `BadField`."""
    try:
        moment = datetime.fromisoformat(text)
        return timestamp_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise BadField("timestamp", "must be a time in ISO 8601, such as 2025-01-31T12:00:00Z") from error


def clean_text(name: str, text: str) -> str:
    """Return a text without harmful characters and outer spaces. Raises `BadField` for one too long."""
    cleaned = clean(text).strip()
    if len(cleaned.encode()) > MAX_TEXT_BYTES:
        raise BadField(name, f"is longer than {MAX_TEXT_BYTES} bytes; shorten it")
    return cleaned


def clean_name(name: str, text: str) -> str:
    """Return an id or a name on one line. Raises `BadField` for one too long."""
    cleaned = " ".join(clean(text).split())
    if len(cleaned) > MAX_NAME_CHARACTERS:
        raise BadField(name, f"is longer than {MAX_NAME_CHARACTERS} characters")
    return cleaned


def clean(text: str) -> str:
    """Replace harmful characters by U+FFFD and every kind of line break by a line feed."""
    if text.isprintable():  # the usual case; nothing that is replaced is printable
        return text
    text = re.sub(r"\r\n?|\u2028|\u2029", "\n", text)
    return _HARMFUL.sub("\ufffd", text)


def relative_files(paths: Sequence[str], root: str) -> tuple[tuple[str, ...], int]:
    """Return the paths relative to the root, each once, and how many were left out: those outside the root
    and those beyond `MAX_FILES` or `MAX_FILES_BYTES`."""
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
    """Return a path relative to the root without a look at the disk, empty for one that isn't below it."""
    if path.startswith("/"):
        folder = posixpath.join(root, "")
        path = posixpath.normpath(path)
        if not root or not path.startswith(folder):
            return ""
        path = path.removeprefix(folder)
    path = posixpath.normpath(path)
    return "" if path in (".", "..") or path.startswith(("../", "/")) else path
