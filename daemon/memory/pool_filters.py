"""Which experiences of a pool are listed, and which are pruned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import cache

from msgspec import Struct

from ..core.errors import InvalidRequest
from ..core.times import timestamp_of
from .experience import Experience, normal_timestamp
from .pool_records import contains

Seen = Callable[[Experience], Experience | None]
"""Returns an experience as somebody may see it, None for one that is hidden."""


def as_it_is(experience: Experience) -> Experience:
    """Return an experience for who may see all."""
    return experience


class ExperienceListing(Struct, frozen=True):
    """Which experiences are listed; None matches any value.

    `limit` is their maximum number. `since` is inclusive, `until` exclusive, both ISO 8601. Each word of
    `query` must occur, whatever its case, in the decision, the rationale or the files. With `deleted` only
    those that were deleted are listed. With `everywhere` those of other work trees are listed too. `before`
    is the cursor of the last experience of the page before.
    """

    limit: int | None = None
    agent_id: str | None = None
    session_id: str | None = None
    outcome: str | None = None
    trust: str | None = None
    since: str | None = None
    until: str | None = None
    query: str | None = None
    deleted: bool = False
    before: str = ""
    everywhere: bool = False

    def matching(self, experiences: Sequence[Experience]) -> list[Experience]:
        """Return the experiences that match, whatever the limit.

        Raises `InvalidRequest` for a `since` or `until` that is no time.
        """
        since, until = time_of(self.since, "since"), time_of(self.until, "until")
        words = (self.query or "").casefold().split()
        return [
            experience
            for experience in experiences
            if self.agent_id in {None, experience.agent_id}
            and self.session_id in {None, experience.session_id}
            and self.outcome in {None, experience.outcome}
            and self.trust in {None, experience.provenance.trust}
            and (since is None or experience.timestamp >= since)
            and (until is None or experience.timestamp < until)
            and contains(experience, words)
        ]

    def page_of(self, found: Sequence[Experience]) -> Sequence[Experience]:
        """Return the page of the experiences that match, newest first. Raises `InvalidRequest` for an
        unusable cursor."""
        limit = len(found) if self.limit is None else max(self.limit, 0)
        start = _place_after(self.before, found) if self.before else 0
        return found[start : start + limit]


def cursor_after(experience: Experience) -> str:
    """Return what `before` of a listing is for the page after this experience."""
    return f"{experience.timestamp}{_CURSOR}{experience.id}"


_CURSOR = "~"


def _place_after(cursor: str, found: Sequence[Experience]) -> int:
    time, mark, experience_id = cursor.partition(_CURSOR)
    if not mark:
        raise InvalidRequest(f"before is no next of a page: {cursor!r:.60}", "before")
    for place, experience in enumerate(found):
        if experience.id == experience_id:
            return place + 1
    # It was deleted meanwhile. Others of its moment may come twice, rather than not at all.
    return sum(experience.timestamp > time for experience in found)


def time_of(text: str | None, name: str) -> str | None:
    """Return a time in ISO 8601 in the form of experiences, None for none or an empty text.

    Raises `InvalidRequest` with the field's name.
    """
    return normal_timestamp(text, name) if text else None


class Criteria(Struct, frozen=True):
    """The experiences to prune.

    `max_age_days` and `max_count` are limits: experiences over either of them are candidates; without limits
    all are. Candidates must meet every other criterion: `outcomes` has their outcome (the empty one for
    none), `irrelevant`: they have files, and all of these are gone, `deleted`: they were deleted. So each
    further criterion prunes less.
    """

    max_age_days: int | None = None
    max_count: int | None = None
    outcomes: Collection[str] | None = None
    irrelevant: bool = False
    deleted: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is no criterion, which would prune everything."""
        limits = self.max_age_days is not None or self.max_count is not None
        return not (limits or self.outcomes is not None or self.irrelevant or self.deleted)


def chosen(
    shown: Sequence[Experience],
    trash: Sequence[Experience],
    criteria: Criteria,
    now: datetime,
    exists: Callable[[str], bool],
) -> list[Experience]:
    """Return the experiences to prune of the shown and the deleted ones, both newest first.

    Deleted ones don't count for `max_count`: they are pruned if older than the last that is kept. `exists`
    tells whether a path relative to the project's root exists.
    """
    over = _over(shown, trash, criteria, now)
    is_there = cache(exists)

    def goes(experience: Experience) -> bool:
        if over is not None and experience.id not in over:
            return False
        if criteria.outcomes is not None and experience.outcome not in criteria.outcomes:
            return False
        files = experience.files_touched
        return not criteria.irrelevant or (bool(files) and not any(map(is_there, files)))

    candidates = trash if criteria.deleted else [*shown, *trash]
    return sorted(
        filter(goes, candidates), key=lambda experience: (experience.timestamp, experience.id), reverse=True
    )


def _over(
    shown: Sequence[Experience], trash: Sequence[Experience], criteria: Criteria, now: datetime
) -> set[str] | None:
    """Return the ids of experiences over a limit, None without a limit."""
    if criteria.max_age_days is None and criteria.max_count is None:
        return None
    over: set[str] = set()
    if criteria.max_age_days is not None:
        over |= _before(_oldest(now, criteria.max_age_days), (*shown, *trash))
    if criteria.max_count == 0:
        over.update(experience.id for experience in (*shown, *trash))
    elif criteria.max_count is not None and len(shown) > criteria.max_count:
        over.update(experience.id for experience in shown[criteria.max_count :])
        over |= _before(shown[criteria.max_count - 1].timestamp, trash)
    return over


def _before(time: str, experiences: Sequence[Experience]) -> set[str]:
    return {experience.id for experience in experiences if experience.timestamp < time}


def _oldest(now: datetime, days: int) -> str:
    try:
        return timestamp_of(now - timedelta(days=days))
    except OverflowError:
        return ""  # nothing is that old
