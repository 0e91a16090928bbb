"""The search service: words and graph in a thread, vectors beside them, ranked together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from importlib import import_module
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.sized_cache import SizedCache
from ..core.storage import DatabaseError
from ..core.work import Work
from ..embedding.semantics import Semantics
from ..index.indexing import Indexing
from ..index.messages import LinkFirst, RebuildLexical
from ..index.store import Reader
from ..privacy.policy import NO_POLICY, Policy
from ..project.freshness import Deadline
from ..project.project import Project
from ..project.snapshot import ProjectSnapshot
from ..project.tree import Tree
from .filters import EVERYTHING, Filter, kinds_in
from .meaning_search import MeaningSearch
from .query import DescribedHits, Hit, SearchQuery, SearchResult

if TYPE_CHECKING:
    from .router import GatheredCandidates

log = logging.getLogger(__name__)
T = TypeVar("T")

Turn = tuple["GatheredCandidates", tuple[Hit, ...] | None, DescribedHits | None]
"""What one turn of a thread came to: what was gathered, the hits if these are all, and their description."""

Describe = Callable[
    [ProjectSnapshot, SearchQuery, "GatheredCandidates", tuple[Hit, ...], Reader], DescribedHits | None
]

LINKING_WAIT_S = 2.0
"""Seconds until the deadline, at most, of which a question spends a share on having files linked first."""

LINKING_SHARE = 0.5
"""Share of that time; the rest is for the answer after it."""

PREFERRED_HITS = 10
"""Number of hits whose files are embedded before others, while some wait for that."""

SCOPED_MAX = 1_000
"""Maximum number of hits looked at where a scope's own files come first."""

BEHIND = 0.9
"""What follows an answer that was complete by its words has at most this share of its last score."""


class SearchService:
    """Answers questions. On the event loop only; what blocks runs in the builders' threads."""

    def __init__(self, work: Work, indexing: Indexing, semantics: Semantics) -> None:
        self._work = work
        self._indexing = indexing
        self._semantics = semantics
        self._rebuilding: set[str] = set()
        self._kept = ResultCache()

    async def search(
        self,
        project: Project,
        ask: SearchQuery,
        deadline: Deadline,
        policy: Policy = NO_POLICY,
        *,
        describes: bool = False,
    ) -> SearchResult:
        """Answer a question from what is known now, as far as an agent may see it.

        With `describes` the hits are described in the same turn of a thread, and from the same state of the
        index. An answer of the graph is then kept, and given again as long as neither the index nor the files
        of its hits change. Raises `ValueError` for a glob that can't be used.
        """
        snapshot = project.snapshot(policy)
        key, version = (project.root, ask, policy), project.index_version
        if describes and (kept := self._kept.get(key, version)) is not None and not _changed(snapshot, kept):
            return kept
        try:
            gathered, hits, degraded, described = await self._answer(
                project, snapshot, ask, deadline, describes=describes
            )
            if gathered.unlinked and await self._link_first(project, gathered.unlinked, deadline):
                snapshot, version = project.snapshot(policy), project.index_version
                gathered, hits, degraded, described = await self._answer(
                    project, snapshot, ask, deadline, describes=describes, linked_first=True
                )
            need = gathered.need
            if _goes_on(gathered, hits, ask):
                # The words that chose the place or the definition may have meant more than that.
                rest = replace(ask, route="hybrid")
                wider, others, also_degraded, _ = await self._answer(project, snapshot, rest, deadline)
                need = wider.need
                if ask.definitions:
                    hits = (*hits, *others)
                else:
                    hits = _taken_in_turns(hits, others) if gathered.mixed else _continued(hits, others)
                degraded += also_degraded
        except DatabaseError as error:
            reason = f"the index can't be read ({error}): nothing can be found until it is built anew"
            return SearchResult((), ask.route or "hybrid", ask.route or "hybrid", (), (reason,), _HINT)
        best = max((hit.score for hit in hits), default=0.0)
        hits = _given(hits, ask, policy)
        hint = "" if hits or not ask.limit else _hint(project, snapshot, ask, gathered, best)
        reasons = tuple(dict.fromkeys(degraded))
        if hits:  # what was asked for once is likely to be asked for again
            self._semantics.prefer(project.root, dict.fromkeys(hit.path for hit in hits[:PREFERRED_HITS]))
        found = SearchResult(
            hits, gathered.intent, gathered.route, gathered.evidence, reasons, hint, described, need
        )
        if gathered.answer is not None and not ask.for_agent:
            self._kept.keep(key, version, found, ask.text)
        return found

    async def _answer(
        self,
        project: Project,
        snapshot: ProjectSnapshot,
        ask: SearchQuery,
        deadline: Deadline,
        *,
        describes: bool = False,
        linked_first: bool = False,
    ) -> tuple[GatheredCandidates, tuple[Hit, ...], list[str], DescribedHits | None]:
        """Return what was gathered, the hits, who could not be asked, and the hits as clients see them where
        `describes` says so and nothing can be added to them. Raises `DatabaseError`."""
        describe = _describe if describes else _describe_nothing
        vectors = MeaningSearch(
            self._work, self._semantics, project.root, deadline, settled=self.is_settled(project)
        )
        try:
            gather = partial(_gather, snapshot, ask, vectors, describe, linked_first=linked_first)
            gathered, hits, described = await self._read(snapshot, gather)
            degraded = list(gathered.degraded)
            if gathered.lexical_damaged:
                self._rebuild(project)
            if hits is not None:
                return gathered, hits, degraded, described
            found, problem, embedded = await vectors.found(gathered)
        finally:
            vectors.cancel()
        if problem:
            degraded.append(problem)
        conclude = partial(_conclude, snapshot, ask, gathered, found, describe, embedded=embedded)
        gathered, hits, described = await self._read(snapshot, conclude)
        return gathered, hits or (), degraded, described

    def is_settled(self, project: Project) -> bool:
        """Whether the same question would be answered the same in a while: no chunk waits for its vector."""
        progress = self._semantics.progress(project.root)
        return not self._semantics.enabled or (progress is not None and not progress.pending)

    def load(self) -> None:
        """Load the code of searches in the background: 70 ms of a processor that the first one would pay."""
        self._work.start_unheard(self._work.in_builder(_load), "load search")

    def prefer(self, project: Project, nodes: Iterable[str]) -> None:
        """Have the files of these nodes embedded before others, as far as they wait for it."""
        files = dict.fromkeys(node.partition("#")[0] for node in nodes)
        known = [path for path in files if path in project.tree.files]
        if known:
            self._semantics.prefer(project.root, known)

    async def _read(self, snapshot: ProjectSnapshot, work: Callable[[Reader], T]) -> T:
        def read() -> T:
            with snapshot.reader() as reader, reader.snapshot():
                return work(reader)

        return await self._work.in_builder(read)

    async def _link_first(self, project: Project, names: tuple[str, ...], deadline: Deadline) -> bool:
        """Have the files that mention some names linked before all others; False if that takes too long, or
        can't be done yet. Where it takes too long the indexer goes on, so that the next answer has it."""
        try:
            async with asyncio.timeout(LINKING_SHARE * deadline.left(LINKING_WAIT_S)):
                linked = await self._indexing.ask(LinkFirst(project.root, names))
        except TimeoutError:
            return False
        except FovealError as error:
            log.info("what a question is about could not be linked first: %s", error)
            return False
        return linked is not None and linked.complete

    def _rebuild(self, project: Project) -> None:
        """Have a damaged lexical index filled anew, once at a time."""
        if project.root not in self._rebuilding:
            self._rebuilding.add(project.root)
            self._work.start_unheard(self._rebuild_lexical(project.root), f"rebuild {project.root}")

    async def _rebuild_lexical(self, root: str) -> None:
        try:
            await self._indexing.ask(RebuildLexical(root))
        finally:
            self._rebuilding.discard(root)


def _continued(hits: tuple[Hit, ...], others: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return hits and behind them others of other files, whose scores stay below those before them."""
    seen = {hit.path for hit in hits}
    last = min((hit.score for hit in hits), default=1.0)
    behind = (
        replace(hit, score=round(min(hit.score, last * BEHIND), 4)) for hit in others if hit.path not in seen
    )
    return (*hits, *behind)


def _taken_in_turns(hits: tuple[Hit, ...], others: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return hits and others in turns, each node once, with scores that never rise."""
    found: dict[tuple[str, int], Hit] = {}
    score = 1.0
    for hit in filter(None, chain.from_iterable(zip_longest(hits, others))):
        key = (hit.node_id, hit.line if hit.certainty else 0)
        if key not in found and (hit.certainty or all(hit.node_id != node for node, _ in found)):
            score = min(score, hit.score)
            found[key] = replace(hit, score=score)
    return tuple(found.values())


_HINT = "look with: foveal status"


def _load() -> None:
    import_module(".router", __package__)


def _gather(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    vectors: MeaningSearch,
    describe: Describe,
    reader: Reader,
    *,
    linked_first: bool,
) -> Turn:
    """Return what was gathered, and the hits where no vectors are needed for them.

    To describe them in the same turn of a thread saves a tenth of what a question of the graph takes.
    """
    # Here and not above: its tables of words take longer to load than the daemon to start.
    from .router import gather

    gathered = gather(
        ask.text,
        snapshot.tree,
        reader,
        snapshot.lexical,
        ask.filter,
        ask.route,
        _most(ask),
        ask.relation,
        vectors.begin_early,
        linked_first=linked_first,
    )
    if gathered.answer is not None:
        hits = _answered(gathered) if ask.definitions else gathered.answer
        return gathered, hits, describe(snapshot, ask, gathered, hits, reader)
    if not vectors.enabled:
        return _conclude(snapshot, ask, gathered, (), describe, reader)
    return gathered, None, None


def _conclude(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    gathered: GatheredCandidates,
    vectors: tuple[tuple[bytes, float], ...],
    describe: Describe,
    reader: Reader,
    *,
    embedded: bool = True,
) -> Turn:
    """Return the hits, and what was gathered with the need of the code where definitions are asked for."""
    from .router import conclude, with_need

    definitions = ask.definitions or ask.for_agent > 0
    hits = tuple(
        conclude(
            gathered, vectors, snapshot.tree, reader, _most(ask), definitions=definitions, embedded=embedded
        )
    )
    if ask.definitions:
        gathered = with_need(gathered, vectors, hits, snapshot.lexical)
    return gathered, hits, describe(snapshot, ask, gathered, hits, reader)


def _describe(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    gathered: GatheredCandidates,
    hits: tuple[Hit, ...],
    reader: Reader,
) -> DescribedHits | None:
    """Return hits as clients see them, None where others may follow them."""
    from .results import describe_from

    if _goes_on(gathered, hits, ask):
        return None
    try:
        given = _given(hits, ask, snapshot.policy)
        return describe_from(snapshot, ask, gathered.intent, given, reader)
    except DatabaseError:
        return None  # the hits stand; who describes them tries again, and says what is wrong


def _describe_nothing(*_: object) -> None:
    """Leave hits undescribed, for who shows them in another way."""


def _changed(snapshot: ProjectSnapshot, found: SearchResult) -> list[str]:
    """Return the files of hits that were described, and so loaded, which changed since they were indexed."""
    from .results import changed_files

    return changed_files(snapshot, found.hits)


def _goes_on(gathered: GatheredCandidates, hits: tuple[Hit, ...], ask: SearchQuery) -> bool:
    """Whether others follow the hits: the question's words left out most of the project, or both compete."""
    if ask.definitions and ask.route is None:
        return gathered.answer is not None or gathered.narrowed
    return ask.route is None and (gathered.mixed or (gathered.narrowed and len(hits) < ask.limit))


def _given(hits: tuple[Hit, ...], ask: SearchQuery, policy: Policy) -> tuple[Hit, ...]:
    """Return the hits that who asks gets, in the order in which they are given."""
    if ask.first:
        hits = tuple(sorted(hits, key=lambda hit: hit.path not in ask.first))
    # What a policy hides is looked at for the hits that are given only: there may be a thousand more.
    shown = (hit for hit in hits if hit.score >= ask.min_score and not policy.hides(hit.path))
    return tuple(islice(shown, ask.limit))


def _answered(gathered: GatheredCandidates) -> tuple[Hit, ...]:
    from .definitions import answered

    return tuple(answered(gathered.question, gathered.answer or ()))


def _most(ask: SearchQuery) -> int:
    """Return how many hits to look at: a scope's own files may stand anywhere among them, and come first."""
    return max(ask.limit, SCOPED_MAX) if ask.first else ask.limit


def _hint(
    project: Project, snapshot: ProjectSnapshot, ask: SearchQuery, gathered: GatheredCandidates, best: float
) -> str:
    """Return what to do about nothing; `best` is the best score of what `min_score` left out, 0 for none."""
    if best:
        return f"the best score is {best}, below min_score {ask.min_score}"
    if gathered.answer is not None and gathered.route == "structural":
        return gathered.evidence[-1]  # says what isn't known, and how to ask for it
    missing = _missing_kinds(project, snapshot.tree, ask.filter)
    if missing:
        return missing
    if gathered.files is not None and not gathered.files:
        return "no file of the project passes the filter"
    if project.state != "ready":
        return "the project is still being indexed; ask again when it is ready (fresh=tree waits for changes)"
    if not gathered.question.text.strip():
        return "the question is empty: ask in words, or name a file, a definition or an error"
    fewer = ", or fewer filters" if ask.filter != EVERYTHING else ""
    return f"nothing in the project has these words or this meaning: try other words{fewer}"


def _missing_kinds(project: Project, tree: Tree, chosen: Filter) -> str:
    """Return what to say where no language of the project has the kinds that are asked for, or nothing."""
    if not chosen.kinds or project.state != "ready":
        return ""
    known = kinds_in(tree)
    if chosen.kinds.intersection(known):
        return ""
    asked = " or ".join(sorted(chosen.kinds))
    return f"no language of the project has the kind {asked}; there can be {', '.join(known)}"


KEPT_CHARACTERS = 1_000_000
"""Maximum characters kept: some 100 answers of ten hits. An edit makes all of a project's out of date."""

HIT_CHARACTERS = 1_000
"""What a hit counts beside its snippet: its fields, and those of its chunk."""

HITS_MAX = 50
"""An answer of more hits isn't kept: whether its files are as they were is looked at on the event loop."""

TEXT_CHARACTERS = 1_000
"""A longer question is hardly asked twice."""


class ResultCache:
    """Answers by what was asked, those given last. For one thread.

    `version` is what an answer follows from beside its question; compared with that of the one who asks.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._answers = SizedCache[Hashable, tuple[object, SearchResult]](most)

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def size(self) -> int:
        """What is kept, in characters."""
        return self._answers.size

    def get(self, key: Hashable, version: object) -> SearchResult | None:
        """Return the answer to a question, or None; one of another version is forgotten."""
        kept = self._answers.get(key)
        if kept is None:
            return None
        if kept[0] != version:
            self._answers.discard(key)
            return None
        return kept[1]

    def keep(self, key: Hashable, version: object, found: SearchResult, text: str) -> None:
        """Keep an answer of the graph that is complete; the ones given longest ago go."""
        described = found.described
        if described is None or not 0 < len(described.results) <= HITS_MAX:
            return
        if described.stale or found.degraded:
            return
        if len(text) > TEXT_CHARACTERS:
            return
        size = len(text) + sum(len(result["snippet"]) + HIT_CHARACTERS for result in described.results)
        self._answers.put(key, (version, found), size)
