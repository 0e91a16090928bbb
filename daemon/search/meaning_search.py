"""The vector search for one question, which runs in the embedder's process during the lexical search."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import Busy, FovealError
from ..core.work import Deadline, Work
from ..embedding.records import INCOMPLETE, SearchVectors
from ..embedding.service import EmbedderClient

if TYPE_CHECKING:
    from .candidates import GatheredCandidates
    from .question import Question

VECTORS_WAIT_S, VECTORS_SHARE = 2.0, 0.6
"""Maximum seconds to wait for the vector search, and maximum share of the time to the deadline; the rest is
for ranking. Loading the model takes .5 s, and 1.2 s the first time ever."""

FIRST_MAX = 24
FIRST_S = 0.15
"""Maximum number of the best lexical candidates without a vector that are embedded before the answer, and
maximum seconds for this. One core embeds 160 a second, so about 20 in this time."""


LATE = "not searched by meaning: the embedding model didn't answer in time"


class VectorsFound(NamedTuple):
    """Result of a vector search.

    `hits` are the digests of chunk texts with their cosines, best first. `problem` says in words why hits are
    missing. `embedded` says whether all chunks of the project have vectors."""

    hits: tuple[tuple[bytes, float], ...] = ()
    problem: str = ""
    embedded: bool = True


class MeaningSearch:
    """The vector search for one question. Runs on the event loop only, except for `begin_early`.

    `settled` says that no chunk waits for its vector. The embedder then needs only the question, and not the
    results of the lexical search.
    """

    def __init__(
        self, work: Work, semantics: EmbedderClient, root: str, deadline: Deadline, *, settled: bool
    ) -> None:
        self.enabled = semantics.enabled
        self._work = work
        self._semantics = semantics
        self._root = root
        self._deadline = deadline
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._found: asyncio.Future[VectorsFound] | None = None
        self._cancelled = False

    def begin_early(self, question: Question, files: tuple[int, ...] | None) -> None:
        """Start the vector search from a thread, if it doesn't need the results of the lexical search."""
        if self.enabled and self._settled:
            self._loop.call_soon_threadsafe(self._begin_early, question, files, context=self._context)

    async def found(self, gathered: GatheredCandidates, reserved_s: float) -> VectorsFound:
        """Wait for the vector search and return its result; starts it if it isn't running.

        The wait ends `reserved_s` seconds before the deadline, which are for ranking."""
        if self._found is None:
            first = tuple(number for number, _ in gathered.candidates.lexical[:FIRST_MAX])
            self._begin(gathered.question, gathered.files, first)
        assert self._found is not None
        await asyncio.wait(
            (self._found,), timeout=self._deadline.left(VECTORS_WAIT_S + reserved_s) - reserved_s
        )
        return self._found.result() if self._found.done() else VectorsFound(problem=LATE)

    def cancel(self) -> None:
        """Cancel the vector search if it is running, since its result isn't needed any more."""
        self._cancelled = True
        if self._found is not None:
            self._found.cancel()

    def _begin_early(self, question: Question, files: tuple[int, ...] | None) -> None:
        if not self._cancelled:
            with suppress(Busy):  # `found` starts the search again and reports the error
                self._begin(question, files, ())

    def _begin(self, question: Question, files: tuple[int, ...] | None, first: tuple[int, ...]) -> None:
        self._found = self._work.start(self._search(question, files, first), "search vectors")

    async def _search(
        self, question: Question, files: tuple[int, ...] | None, first: tuple[int, ...]
    ) -> VectorsFound:
        from .candidates import VECTOR_MAX

        texts = question.windows or ((question.text[:1_000],) if question.text.strip() else ())
        if not texts or not self.enabled:
            return VectorsFound()
        if not self._semantics.keeps(self._root):
            return VectorsFound(problem=f"{INCOMPLETE}: the project is still being indexed")
        within_s = self._deadline.left(VECTORS_WAIT_S / VECTORS_SHARE) * VECTORS_SHARE
        command = SearchVectors(
            self._root,
            texts,
            VECTOR_MAX,
            files,
            first,
            min(FIRST_S, within_s / 4),
            wait_s=within_s * 0.8,
        )
        try:
            async with asyncio.timeout(within_s):
                hits = await self._semantics.search(command)
        except TimeoutError:
            return VectorsFound(problem=LATE)
        except FovealError as error:
            return VectorsFound(problem=f"not searched by meaning: {error}")
        problem = self._semantics.incomplete if hits.pending else ""
        return VectorsFound(hits.hits, problem, not hits.pending)
