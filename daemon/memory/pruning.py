"""Owns which experiences are to be pruned: by age, count, outcome, irrelevance; knows no file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from .experience import Experience, timestamp_of


class Retention(Struct, frozen=True):
    """What a pool keeps by itself; 0 is without a limit."""

    max_age_days: int = 0
    max_count: int = 0


class Criteria(Struct, frozen=True):
    """What is to be pruned.

    `max_age_days` and `max_count` are limits: what is over either of them goes, and without one all are over.
    The others say which of those over a limit may go, and each must hold: `outcomes` has these outcomes (the
    empty one for none), `irrelevant` has files and all of them are gone, `deleted` was deleted. So each more
    of them prunes less.
    """

    max_age_days: int | None = None
    max_count: int | None = None
    outcomes: Collection[str] | None = None
    irrelevant: bool = False
    deleted: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said, which would prune everything."""
        limits = self.max_age_days is not None or self.max_count is not None
        return not (limits or self.outcomes is not None or self.irrelevant or self.deleted)


def chosen(
    shown: Sequence[Experience],
    trash: Sequence[Experience],
    criteria: Criteria,
    now: datetime,
    exists: Callable[[str], bool],
) -> list[Experience]:
    """Return what the criteria prune of those that are shown and those that are deleted, both newest first.

    The deleted ones don't count: one goes when it is older than the last that is kept. `exists` tells of a
    path relative to the project's root whether there is something.
    """
    over = _over(shown, trash, criteria, now)
    known: dict[str, bool] = {}

    def is_there(path: str) -> bool:
        if path not in known:
            known[path] = exists(path)
        return known[path]

    def goes(experience: Experience) -> bool:
        if over is not None and experience.id not in over:
            return False
        if criteria.outcomes is not None and experience.outcome not in criteria.outcomes:
            return False
        files = experience.files_touched
        return not criteria.irrelevant or (bool(files) and not any(map(is_there, files)))

    candidates = trash if criteria.deleted else [*shown, *trash]
    return sorted(filter(goes, candidates), key=lambda one: (one.timestamp, one.id), reverse=True)


def _over(
    shown: Sequence[Experience], trash: Sequence[Experience], criteria: Criteria, now: datetime
) -> set[str] | None:
    """Return the ids of those that are over a limit, None if there is no limit."""
    if criteria.max_age_days is None and criteria.max_count is None:
        return None
    over: set[str] = set()
    if criteria.max_age_days is not None:
        over |= _before(_oldest(now, criteria.max_age_days), (*shown, *trash))
    if criteria.max_count == 0:
        over.update(one.id for one in (*shown, *trash))
    elif criteria.max_count is not None and len(shown) > criteria.max_count:
        over.update(one.id for one in shown[criteria.max_count :])
        over |= _before(shown[criteria.max_count - 1].timestamp, trash)
    return over


def _before(time: str, experiences: Sequence[Experience]) -> set[str]:
    return {one.id for one in experiences if one.timestamp < time}


def _oldest(now: datetime, days: int) -> str:
    try:
        return timestamp_of(now - timedelta(days=days))
    except OverflowError:
        return ""  # nothing is that old
