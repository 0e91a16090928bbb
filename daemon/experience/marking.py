"""Owns which earlier experiences a later one marks, as failed or reverted since; knows no file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .experience import Experience
from .records import Known, Records

_NAMED_MAX = 20
"""So many ids that a text names are looked up: more are a list of something else."""
_IDS = re.compile(r"\bx_[0-9a-z]{1,64}\b")


def marked_by(later: Experience, records: Records) -> Iterator[str]:
    """Yield the ids of the known experiences that a new one with the outcome failure or reverted marks.

    They are those whose ids its texts name, and those before it with the same decision about the same files.
    What is not to be believed marks nothing.
    """
    if later.outcome not in ("failure", "reverted") or later.provenance.trust == "low":
        return
    found: dict[str, None] = {}
    for name in _IDS.findall(f"{later.decision}\n{later.rationale}\n{later.error}")[:_NAMED_MAX]:
        if (known := records.canonical(name)) is not None:
            found[known] = None
    decision = _folded(later.decision)
    for one in records.index.touching(later.files_touched[0]) if later.files_touched else ():
        same_files = set(one.files_touched) == set(later.files_touched)
        if same_files and one.timestamp <= later.timestamp and _folded(one.decision) == decision:
            found[one.id] = None
    for experience_id in found:
        if experience_id != later.id:
            yield experience_id


def says_more(known: Known, again: Experience) -> bool:
    """Tell whether an experience that is grafted again says for the first time that it came to nothing."""
    bad = again.outcome in ("failure", "reverted") and again.provenance.trust != "low"
    before = {known.original.outcome, *(edit.changes.outcome for edit in known.edits)}
    return bad and again.outcome not in before


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
