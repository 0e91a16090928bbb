"""The lines that a batch of experiences adds to a pool: the new ones, and the marks that they make."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterator
from itertools import chain

from msgspec.structs import replace

from .edits import Edit, PoolChanges, time_after
from .experience import Experience, identity_of
from .pool_records import Known, Records

_NAMED_MAX = 20
"""Maximum number of ids in a text that are looked up."""
_IDS = re.compile(r"\bx_[0-9a-z]{1,64}\b")
_BAD = ("failure", "reverted")


class GraftBatch:
    """A batch of checked experiences.

    `new` has those that get a line, by identity; `warnings` are pairs of a draft's index and a sentence.
    `hidden` are the ids of experiences of which nobody knows here.
    """

    def __init__(self, records: Records, now: str, hidden: Collection[str] = ()) -> None:
        self.new: dict[bytes, Experience] = {}
        self.warnings: list[tuple[int, str]] = []
        self._records = records
        self._hidden = hidden
        self._now = now
        self._edits: dict[str, list[Edit]] = {}

    def take(self, number: int, experience: Experience) -> None:
        """Add an experience; a duplicate adds at most a mark to the known one."""
        known = self._known(experience)
        if known is None:
            experience = replace(experience, id=f"x_{secrets.token_hex(8)}")
            self.new[identity_of(experience)] = experience
            for marked in marked_by(experience, self._records):
                if marked in self._hidden:
                    told = f"it names {marked}, which shows in other work trees only, so that isn't marked"
                    self.warnings.append((number, told))
                else:
                    self._mark(marked, experience, experience.id)
        elif known.deleted:
            of = known.original.id
            self.warnings.append((number, f"it was deleted as {of}, which can be restored"))
        elif says_more(known, experience):
            self._mark(known.original.id, experience, "")

    def records(self) -> list[Experience | Edit]:
        """Return what is to be appended."""
        return [*self.new.values(), *chain.from_iterable(self._edits.values())]

    def _known(self, experience: Experience) -> Known | None:
        """Return the experience in the pool or the batch that this one duplicates."""
        if (first := self.new.get(identity_of(experience))) is not None:
            return Known(first, self._edits_of(first.id), first, deleted=False, is_shared=False)
        found = self._records.known_as(experience, self._hidden)
        known = None if found is None else self._records.get(found)
        return None if known is None else replace(known, edits=self._edits_of(known.original.id))

    def _edits_of(self, experience_id: str) -> tuple[Edit, ...]:
        known = self._records.get(experience_id)
        return (*(known.edits if known else ()), *self._edits.get(experience_id, ()))

    def _mark(self, marked: str, later: Experience, by: str) -> None:
        at = time_after(self._edits_of(marked), self._now)
        changes = PoolChanges(outcome=later.outcome, error=later.error)
        self._edits.setdefault(marked, []).append(Edit(new_edit_id(), marked, at, "mark", changes, by))


def new_edit_id() -> str:
    """Return an id for an edit."""
    return f"e_{secrets.token_hex(8)}"


def marked_by(later: Experience, records: Records) -> Iterator[str]:
    """Yield the ids of known experiences that a new one with the outcome failure or reverted marks.

    They are those whose ids its texts name. An experience of low trust marks nothing.
    """
    if later.outcome not in _BAD or later.provenance.trust == "low":
        return
    named = _IDS.findall(f"{later.decision}\n{later.rationale}\n{later.error}")[:_NAMED_MAX]
    yield from dict.fromkeys(name for name in named if name != later.id and records.get(name) is not None)


def says_more(known: Known, again: Experience) -> bool:
    """Tell whether an experience that is grafted again reports its failure for the first time."""
    before = {known.original.outcome, *(edit.changes.outcome for edit in known.edits)}
    return again.outcome in _BAD and again.provenance.trust != "low" and again.outcome not in before
