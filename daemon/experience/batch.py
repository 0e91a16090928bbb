"""Owns what a batch of checked experiences adds to a pool: those that are new, and marks; writes nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from .edits import Changes, Edit, time_after
from .experience import Experience, identity_of
from .lines import line_of
from .marking import marked_by, says_more
from .records import Known, Records


class Batch:
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
        changes = Changes(outcome=later.outcome, error=later.error)
        edit = Edit(new_edit_id(), marked, time_after(edits, self._now), "mark", changes, by)
        self._edits.setdefault(marked, []).append(edit)


def new_edit_id() -> str:
    """Return an id for an edit."""
    return f"e_{secrets.token_hex(8)}"
