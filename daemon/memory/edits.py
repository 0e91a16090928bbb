"""Edits: later lines of a pool that change, delete, restore or mark an experience.

A pool's file is only appended to, so the current experience is the original with all its edits applied in the
order of their times. Their order in the file means nothing, since a merge may reorder lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import asdict, replace

from ..core.errors import InvalidRequest
from ..core.parameters import read_request
from ..core.times import timestamp_of
from ..privacy.secret_values import mask_piece
from .experience import (
    Experience,
    ExperienceMark,
    OutcomeFields,
    OutcomeKind,
    Trust,
    bad_field,
    clean_name,
    clean_text,
    normal_timestamp,
    outcome_kind,
    relative_files,
    trust_of,
)

EditKind = Literal["update", "delete", "restore", "mark"]
EDIT_KINDS: frozenset[str] = frozenset(get_args(EditKind))

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class PoolChanges(Struct, frozen=True):
    """New values of some fields; None leaves one as it is. `error` goes with `outcome`.

    `commit` is the commit that holds the decision, "" for none. A mark with a commit is from git.
    """

    decision: str | None = None
    rationale: str | None = None
    files_touched: tuple[str, ...] | None = None
    outcome: OutcomeKind | None = None
    error: str = ""
    trust: Trust | None = None
    commit: str | None = None


NO_CHANGES = PoolChanges()


class Edit(Struct, frozen=True):
    """One edit of the experience `of`. `timestamp` is as an experience has it.

    A mark has an outcome in its changes; `by` is the id of the experience that caused it, if any.
    """

    id: str
    of: str
    timestamp: str
    kind: EditKind
    changes: PoolChanges = NO_CHANGES
    by: str = ""


class DueEdit(Struct, frozen=True):
    """An edit to make of an experience."""

    experience_id: str
    kind: EditKind
    changes: PoolChanges


def changes_of(fields: Mapping[str, object], root: str) -> PoolChanges:
    """Make changes of a map as a client sends it: decision?, rationale?, files_touched?, outcome? {kind,
    error?}, trust?, commit?; secrets are masked. An outcome without a kind removes the outcome.

    Raises `InvalidRequest` with the field's name, also if nothing is changed.
    """
    changes = _changes_in(read_request(_ChangedFields, fields), root)
    if changes == NO_CHANGES:
        raise InvalidRequest(
            "nothing is changed: give decision, rationale, files_touched, outcome, trust or commit",
            "decision",
        )
    return replace(
        changes,
        decision=_masked(changes.decision),
        rationale=_masked(changes.rationale),
        error=mask_piece(changes.error).text,
    )


def edit_in(fields: Mapping[str, object]) -> Edit:
    """Read an edit out of a map that was stored; unknown fields are ignored. Raises `InvalidRequest`."""
    stored = read_request(_StoredEdit, fields)
    identifier, of = clean_name("id", stored.id), clean_name("of", stored.of)
    for name, value in (("id", identifier), ("of", of)):
        if not value:
            raise bad_field(name, "is empty")
    kind = cast("EditKind", fields["type"])
    if kind == "mark" and (stored.outcome is None or not stored.outcome.kind):
        raise bad_field("outcome", "is missing")
    timestamp = normal_timestamp(stored.timestamp)
    return Edit(identifier, of, timestamp, kind, _changes_in(stored, ""), clean_name("by", stored.by))


def edit_fields(edit: Edit) -> dict[str, object]:
    """Return an edit as the map that is stored, without unchanged fields."""
    fields: dict[str, object] = {
        "type": edit.kind,
        "id": edit.id,
        "of": edit.of,
        "timestamp": edit.timestamp,
    }
    fields |= changed_fields(edit.changes)
    return fields | ({"by": edit.by} if edit.by else {})


def changed_fields(changes: PoolChanges) -> dict[str, object]:
    """Return the new values by their names on the wire."""
    fields = {name: value for name, value in asdict(changes).items() if value is not None}
    error = fields.pop("error")
    if changes.outcome is not None:
        fields["outcome"] = {"kind": changes.outcome} | ({"error": error} if error else {})
    return fields


def applied(experience: Experience, edits: Sequence[Edit]) -> tuple[Experience, bool]:
    """Apply edits in order; return the experience and whether it is deleted."""
    deleted = False
    marks: list[tuple[ExperienceMark, bool]] = []
    for edit in edits:
        if edit.kind in ("delete", "restore"):
            deleted = edit.kind == "delete"
            continue
        experience = _changed(experience, edit.changes)
        from_git = edit.changes.outcome is not None and edit.changes.commit is not None
        if edit.kind == "mark" and edit.changes.outcome is not None:
            marks.append((ExperienceMark(edit.changes.outcome, edit.timestamp, edit.by), from_git))
        elif from_git:  # git restored the undone commit
            marks = [mark for mark in marks if not mark[1]]
    return replace(experience, marks=(*experience.marks, *(mark for mark, _ in marks))), deleted


def changes_nothing(experience: Experience, changes: PoolChanges) -> bool:
    """Tell whether changes would leave an experience as it is."""
    return _changed(experience, changes) == experience


def time_after(edits: Sequence[Edit], now: str) -> str:
    """Return the time of a new edit: now, or just after the last edit if the clock went back."""
    if not edits or edits[-1].timestamp < now:
        return now
    last = edits[-1].timestamp
    try:
        return timestamp_of(datetime.fromisoformat(last) + timedelta(milliseconds=1))
    except OverflowError:  # the last edit has the latest possible time; then the id decides
        return last


class _ChangedFields(Struct, kw_only=True):
    """The fields of an experience that change; None leaves one as it is."""

    decision: str | None = None
    rationale: str | None = None
    files_touched: tuple[str, ...] | None = None
    outcome: OutcomeFields | None = None
    trust: str | None = None
    commit: str | None = None


class _StoredEdit(_ChangedFields, kw_only=True):
    """The fields of an edit as a line has them."""

    id: str
    of: str
    timestamp: str
    by: str = ""


def _changes_in(given: _ChangedFields, root: str) -> PoolChanges:
    decision, rationale = (
        None if text is None else clean_text(name, text)
        for name, text in (("decision", given.decision), ("rationale", given.rationale))
    )
    if decision == "":
        raise bad_field("decision", "is empty")
    files = None
    if given.files_touched is not None:
        files, dropped = relative_files(given.files_touched, root)
        if dropped and root:
            raise bad_field("files_touched", f"names {dropped} paths outside the project, or too many")
    outcome = None if given.outcome is None else outcome_kind(given.outcome.kind)
    trust = None if given.trust is None else trust_of(given.trust)
    error = clean_text("outcome.error", given.outcome.error if given.outcome else "")
    commit = None if given.commit is None else clean_name("commit", given.commit)
    if commit and not _COMMIT.fullmatch(commit):
        raise bad_field("commit", "must be the id of a commit, 7 to 64 hexadecimal digits, or empty for none")
    return PoolChanges(decision, rationale, files, outcome, error, trust, commit)


def _masked(text: str | None) -> str | None:
    return None if text is None else mask_piece(text).text


def _changed(experience: Experience, changes: PoolChanges) -> Experience:
    kept = ("decision", "rationale", "files_touched", "commit")
    new = {name: value for name in kept if (value := getattr(changes, name)) is not None}
    if changes.outcome is not None:
        new |= {"outcome": changes.outcome, "error": changes.error}
    if changes.trust is not None:
        new["provenance"] = replace(experience.provenance, trust=changes.trust)
    return replace(experience, **new)
