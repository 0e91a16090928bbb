"""Owns how near a project's experiences are to a prompt in meaning, as the embedder says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from msgspec import Struct, field

from ..core.errors import FovealError
from ..core.work import Work
from ..embedding.semantics import Semantics
from ..project.projects import Project

COMPARED_MAX = 300
"""The newest ones that are compared: scoring them takes 3 ms once their vectors are known, and older ones are
still found by their files and words."""

TEXT_CHARACTERS = 600
"""Of a decision and its reasons; the model reads 512 tokens of a text and is surest of short ones."""

PROMPT_CHARACTERS = 2_000

WAIT_S = 1.0
"""How long an answer waits for it: it is one reason among several to choose an experience."""


class Meanings(Struct, frozen=True):
    """Similarities to a prompt by ids of experiences, -1 to 1; and what could not be compared, in words."""

    scores: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    pending: bool = False
    """Some have no vector yet: asked again there may be more."""


NO_MEANINGS = Meanings()


class ExperienceMeaning:
    """Compares. On the event loop only."""

    def __init__(self, semantics: Semantics, work: Work) -> None:
        self._semantics = semantics
        self._work = work

    async def near(self, project: Project, prompt: str, within_s: float) -> Meanings:
        """Return how near the newest experiences of a project are to a prompt; nothing without either.

        What has no vector yet gets one as far as the time allows, and is compared the next time.
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
        known = {one: score for n, (one, score) in enumerate(scores) if n not in pending}
        return Meanings(known, pending=bool(pending))

    async def learn(self, project: Project) -> None:
        """Have the vectors of the newest experiences made, so that a prompt needs only its own.

        Raises `FovealError` where the embedder can't.
        """
        if self._semantics.enabled:
            found = await self._work.in_builder(partial(_texts, project))
            await self._semantics.score_texts((), tuple(found.values()), WAIT_S)


_UNCOMPARED = "decisions were not compared by meaning"


def _texts(project: Project) -> dict[str, str]:
    """Return what is compared of the newest experiences, by id."""
    newest, _ = project.pool.list(limit=COMPARED_MAX)
    return {one.id: f"{one.decision}\n{one.rationale}"[:TEXT_CHARACTERS].strip() for one in newest}
