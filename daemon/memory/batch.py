"""Owns what a batch of checked experiences adds to a pool: those that are new, and which they mark."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from itertools import chain

from msgspec.structs import replace

from .edits import Edit, PoolChanges, time_after
from .experience import Experience, identity_of
from .lines import line_of
from .records import Known, Records

_NAMED_MAX = 20
"""Maximum number of ids in a text that are looked up: more are a list of something else."""
_IDS = re.compile(r"\bx_[0-9a-z]{1,64}\b")


class GraftBatch:
    """Takes experiences without ids, `number` being the place of each among the drafts.

    `new` has those that get a line, by identity; `warnings` are pairs of a number and a sentence.
    """

    def __init__(self, records: Records, new_id: Callable[[], str], now: str) -> None:
        self.new: dict[bytes, Experience] = {}
        self.warnings: list[tuple[int, str]] = []
        self._records = records
        self._new_id = new_id
        self._now = now
        self._edits: dict[str, list[Edit]] = {}

    def take(self, number: int, experience: Experience) -> None:
        """Take one; one that is known adds at most a mark to what is known."""
        known = self._known(experience)
        if known is None:
            experience = replace(experience, id=self._new_id())
            self.new[identity_of(experience)] = experience
            for marked in marked_by(experience, self._records):
                self._mark(marked, experience, experience.id)
        elif known.deleted:
            of = known.original.id
            self.warnings.append((number, f"it was deleted as {of}, which can be restored"))
        elif says_more(known, experience):
            self._mark(known.original.id, experience, "")

    def lines(self) -> bytes:
        """Return what is to be appended."""
        experiences = map(line_of, self.new.values())
        edits = map(line_of, chain.from_iterable(self._edits.values()))
        return b"".join((*experiences, *edits))

    def _known(self, experience: Experience) -> Known | None:
        """Return what an experience is a duplicate of, in the pool or in the batch."""
        first = self.new.get(identity_of(experience))
        if first is not None:
            return Known(first, tuple(self._edits.get(first.id, ())), first, deleted=False, source=0)
        found = self._records.known_as(experience)
        known = None if found is None else self._records.get(found)
        if known is None:
            return None
        return replace(known, edits=(*known.edits, *self._edits.get(known.original.id, ())))

    def _mark(self, marked: str, later: Experience, by: str) -> None:
        known = self._records.get(marked)
        edits = (*(known.edits if known else ()), *self._edits.get(marked, ()))
        changes = PoolChanges(outcome=later.outcome, error=later.error)
        edit = Edit(new_edit_id(), marked, time_after(edits, self._now), "mark", changes, by)
        self._edits.setdefault(marked, []).append(edit)


def new_edit_id() -> str:
    """Return an id for an edit."""
    return f"e_{secrets.token_hex(8)}"


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
