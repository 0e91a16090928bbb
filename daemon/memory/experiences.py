"""The experiences of open projects: grafting, listing, changing, pruning, with events; and their similarity
to a prompt in meaning."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.events import EventHub
from ..core.system import System
from ..core.work import Work
from ..embedding.service import EmbedderClient
from ..project.service import head
from .edits import DueEdit
from .experience import Draft
from .file_sketches import FileSketches
from .pool import GraftResult, Pool, PruneResult
from .pool_filters import Criteria, ExperienceListing
from .pool_records import Known

T = TypeVar("T")
Change = Literal["updated", "deleted", "restored", "pruned"]

EVENT_IDS_MAX = 1_000
"""Maximum number of ids in an event; the count says how many there are."""


class PoolOwner(Protocol):
    """A project with a pool of experiences. `folder` is its part of the state folder."""

    @property
    def root(self) -> str:
        """The project's folder."""

    @property
    def folder(self) -> str:
        """The folder of what is kept about the project."""

    @property
    def pool(self) -> Pool:
        """Its experiences."""

    @property
    def sketches(self) -> FileSketches:
        """The sketches of its files."""


class Experiences:
    """The pools of all open projects. On the event loop only; raises what pools raise."""

    def __init__(self, work: Work, events: EventHub, system: System) -> None:
        self._work = work
        self._events = events
        self._system = system

    async def graft(self, project: PoolOwner, draft: Draft) -> GraftResult:
        """Graft an experience; durable when this returns. Without a time it gets the current commit and
        sketches of its files now."""
        if not draft.commit and not draft.timestamp:
            found = await self._work.in_builder(partial(head, project.root, self._system))
            draft = replace(draft, commit=found.commit if found else "")
        if not draft.timestamp:
            draft = await self._work.in_builder(partial(project.sketches.sketched, draft))
        result = await self._work.in_writer(partial(project.pool.graft, [draft]))
        if result.grafted:
            data = {"project": project.root, "experience_ids": list(result.ids), "grafted": result.grafted}
            self._events.publish("experience.grafted", data)
        return result

    async def read(self, project: PoolOwner, work: Callable[[Pool], T]) -> T:
        """Return what a function reads of a project's pool, as it is on the disk now."""

        def read() -> T:
            project.pool.refresh()
            return work(project.pool)

        return await self._work.in_builder(read)

    async def update(self, project: PoolOwner, experience_id: str, fields: dict[str, object]) -> Known:
        """Change fields of an experience. Raises `InvalidRequest` or `NotFound`."""
        known = await self._work.in_writer(partial(project.pool.update, experience_id, fields))
        self._tell(project, "updated", [known.original.id])
        return known

    async def annotate(self, project: PoolOwner, due: Sequence[DueEdit]) -> tuple[str, ...]:
        """Write the edits that are due; returns the ids of the changed experiences."""
        if not due:
            return ()
        ids = await self._work.in_writer(partial(project.pool.annotate, due))
        if ids:
            self._tell(project, "updated", list(ids))
        return ids

    async def delete(self, project: PoolOwner, experience_id: str) -> tuple[Known, bool]:
        """Delete an experience, which can be restored; false if it was deleted already. Raises `NotFound`."""
        return await self._toggle(project, "deleted", partial(project.pool.delete, experience_id))

    async def restore(self, project: PoolOwner, experience_id: str) -> tuple[Known, bool]:
        """Undo a deletion; false if it isn't deleted. Raises `NotFound`."""
        return await self._toggle(project, "restored", partial(project.pool.restore, experience_id))

    async def prune(self, project: PoolOwner, criteria: Criteria, *, dry_run: bool) -> PruneResult:
        """Remove for good the experiences that the criteria choose; a dry run only returns them.

        A file that exists in any work tree of the repository exists.
        """
        view = project.pool.view
        living = await self._work.in_builder(view.living) if view is not None else {}
        roots = dict.fromkeys((project.root, *(tree.root for tree in living.values())))

        def is_in(root: str, path: str) -> bool:
            try:
                self._system.lstat(os.path.join(root, path))
            except (FileNotFoundError, NotADirectoryError):
                return False
            except OSError:
                return True  # it may exist
            return True

        def exists(path: str) -> bool:
            return any(is_in(root, path) for root in roots)

        work = partial(project.pool.prune, criteria, exists, dry_run=dry_run)
        result = await (self._work.in_builder(work) if dry_run else self._work.in_writer(work))
        if result.pruned and not dry_run:
            self._tell(project, "pruned", [experience.id for experience in result.pruned])
        return result

    async def _toggle(
        self, project: PoolOwner, change: Change, work: Callable[[], tuple[Known, bool]]
    ) -> tuple[Known, bool]:
        known, changed = await self._work.in_writer(work)
        if changed:
            self._tell(project, change, [known.original.id])
        return known, changed

    def _tell(self, project: PoolOwner, change: Change, ids: list[str]) -> None:
        data = {"project": project.root, "change": change, "count": len(ids)}
        self._events.publish("experience.changed", {**data, "experience_ids": ids[:EVENT_IDS_MAX]})


COMPARED_MAX = 300
"""Maximum number of experiences compared, the newest: 3 ms with known vectors; older ones are still found by
their files and words."""

TEXT_CHARACTERS = 600
"""Maximum characters of a decision with its rationale; the model is most precise for short texts."""

PROMPT_CHARACTERS = 2_000

WAIT_S = 1.0
"""Maximum seconds an answer waits for the comparison, one of several reasons to choose an experience."""


class Meanings(Struct, frozen=True):
    """Similarities to a prompt by ids of experiences, -1 to 1; and in words what could not be compared."""

    scores: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    pending: bool = False
    """Some have no vector yet; a later call may return more."""


NO_MEANINGS = Meanings()


class ExperienceMeaning:
    """Compares experiences with prompts in meaning. On the event loop only."""

    def __init__(self, semantics: EmbedderClient, work: Work) -> None:
        self._semantics = semantics
        self._work = work

    async def near(self, project: PoolOwner, prompt: str, within_s: float) -> Meanings:
        """Return the similarity of a project's newest experiences to a prompt; empty without either.

        Experiences without a vector get one as far as the time allows, and are compared next time.
        """
        if not prompt.strip() or not self._semantics.enabled or not project.pool.statistics().experiences:
            return NO_MEANINGS
        found = await self._work.in_builder(partial(_texts, project))
        within_s = min(within_s, WAIT_S)
        try:
            async with asyncio.timeout(within_s):
                query = prompt[:PROMPT_CHARACTERS]
                told = await self._semantics.score_texts((query,), tuple(found.values()), within_s / 2)
        except TimeoutError:
            return Meanings(degraded=(f"{_UNCOMPARED}: the embedding model didn't answer in time",))
        except FovealError as error:
            return Meanings(degraded=(f"{_UNCOMPARED}: {error}",))
        pending = frozenset(told.pending)
        scores = zip(found, told.rows[0], strict=True)
        known = {experience_id: score for n, (experience_id, score) in enumerate(scores) if n not in pending}
        return Meanings(known, pending=bool(pending))


_UNCOMPARED = "decisions were not compared by meaning"


def _texts(project: PoolOwner) -> dict[str, str]:
    """Return the compared texts of the newest experiences, by id."""
    newest, _ = project.pool.list(ExperienceListing(COMPARED_MAX))
    return {
        experience.id: f"{experience.decision}\n{experience.rationale}"[:TEXT_CHARACTERS].strip()
        for experience in newest
    }
