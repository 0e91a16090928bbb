"""Owns what is asked of projects' pools: grafting, listing, changing, pruning; and tells who subscribed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.events import EventHub
from ..core.system import System
from ..core.work import Work
from ..project.git import head
from ..project.projects import Project
from .commit_rules import Ruling
from .draft import Draft
from .experience import Experience
from .pool import GraftResult, PruneResult
from .pruning import Criteria
from .quarantine import Quarantined
from .records import Known

Change = Literal["updated", "deleted", "restored", "pruned"]

TOLD_MAX = 1_000
"""Maximum number of ids that an event names; of more that were pruned it has the number only."""


class ExperienceListing(Struct, frozen=True):
    """What is to be listed; None doesn't matter. `since` is inclusive, `until` exclusive, both ISO 8601."""

    limit: int
    agent_id: str | None = None
    session_id: str | None = None
    outcome: str | None = None
    trust: str | None = None
    since: str | None = None
    until: str | None = None
    query: str | None = None
    deleted: bool = False


class Experiences:
    """The pools of all open projects. Every method belongs on the event loop, and raises what pools raise."""

    def __init__(self, work: Work, events: EventHub, system: System) -> None:
        self._work = work
        self._events = events
        self._system = system

    async def graft(self, project: Project, draft: Draft) -> GraftResult:
        """Keep an experience; durable when this returns. One that says no time is of the current commit, and
        of its files as they are."""
        if not draft.commit and not draft.timestamp:
            found = await self._work.in_builder(partial(head, project.root, self._system))
            draft = replace(draft, commit=found.commit if found else "")
        if not draft.timestamp:
            draft = await self._work.in_builder(partial(project.sketches.sketched, draft))
        result = await self._work.in_writer(partial(project.pool.graft, [draft]))
        if result.grafted:
            project.feedback.used(path for one in project.pool.some(result.ids) for path in one.files_touched)
            data = {"project": project.root, "experience_ids": list(result.ids), "grafted": result.grafted}
            self._events.publish("experience.grafted", data)
        return result

    async def listed(
        self, project: Project, listing: ExperienceListing
    ) -> tuple[tuple[Experience, ...], int]:
        """Return a project's experiences, newest first, and how many match in all."""
        return await self._work.in_builder(partial(_listed, project, listing))

    async def get(self, project: Project, experience_id: str) -> Known:
        """Return an experience with its edits. Raises `NotFound`."""
        return await self._work.in_builder(partial(_get, project, experience_id))

    async def update(self, project: Project, experience_id: str, fields: dict[str, object]) -> Known:
        """Change fields of an experience. Raises `InvalidRequest` or `NotFound`."""
        known = await self._work.in_writer(partial(project.pool.update, experience_id, fields))
        self._tell(project, "updated", [known.original.id])
        return known

    async def annotate(self, project: Project, due: Sequence[Ruling]) -> tuple[str, ...]:
        """Write the edits that are due, and return the ids of the experiences that they changed."""
        if not due:
            return ()
        edits = [(one.experience_id, one.kind, one.changes) for one in due]
        ids = await self._work.in_writer(partial(project.pool.annotate, edits))
        if ids:
            self._tell(project, "updated", list(ids))
        return ids

    async def delete(self, project: Project, experience_id: str) -> tuple[Known, bool]:
        """Delete an experience, which can be restored; false if it was already. Raises `NotFound`."""
        return await self._toggle(project, "deleted", partial(project.pool.delete, experience_id))

    async def restore(self, project: Project, experience_id: str) -> tuple[Known, bool]:
        """Undo a deletion; false if it isn't deleted. Raises `NotFound`."""
        return await self._toggle(project, "restored", partial(project.pool.restore, experience_id))

    async def prune(self, project: Project, criteria: Criteria, *, dry_run: bool) -> PruneResult:
        """Remove for good what the criteria choose, or say what that would be."""

        def exists(path: str) -> bool:
            try:
                self._system.lstat(os.path.join(project.root, path))
            except (FileNotFoundError, NotADirectoryError):
                return False
            except OSError:
                return True  # what can't be looked at may be there
            return True

        work = partial(project.pool.prune, criteria, exists, dry_run=dry_run)
        result = await (self._work.in_builder(work) if dry_run else self._work.in_writer(work))
        if result.pruned and not dry_run:
            self._tell(project, "pruned", [one.id for one in result.pruned])
        return result

    async def quarantined(self, project: Project, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        """Return the last lines that could not be read, and how many there are in all."""
        return await self._work.in_builder(partial(project.pool.quarantined, limit))

    async def _toggle(
        self, project: Project, change: Change, work: Callable[[], tuple[Known, bool]]
    ) -> tuple[Known, bool]:
        known, changed = await self._work.in_writer(work)
        if changed:
            self._tell(project, change, [known.original.id])
        return known, changed

    def _tell(self, project: Project, change: Change, ids: list[str]) -> None:
        data = {"project": project.root, "change": change, "count": len(ids)}
        self._events.publish("experience.changed", {**data, "experience_ids": ids[:TOLD_MAX]})


def _listed(project: Project, listing: ExperienceListing) -> tuple[tuple[Experience, ...], int]:
    project.pool.refresh()
    return project.pool.list(
        agent_id=listing.agent_id,
        session_id=listing.session_id,
        outcome=listing.outcome,
        trust=listing.trust,
        since=listing.since,
        until=listing.until,
        query=listing.query,
        deleted=listing.deleted,
        limit=listing.limit,
    )


def _get(project: Project, experience_id: str) -> Known:
    project.pool.refresh()
    return project.pool.get(experience_id)
