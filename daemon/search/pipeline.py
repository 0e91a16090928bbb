"""The steps of a search that run in a builder thread: gather candidates, and rank them.

If nothing was found, `hint_for` explains why."""

from __future__ import annotations

from itertools import islice

from msgspec.structs import replace

from ..index.service import Reader
from ..privacy.policy import Policy
from ..project.service import Tree
from ..workspace.records import ProjectSnapshot
from ..workspace.service import Project
from . import structural
from .candidates import GatheredCandidates, telling_words
from .definitions import answered
from .filters import EVERYTHING, Filter, kinds_in
from .glossary import is_foreign, understand
from .meaning_search import MeaningSearch
from .need import READS_ENGLISH
from .places import KEPT
from .query import Hit, SearchQuery
from .question_route import decided_route
from .router import conclude, gather, with_need

SCOPED_MAX = 1_000
"""Minimum number of hits ranked if the files of a scope come first, since these may be far down the list."""

BEHIND = 0.9
"""Maximum score of the hits that follow a complete answer, relative to the last score of the answer."""


def asked_about(ask: SearchQuery) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return the names that a question asks the graph about, the words by which unread files fit it, and
    whether it asks for subclasses."""
    question = understand(ask.text)
    # The definitions of the unread files aren't known yet, so any word may be a name.
    decided = decided_route(question, ask.relation, lambda _word: True)
    words = telling_words(question)
    if (ask.route or decided.route) != "structural":
        return (), words, False
    relation, subjects, _ = structural.asked(question, decided)
    return structural.last_words(subjects), words, relation in {"subclasses", "implementations"}


def gather_hits(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    vectors: MeaningSearch,
    reader: Reader,
    *,
    linked_first: bool,
) -> tuple[GatheredCandidates, tuple[Hit, ...] | None]:
    """Return the candidates, and the hits if they need no vector search."""
    gathered = gather(
        ask.text,
        snapshot.tree,
        reader,
        snapshot.lexical,
        ask.filter,
        ask.route,
        max(_most(ask), ask.graph_limit),
        ask.relation,
        ask.limit,
        vectors.begin_early,
        linked_first=linked_first,
        recent=ask.recent,
    )
    if gathered.answer is not None:
        hits = gathered.answer
        if ask.definitions:
            hits = tuple(answered(gathered.question, hits, near=gathered.near))
        return gathered, hits
    return (gathered, None) if vectors.enabled else conclude_hits(snapshot, ask, gathered, (), reader)


def conclude_hits(
    snapshot: ProjectSnapshot,
    ask: SearchQuery,
    gathered: GatheredCandidates,
    vectors: tuple[tuple[bytes, float], ...],
    reader: Reader,
    *,
    embedded: bool = True,
) -> tuple[GatheredCandidates, tuple[Hit, ...]]:
    """Return the hits and the candidates; if definitions are requested, with the need (see `with_need`)."""
    definitions = ask.definitions or ask.for_agent > 0
    hits = tuple(
        conclude(
            gathered, vectors, snapshot.tree, reader, _most(ask), definitions=definitions, embedded=embedded
        )
    )
    if ask.definitions:
        by_words = hits
        if vectors or not embedded:  # the need must not depend on how much is embedded
            by_words = tuple(conclude(gathered, (), snapshot.tree, reader, _most(ask), definitions=True))
        gathered = with_need(gathered, by_words, snapshot.lexical)
    return gathered, hits


def goes_on(gathered: GatheredCandidates, hits: tuple[Hit, ...], ask: SearchQuery) -> bool:
    """Whether the results of a wider search follow the hits.

    They do if the question's words limited the search to a part of the project and that gave few hits. With
    `definitions` they always follow what the graph or a place answered."""
    if gathered.is_final:
        return False
    if ask.definitions and ask.route is None:
        return gathered.answer is not None or gathered.narrowed
    return ask.route is None and gathered.narrowed and gathered.answer is None and len(hits) < ask.limit


def joined(hits: tuple[Hit, ...], others: tuple[Hit, ...], ask: SearchQuery) -> tuple[Hit, ...]:
    """Return the hits, followed by those of the wider search for other files, with lower scores."""
    others = tuple(replace(hit, is_beyond=True) for hit in others)
    if ask.definitions:
        return (*hits, *others)
    seen = {hit.path for hit in hits}
    last = min((hit.score for hit in hits), default=1.0)
    behind = (
        replace(hit, score=round(min(hit.score, last * BEHIND), 4)) for hit in others if hit.path not in seen
    )
    return (*hits, *behind)


def told(evidence: tuple[str, ...], hits: tuple[Hit, ...]) -> tuple[str, ...]:
    """Return evidence that is true of all hits: those after the ones in the named place lie elsewhere."""
    if not any(hit.is_beyond for hit in hits):
        return evidence
    is_inside = not all(hit.is_beyond for hit in hits)
    said = "shows first what is in {}, then what is elsewhere" if is_inside else "found nothing in {}"
    return tuple(
        said.format(reason.removeprefix(KEPT)) if reason.startswith(KEPT) else reason for reason in evidence
    )


def given(hits: tuple[Hit, ...], ask: SearchQuery, policy: Policy, limit: int) -> tuple[Hit, ...]:
    """Return the hits to send, at most `limit`: those in files of the scope first, none in hidden files or
    with low scores."""
    if ask.first:
        hits = tuple(sorted(hits, key=lambda hit: hit.path not in ask.first))
    # The generator checks the policy only for the hits that are sent; there may be a thousand more.
    shown = (hit for hit in hits if hit.score >= ask.min_score and not policy.hides(hit.path))
    return tuple(islice(shown, limit))


def _most(ask: SearchQuery) -> int:
    """Return how many hits to rank: more for a scope, whose files come first but may be ranked anywhere."""
    return max(ask.limit, SCOPED_MAX) if ask.first else ask.limit


def hint_for(
    project: Project, snapshot: ProjectSnapshot, ask: SearchQuery, gathered: GatheredCandidates, best: float
) -> str:
    """Return a hint on what to do if no hits are sent.

    `best` is the best score of the hits that `min_score` removed, 0 if it removed none."""
    if best:
        return f"the best score is {best}, below min_score {ask.min_score}"
    if gathered.is_final or (gathered.answer is not None and gathered.route == "structural"):
        return gathered.evidence[-1]  # names the unknown subject, and how to ask for it
    missing = _missing_kinds(project, snapshot.tree, ask.filter)
    if missing:
        return missing
    if gathered.files is not None and not gathered.files:
        return "no file of the project passes the filter"
    if project.state != "ready":
        return "the project is still being indexed; ask again when it is ready (fresh=tree waits for changes)"
    if not gathered.question.text.strip():
        return "the question is empty: ask in words, or name a file, a definition or an error"
    if is_foreign(gathered.question.asked):
        return f"nothing in the project has these words or this meaning; {READS_ENGLISH}"
    fewer = ", or fewer filters" if ask.filter != EVERYTHING else ""
    return f"nothing in the project has these words or this meaning: try other words{fewer}"


def _missing_kinds(project: Project, tree: Tree, chosen: Filter) -> str:
    """Return a message if no language of the project has the requested kinds of definitions, otherwise ""."""
    if not chosen.kinds or project.state != "ready":
        return ""
    known = kinds_in(tree)
    if chosen.kinds.intersection(known):
        return ""
    asked = " or ".join(sorted(chosen.kinds))
    return f"no language of the project has the kind {asked}; there can be {', '.join(known)}"
