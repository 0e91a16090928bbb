"""The search service: asks the lexical index and the graph in a thread and the embedder at the same time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.storage import DatabaseError
from ..core.work import Deadline, Work
from ..embedding.service import EmbedderClient
from ..index.records import LinkFirst, RebuildLexical
from ..index.service import Reader
from ..languages.shared.records import Symbol
from ..privacy.policy import NO_POLICY, Policy
from ..workspace.records import ProjectSnapshot
from ..workspace.service import IndexerClient, Project, before_search
from .meaning_search import MeaningSearch
from .query import Hit, Need, SearchQuery, SearchResult

if TYPE_CHECKING:
    from .candidates import GatheredCandidates

log = logging.getLogger(__name__)
T = TypeVar("T")

LINKING_WAIT_S = 2.0
"""Maximum seconds to the deadline that are divided between linking files and the answer."""

LINKING_SHARE = 0.5
"""Share of this time in which files are linked; the rest is for the answer."""

FEW_UNREAD = 64
"""Maximum number of unread files for which no order is asked for: they are read in half a second."""

READING_WAIT_S = 60.0
"""Maximum seconds to wait until the unread files that a question needs are read and linked, if the deadline
allows it."""

RANKING_SHARE = 2.0
"""Time reserved for ranking, relative to the time that gathering took in the same search. For prompts
on caddy ranking takes 1.5 to 2.3 times as much processor time."""

PREFERRED_HITS = 10
"""Number of the best hits whose files are embedded before others, if they have no vectors yet."""


class SearchService:
    """Answers questions. Runs on the event loop only; blocking work runs in the builder threads."""

    def __init__(self, work: Work, indexing: IndexerClient, semantics: EmbedderClient) -> None:
        self._work = work
        self._indexing = indexing
        self._semantics = semantics
        self._rebuilding: set[str] = set()

    async def search(
        self,
        project: Project,
        ask: SearchQuery,
        deadline: Deadline,
        policy: Policy = NO_POLICY,
    ) -> SearchResult:
        """Answer a question from the current index, without the files that the policy hides.

        Raises `ValueError` for an invalid glob.
        """
        tree, first = project.tree, False
        unread = tree.pending > FEW_UNREAD
        if unread:
            about = await self._work.in_builder(partial(_asked_about, ask))
            first = await self.read_first(project, deadline, LinkFirst(project.root, *about))
        snapshot = project.snapshot(policy)
        try:
            gathered, hits, degraded = await self._answer(
                project, snapshot, ask, deadline, linked_first=first
            )
            unlinked = () if unread else gathered.unlinked
            if unlinked and await self.link_first(project, unlinked, deadline):
                snapshot = project.snapshot(policy)
                gathered, hits, degraded = await self._answer(
                    project, snapshot, ask, deadline, linked_first=True
                )
            from . import pipeline  # by now a thread has loaded it

            need = gathered.need
            if pipeline.goes_on(gathered, hits, ask):
                # The words that limited the search may have meant something else, so search everywhere too.
                rest = replace(ask, route="hybrid")
                wider, others, also_degraded = await self._answer(project, snapshot, rest, deadline)
                need = wider.need
                hits = pipeline.joined(hits, others, ask)
                degraded += also_degraded
        except DatabaseError as error:
            reason = f"the index can't be read ({error}): nothing can be found until it is built anew"
            if project.state == "scanning" and getattr(error, "sqlite_errorname", "") == "SQLITE_CANTOPEN":
                reason = "the project isn't indexed yet: ask again in a moment"
            return SearchResult((), ask.route or "hybrid", ask.route or "hybrid", (), (reason,), _HINT)
        best = max((hit.score for hit in hits), default=0.0)
        limit = ask.limit if gathered.answer is None else ask.graph_limit
        hits = pipeline.given(hits, ask, policy, limit)
        hint = "" if hits or not ask.limit else pipeline.hint_for(project, snapshot, ask, gathered, best)
        reasons = tuple(dict.fromkeys(degraded))
        if hits:  # the next question is probably about the same files
            self._semantics.prefer(project.root, dict.fromkeys(hit.path for hit in hits[:PREFERRED_HITS]))
        if gathered.is_final and ask.definitions and not hits:
            need = Need(1.0, "it asks for one thing, which there is not", hint)
        evidence = pipeline.told(gathered.evidence, hits)
        return SearchResult(
            hits, gathered.intent, gathered.route, evidence, reasons, hint, need, gathered.near
        )

    async def _answer(
        self,
        project: Project,
        snapshot: ProjectSnapshot,
        ask: SearchQuery,
        deadline: Deadline,
        *,
        linked_first: bool = False,
    ) -> tuple[GatheredCandidates, tuple[Hit, ...], list[str]]:
        """Return the candidates, the hits, and the indexes that could not be asked.

        Raises `DatabaseError`."""
        vectors = MeaningSearch(
            self._work, self._semantics, project.root, deadline, settled=self.is_settled(project)
        )
        now = asyncio.get_running_loop().time
        began = now()
        try:
            gather = partial(_gather, snapshot, ask, vectors, linked_first=linked_first)
            gathered, hits = await self._read(snapshot, gather)
            degraded = list(gathered.degraded)
            if gathered.lexical_damaged:
                self._rebuild(project)
            if hits is not None:
                return gathered, hits, degraded
            found, problem, embedded = await vectors.found(gathered, RANKING_SHARE * (now() - began))
        finally:
            vectors.cancel()
        if problem:
            degraded.append(problem)
        from .pipeline import conclude_hits

        conclude = partial(conclude_hits, snapshot, ask, gathered, found, embedded=embedded)
        gathered, concluded = await self._read(snapshot, conclude)
        return gathered, concluded, degraded

    async def parse(self, texts: Sequence[tuple[str, str]]) -> list[tuple[Symbol, ...]]:
        """Return the definitions of texts that aren't indexed. Raises `FovealError` without an indexer."""
        return await self._indexing.parse(texts)

    def is_settled(self, project: Project) -> bool:
        """Whether no chunk waits for its vector, so that the same question will get the same answer later."""
        progress = self._semantics.progress(project.root)
        return not self._semantics.enabled or (progress is not None and not progress.pending)

    def load(self) -> None:
        """Import the search modules in the background, to save the first search 70 ms of processor time."""
        self._work.start_background(self._work.in_builder(_load), "load search")

    def prefer(self, project: Project, nodes: Iterable[str]) -> None:
        """Embed the files of these nodes before others, if they have no vectors yet."""
        files = dict.fromkeys(node.partition("#")[0] for node in nodes)
        indexed = [path for path in files if path in project.tree.files]
        if indexed:
            self._semantics.prefer(project.root, indexed)

    async def _read(self, snapshot: ProjectSnapshot, work: Callable[[Reader], T]) -> T:
        def read() -> T:
            with snapshot.reader() as reader, reader.snapshot():
                return work(reader)

        return await self._work.in_builder(read)

    async def read_first(self, project: Project, deadline: Deadline, wanted: LinkFirst) -> bool:
        """Ask the indexer to read and link the files that a question needs before all others.

        Returns False if that takes too long or isn't possible yet."""
        if project.tree.pending <= FEW_UNREAD or not any((*wanted.names, *wanted.words)):
            return False
        return await self._ask_first(wanted, before_search(deadline).left(READING_WAIT_S))

    async def link_first(self, project: Project, names: tuple[str, ...], deadline: Deadline) -> bool:
        """Ask the indexer to link the files that mention some names before all others.

        Returns False if linking takes too long or isn't possible yet."""
        wait_s = LINKING_SHARE * deadline.left(LINKING_WAIT_S)
        return await self._ask_first(LinkFirst(project.root, names), wait_s)

    async def _ask_first(self, command: LinkFirst, wait_s: float) -> bool:
        """Have files read and linked first; return whether that was done within some seconds.

        Otherwise the indexer continues, so that the next answer has their definitions and links."""
        try:
            async with asyncio.timeout(wait_s):
                linked = await self._indexing.ask(command)
        except TimeoutError:
            return False
        except FovealError as error:
            log.info("what a question is about could not be read and linked first: %s", error)
            return False
        return linked is not None and linked.complete

    def _rebuild(self, project: Project) -> None:
        """Rebuild a damaged lexical index, unless a rebuild is already running."""
        if project.root not in self._rebuilding:
            self._rebuilding.add(project.root)
            self._work.start_background(self._rebuild_lexical(project.root), f"rebuild {project.root}")

    async def _rebuild_lexical(self, root: str) -> None:
        try:
            await self._indexing.ask(RebuildLexical(root))
        finally:
            self._rebuilding.discard(root)


_HINT = "look with: foveal status"


def _gather(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    vectors: MeaningSearch,
    reader: Reader,
    *,
    linked_first: bool,
) -> tuple[GatheredCandidates, tuple[Hit, ...] | None]:
    # Imported here because loading its tables of words takes longer than starting the daemon.
    from .pipeline import gather_hits

    return gather_hits(snapshot, ask, vectors, reader, linked_first=linked_first)


def _asked_about(ask: SearchQuery) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    from .pipeline import asked_about  # loaded here for the same reason

    return asked_about(ask)


def _load() -> None:
    import_module(".pipeline", __package__)
