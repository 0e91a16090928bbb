"""Owns the answers to questions: words and structure in a thread, vectors beside them, ranked together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.storage import DatabaseError
from ..core.work import Work
from ..embedding.messages import SearchVectors
from ..embedding.semantics import INCOMPLETE, Semantics
from ..index.indexing import Indexing
from ..index.messages import RebuildLexical
from ..index.store import Reader
from ..privacy.policy import NO_POLICY, Policy
from ..project.freshness import Deadline
from ..project.projects import Project
from ..project.snapshot import ProjectSnapshot
from ..project.tree import Tree
from .filters import EVERYTHING, Filter, kinds_in
from .hits import Hit
from .result_cache import ResultCache
from .search import DescribedHits, SearchQuery, SearchResult

if TYPE_CHECKING:
    from .router import GatheredCandidates

log = logging.getLogger(__name__)
T = TypeVar("T")


VECTORS_WAIT_S, VECTORS_SHARE = 2.0, 0.6
"""Maximum wait in seconds for the vectors, and its share of the time to the deadline: the rest is for ranking
what the words found. Loading the model takes .5 s, the first time ever 1.2 s."""

FIRST_MAX = 24
FIRST_S = 0.15
"""The best lexical candidates that have no vector yet are embedded before the answer, as many as this time
allows: about 20 on one core at 160 a second."""


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
        tells: bool = False,
    ) -> SearchResult:
        """Answer a question from what is known now, as far as an agent may see it.

        With `tells` an answer of the graph is told in the same turn of a thread, and from the same state of
        the index; while that is the same one, and the files are, it is the answer when that is asked again.
        Raises `ValueError` for a glob that can't be used.
        """
        snapshot = project.snapshot(policy)
        key, version = (project.root, ask, policy), project.index_version
        if tells and (kept := self._kept.get(key, version)) is not None and not _changed(snapshot, kept):
            return kept
        try:
            gathered, hits, degraded, told = await self._answer(project, snapshot, ask, deadline, tells=tells)
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
        found = SearchResult(
            hits, gathered.intent, gathered.route, gathered.evidence, reasons, hint, told, need
        )
        self._kept.keep(key, version, found, ask.text)
        return found

    async def _answer(
        self,
        project: Project,
        snapshot: ProjectSnapshot,
        ask: SearchQuery,
        deadline: Deadline,
        *,
        tells: bool = False,
    ) -> tuple[GatheredCandidates, tuple[Hit, ...], list[str], DescribedHits | None]:
        """Return what was gathered, the hits, who could not be asked, and the hits as they are told where
        `tells` says so and nothing can be added to them. Raises `DatabaseError`."""
        work = _gather_and_tell if tells else _gather_only
        gathered, told = await self._read(snapshot, partial(work, snapshot, ask))
        degraded = list(gathered.degraded)
        if gathered.lexical_damaged:
            self._rebuild(project)
        if gathered.answer is not None:
            hits = _answered(gathered) if ask.definitions else gathered.answer
            return gathered, hits, degraded, told
        vectors, problem = await self._vectors(project, gathered, deadline)
        if problem:
            degraded.append(problem)
        gathered, hits = await self._read(snapshot, partial(_conclude, snapshot, gathered, vectors, ask))
        return gathered, hits, degraded, None

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

    async def _vectors(
        self, project: Project, gathered: GatheredCandidates, deadline: Deadline
    ) -> tuple[tuple[tuple[bytes, float], ...], str]:
        """Return what the vectors say, or nothing and why."""
        from .candidates import VECTOR_MAX

        question = gathered.question
        texts = question.windows or ((question.text[:1_000],) if question.text.strip() else ())
        if not texts or not self._semantics.enabled:
            return (), ""
        if not self._semantics.keeps(project.root):
            return (), f"{INCOMPLETE}: the project is still being indexed"
        first = tuple(number for number, _ in gathered.candidates.lexical[:FIRST_MAX])
        within_s = deadline.left(VECTORS_WAIT_S / VECTORS_SHARE) * VECTORS_SHARE
        command = SearchVectors(
            project.root,
            texts,
            VECTOR_MAX,
            gathered.files,
            (),
            first,
            min(FIRST_S, within_s / 4),
            wait_s=within_s * 0.8,
        )
        try:
            async with asyncio.timeout(within_s):
                hits = await self._semantics.search(command)
        except TimeoutError:
            return (), "not searched by meaning: the embedding model didn't answer in time"
        except FovealError as error:
            return (), f"not searched by meaning: {error}"
        return hits.hits, hits.note or (self._semantics.incomplete if hits.pending else "")

    async def _read(self, snapshot: ProjectSnapshot, work: Callable[[Reader], T]) -> T:
        def read() -> T:
            with snapshot.reader() as reader, reader.snapshot():
                return work(reader)

        return await self._work.in_builder(read)

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


def _gather(snapshot: ProjectSnapshot, ask: SearchQuery, reader: Reader) -> GatheredCandidates:
    # Here and not above: its tables of words take longer to load than the daemon to start.
    from .router import gather

    return gather(
        ask.text,
        snapshot.tree,
        reader,
        snapshot.lexical,
        ask.filter,
        ask.route,
        _most(ask),
        ask.relation,
    )


def _gather_only(
    snapshot: ProjectSnapshot, ask: SearchQuery, reader: Reader
) -> tuple[GatheredCandidates, None]:
    return _gather(snapshot, ask, reader), None


def _gather_and_tell(
    snapshot: ProjectSnapshot, ask: SearchQuery, reader: Reader
) -> tuple[GatheredCandidates, DescribedHits | None]:
    """Return what was gathered, and what is told of the graph's answer where that is all of it.

    To hand that to a thread by itself would take a tenth of what such a question takes.
    """
    from .results import describe_from

    gathered = _gather(snapshot, ask, reader)
    if gathered.answer is None or _goes_on(gathered, gathered.answer, ask):
        return gathered, None
    try:
        return gathered, DescribedHits(
            *describe_from(snapshot, ask.text, _given(gathered.answer, ask, snapshot.policy), reader)
        )
    except DatabaseError:
        return gathered, None  # the answer stands; who tells it tries again, and says what is wrong


def _changed(snapshot: ProjectSnapshot, found: SearchResult) -> list[str]:
    """Return the files of hits that are told, and so loaded, which aren't what was indexed any more."""
    from .results import changed_files

    return changed_files(snapshot, found.hits)


def _goes_on(gathered: GatheredCandidates, hits: tuple[Hit, ...], ask: SearchQuery) -> bool:
    """Whether others follow the hits: the question's words left out most of the project, or both compete."""
    if ask.definitions and ask.route is None:
        return gathered.answer is not None or gathered.narrowed
    return ask.route is None and (gathered.mixed or (gathered.narrowed and len(hits) < ask.limit))


def _given(hits: tuple[Hit, ...], ask: SearchQuery, policy: Policy) -> tuple[Hit, ...]:
    """Return the hits that who asks gets, in the order in which they are given."""
    hits = tuple(hit for hit in hits if hit.score >= ask.min_score and not policy.hides(hit.path))
    if ask.first:
        hits = tuple(sorted(hits, key=lambda hit: hit.path not in ask.first))
    return hits[: ask.limit]


def _conclude(
    snapshot: ProjectSnapshot,
    gathered: GatheredCandidates,
    vectors: tuple[tuple[bytes, float], ...],
    ask: SearchQuery,
    reader: Reader,
) -> tuple[GatheredCandidates, tuple[Hit, ...]]:
    """Return the hits, and what was gathered with the need of the code where definitions are asked for."""
    from .router import conclude, with_need

    definitions = ask.definitions or ask.for_agent > 0
    hits = tuple(conclude(gathered, vectors, snapshot.tree, reader, _most(ask), definitions=definitions))
    return with_need(gathered, vectors, hits, snapshot.lexical) if ask.definitions else gathered, hits


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
