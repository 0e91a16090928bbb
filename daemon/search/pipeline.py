"""The steps of a search that run in a builder thread: gather, conclude, describe, and explain nothing."""

from __future__ import annotations

from itertools import chain, islice, zip_longest

from msgspec.structs import replace

from ..core.storage import DatabaseError
from ..index.store import Reader
from ..privacy.policy import Policy
from ..project.project import Project
from ..project.snapshot import ProjectSnapshot
from ..project.tree import Tree
from .definitions import answered
from .filters import EVERYTHING, Filter, kinds_in
from .meaning_search import MeaningSearch
from .query import DescribedHits, Hit, SearchQuery
from .results import describe_from
from .router import GatheredCandidates, conclude, gather, with_need

Turn = tuple[GatheredCandidates, tuple[Hit, ...] | None, DescribedHits | None]
"""What one turn of a thread came to: what was gathered, the hits if these are all, and their description."""

SCOPED_MAX = 1_000
"""Maximum number of hits looked at where a scope's own files come first."""

BEHIND = 0.9
"""What follows an answer that was complete by its words has at most this share of its last score."""


def gather_hits(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    vectors: MeaningSearch,
    describes: bool,
    reader: Reader,
    *,
    linked_first: bool,
) -> Turn:
    """Return what was gathered, and the hits where no vectors are needed for them.

    To describe them in the same turn of a thread saves a tenth of what a question of the graph takes.
    """
    gathered = gather(
        ask.text,
        snapshot.tree,
        reader,
        snapshot.lexical,
        ask.filter,
        ask.route,
        _most(ask),
        ask.relation,
        ask.limit,
        vectors.begin_early,
        linked_first=linked_first,
    )
    if gathered.answer is not None:
        hits = tuple(answered(gathered.question, gathered.answer)) if ask.definitions else gathered.answer
        return gathered, hits, _described(snapshot, ask, gathered, hits, reader) if describes else None
    if not vectors.enabled:
        return conclude_hits(snapshot, ask, gathered, (), describes, reader)
    return gathered, None, None


def conclude_hits(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    gathered: GatheredCandidates,
    vectors: tuple[tuple[bytes, float], ...],
    describes: bool,
    reader: Reader,
    *,
    embedded: bool = True,
) -> Turn:
    """Return the hits, and what was gathered with the need of the code where definitions are asked for."""
    definitions = ask.definitions or ask.for_agent > 0
    hits = tuple(
        conclude(
            gathered, vectors, snapshot.tree, reader, _most(ask), definitions=definitions, embedded=embedded
        )
    )
    if ask.definitions:
        gathered = with_need(gathered, vectors, hits, snapshot.lexical)
    return gathered, hits, _described(snapshot, ask, gathered, hits, reader) if describes else None


def _described(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    gathered: GatheredCandidates,
    hits: tuple[Hit, ...],
    reader: Reader,
) -> DescribedHits | None:
    """Return hits as clients see them, None where others may follow them."""
    if goes_on(gathered, hits, ask):
        return None
    try:
        chosen = given(hits, ask, snapshot.policy)
        return describe_from(snapshot, ask, gathered.intent, chosen, reader)
    except DatabaseError:
        return None  # the hits stand; who describes them tries again, and says what is wrong


def goes_on(gathered: GatheredCandidates, hits: tuple[Hit, ...], ask: SearchQuery) -> bool:
    """Whether others follow the hits: the question's words left out most of the project, or both compete."""
    if ask.definitions and ask.route is None:
        return gathered.answer is not None or gathered.narrowed
    return ask.route is None and (gathered.mixed or (gathered.narrowed and len(hits) < ask.limit))


def joined(
    gathered: GatheredCandidates, hits: tuple[Hit, ...], others: tuple[Hit, ...], ask: SearchQuery
) -> tuple[Hit, ...]:
    """Return the hits with others that were found beside them, where `goes_on`."""
    if ask.definitions:
        return (*hits, *others)
    return _taken_in_turns(hits, others) if gathered.mixed else _continued(hits, others)


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


def given(hits: tuple[Hit, ...], ask: SearchQuery, policy: Policy) -> tuple[Hit, ...]:
    """Return the hits that who asks gets, in the order in which they are given."""
    if ask.first:
        hits = tuple(sorted(hits, key=lambda hit: hit.path not in ask.first))
    # What a policy hides is looked at for the hits that are given only: there may be a thousand more.
    shown = (hit for hit in hits if hit.score >= ask.min_score and not policy.hides(hit.path))
    return tuple(islice(shown, ask.limit))


def _most(ask: SearchQuery) -> int:
    """Return how many hits to look at: a scope's own files may stand anywhere among them, and come first."""
    return max(ask.limit, SCOPED_MAX) if ask.first else ask.limit


def hint_for(
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
