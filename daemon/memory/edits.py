"""Owns the edit: a later line that changes, deletes, restores or marks an experience; knows no file.

The file is only appended to, so what an experience is now is what all its edits, in the order of their times,
make of it. Where an edit stands in the file says nothing, since a merge may reorder lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidRequest
from ..privacy.secret_values import mask_piece
from .experience import (
    BadField,
    Experience,
    ExperienceMark,
    OutcomeKind,
    Trust,
    clean_name,
    clean_text,
    files_in,
    normal_timestamp,
    outcome_in,
    outcome_kind,
    relative_files,
    text_in,
    timestamp_of,
    trust_of,
)

EditKind = Literal["update", "delete", "restore", "mark"]
EDIT_KINDS: frozenset[str] = frozenset(get_args(EditKind))

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class PoolChanges(Struct, frozen=True):
    """New values of some fields; None leaves one as it is. `error` goes with `outcome`.

    A `commit` is the one that holds what was decided, "" for none. A mark that names one is from git.
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

    A mark has an outcome in its changes, and in `by` the id of the experience that it comes from, if any.
    """

    id: str
    of: str
    timestamp: str
    kind: EditKind
    changes: PoolChanges = NO_CHANGES
    by: str = ""

    @property
    def order(self) -> tuple[str, str]:
        """What edits are sorted by."""
        return self.timestamp, self.id


class DueEdit(Struct, frozen=True):
    """An edit to make of an experience."""

    experience_id: str
    kind: EditKind
    changes: PoolChanges


def changes_of(fields: Mapping[str, object], root: str) -> PoolChanges:
    """Make changes of a map as a client sends it: decision?, rationale?, files_touched?, outcome? {kind,
    error?}, trust?, commit?; with secrets masked. An outcome without a kind takes the outcome away.

    Raises `InvalidRequest` with the field's name, also where nothing is changed.
    """
    try:
        changes = _changes_in(fields, root)
    except BadField as error:
        raise InvalidRequest(f"{error.field} {error}.", error.field) from error
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
    """Read an edit out of a map that was stored; unknown fields are ignored. Raises `BadField`."""
    identifier, of = (clean_name(name, text_in(fields, name)) for name in ("id", "of"))
    for name, value in (("id", identifier), ("of", of)):
        if not value:
            raise BadField(name, "is empty")
    kind = cast("EditKind", fields["type"])
    changes = _changes_in(fields, "")
    if kind == "mark" and not changes.outcome:
        raise BadField("outcome", "is missing")
    timestamp = normal_timestamp(text_in(fields, "timestamp"))
    return Edit(identifier, of, timestamp, kind, changes, clean_name("by", text_in(fields, "by", "")))


def edit_fields(edit: Edit) -> dict[str, object]:
    """Return an edit as the map that is stored; what it doesn't change is left out."""
    fields: dict[str, object] = {
        "type": edit.kind,
        "id": edit.id,
        "of": edit.of,
        "timestamp": edit.timestamp,
    }
    fields |= changed_fields(edit.changes)
    return fields | ({"by": edit.by} if edit.by else {})


def changed_fields(changes: PoolChanges) -> dict[str, object]:
    """Return the new values by the names that a client gives them."""
    outcome = None
    if changes.outcome is not None:
        outcome = {"kind": changes.outcome} | ({"error": changes.error} if changes.error else {})
    fields = {
        "decision": changes.decision,
        "rationale": changes.rationale,
        "files_touched": changes.files_touched,
        "outcome": outcome,
        "trust": changes.trust,
        "commit": changes.commit,
    }
    return {name: value for name, value in fields.items() if value is not None}


def applied(experience: Experience, edits: Sequence[Edit]) -> tuple[Experience, bool]:
    """Return what edits, in their order, make of an experience, and whether it is deleted then."""
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
        elif from_git:  # what git undid is back
            marks = [mark for mark in marks if not mark[1]]
    return replace(experience, marks=(*experience.marks, *(mark for mark, _ in marks))), deleted


def changes_nothing(experience: Experience, changes: PoolChanges) -> bool:
    """Tell whether an experience is already as changes would make it."""
    return _changed(experience, changes) == experience


def time_after(edits: Sequence[Edit], now: str) -> str:
    """Return the time of a new edit: now, or just after the last one where a clock went back."""
    if not edits or edits[-1].timestamp < now:
        return now
    last = edits[-1].timestamp
    try:
        return timestamp_of(datetime.fromisoformat(last) + timedelta(milliseconds=1))
    except OverflowError:  # somebody wrote the last moment there is; then the id decides
        return last


def _changes_in(fields: Mapping[str, object], root: str) -> PoolChanges:
    decision, rationale = _optional(fields, "decision"), _optional(fields, "rationale")
    if decision == "":
        raise BadField("decision", "is empty")
    files = None
    if fields.get("files_touched") is not None:
        files, dropped = relative_files(files_in(fields), root)
        if dropped and root:
            raise BadField("files_touched", f"names {dropped} paths outside the project, or too many")
    outcome: OutcomeKind | None = None
    error = ""
    if fields.get("outcome") is not None:
        kind, error = outcome_in(fields)
        outcome = outcome_kind(kind)
    trust = None if fields.get("trust") is None else trust_of(text_in(fields, "trust"))
    error = clean_text("outcome.error", error)
    return PoolChanges(decision, rationale, files, outcome, error, trust, _commit_in(fields))


def _commit_in(fields: Mapping[str, object]) -> str | None:
    if fields.get("commit") is None:
        return None
    commit = clean_name("commit", text_in(fields, "commit"))
    if commit and not _COMMIT.fullmatch(commit):
        raise BadField("commit", "must be the id of a commit, 7 to 64 hexadecimal digits, or empty for none")
    return commit


def _optional(fields: Mapping[str, object], name: str) -> str | None:
    return None if fields.get(name) is None else clean_text(name, text_in(fields, name))


def _masked(text: str | None) -> str | None:
    return None if text is None else mask_piece(text).text


def _changed(experience: Experience, changes: PoolChanges) -> Experience:
    new: dict[str, object] = {
        name: value
        for name, value in (
            ("decision", changes.decision),
            ("rationale", changes.rationale),
            ("files_touched", changes.files_touched),
            ("commit", changes.commit),
        )
        if value is not None
    }
    if changes.outcome is not None:
        new |= {"outcome": changes.outcome, "error": changes.error}
    if changes.trust is not None:
        new["provenance"] = replace(experience.provenance, trust=changes.trust)
    return replace(experience, **new)
