"""Answers questions about relations (callers, imports, tests …) with hits from the code graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..graph.records import (
    CLASSES,
    FOUND_MAX,
    IMPACT_DEPTH,
    UNCALLED,
    Findings,
    FindPlaces,
    FoundPlace,
    Meaning,
)
from ..graph.service import (
    CodeGraph,
    at_definition,
    callees,
    callers,
    connection,
    cycles,
    find_places,
    impact,
    implementations,
    importers,
    imports,
    meaning_of,
    node_id_of,
    outline,
    overrides,
    references,
    subclasses,
    superclasses,
    tests,
    unused,
)
from ..index.records import Definition, StoredChunk
from ..index.service import Reader
from ..languages.shared.language import language_of
from ..project.records import PROSE_LANGUAGES
from ..project.service import Tree, has_module
from .candidates import definitions_of
from .filters import EVERYTHING, Filter
from .query import Hit, Relation
from .question import Question
from .question_route import RoutedQuestion, with_relation

SUBJECTS_MAX: Final = 4
"""Maximum number of subjects of one question."""

NAMED_MAX: Final = 20
"""Maximum number of definitions with the same name that are read."""

GUESS_PENDING: Final = 0.1
"""Maximum share of unread files with which an unknown name is taken as a similar one."""

BATCH: Final = 50
"""Number of places looked up at a time if a filter by kind or by name may reject some of them."""


DEFINED: Final = "defined here"
"""Why the definition of a name that was asked for is found."""


class GraphAnswer(Struct, frozen=True):
    """The answer of the graph to a question; its hits are sorted, best first.

    `known` says that the subjects exist, `defined` that the project has them; then an answer without hits
    means that nothing has the relation.
    `remarks` are for the reader: how a name was interpreted, how many definitions it has, how many hits
    aren't shown. `degraded` has the reasons why the answer may be incomplete.
    """

    hits: tuple[Hit, ...]
    known: bool
    defined: bool
    remarks: tuple[str, ...]
    degraded: tuple[str, ...]
    guess: bool = False
    """Whether a name that doesn't exist was replaced by a similar one, in another style or spelling."""
    near: bool = False
    """Whether that name is only spelled alike, so that something else may be meant; each hit then says so."""
    unlinked: tuple[str, ...] = ()
    """Names whose files may still wait to be linked; the answer may change when they are."""


def asked(question: Question, decided: RoutedQuestion) -> tuple[Relation, tuple[str, ...], int]:
    """Return the relation that a question asks for, its subjects, and the number of edges to follow.

    Callers over more than one edge are the relation `impact`. If the question asks for no relation, the
    relation is `definition` and the subjects are its names.
    """
    depth = decided.depth or IMPACT_DEPTH
    if decided.relation is None:
        names = tuple(symbol.name for symbol in question.symbols)
        return "definition", names or with_relation("definition", question).subjects, depth
    relation = "impact" if decided.depth > 1 and decided.relation == "callers" else decided.relation
    return relation, decided.subjects, depth


def is_code(name: str) -> bool:
    """Whether a name contains characters of code or paths (`_`, `.`, `/`, digits, `camelCase`)."""
    return bool(_CODE.search(name))


def is_name(word: str, tree: Tree, reader: Reader) -> bool:
    """Whether the project has a definition of this name, or a module (`cors.py` for `CORS`)."""
    return bool(definitions_of(reader, word)) or has_module(word, tree)


def answer(
    relation: Relation,
    subjects: Sequence[str],
    tree: Tree,
    reader: Reader,
    limit: int,
    chosen: Filter = EVERYTHING,
    paths: Collection[str] | None = None,
    depth: int = IMPACT_DEPTH,
    *,
    linked_first: bool = False,
) -> GraphAnswer:
    """Return the places that have a relation to some subjects, if they pass the filter.

    `subjects` are names as written in the question. `paths` are the files that pass the filter, None for all.
    `depth` is the number of edges that an impact follows. `linked_first` says that all files that mention or
    define the subjects are linked.
    """
    graph = CodeGraph(tree, reader)
    meanings = [
        meaning_of(
            each,
            graph,
            files_first=_means_file(relation, each, reader),
            in_code=relation not in _OF_DOCUMENTS,
        )
        for each in subjects[:SUBJECTS_MAX]
    ]
    if tree.pending > GUESS_PENDING * len(tree.files):  # the name may be in a file that isn't read
        meanings = [
            Meaning(each.written, each.name)
            if each.guess and not (linked_first and _has_same_words(each))
            else each
            for each in meanings
        ]
    if relation in _OF_ALL:  # a plain word is no subject: `circles of imports`
        meanings = [each for each in meanings if each.known or is_code(each.written)]
    known = all(each.known for each in meanings) and bool(meanings or relation in _OF_ALL)
    remarks = [
        remark
        for each in meanings
        for remark in (each.remarks if each.known else each.remarks or (_unknown(each, graph),))
    ]
    findings = Findings()
    if known:
        findings = _asked(relation, meanings, graph, depth, limit, paths)
    hits = list(islice(hits_of(findings.found, graph, chosen, paths), max(limit, 0)))
    near = [remark for each in meanings if each.guess and each.near for remark in each.remarks]
    if near:  # not a definition of what was asked for
        hits = [replace(hit, why=(*near, *(why for why in hit.why if why != DEFINED))) for hit in hits]
    remarks.extend(findings.remarks)
    only_tested = relation == "callers" and findings.found and not findings.more
    if only_tested and all(graph.is_aside(each.path) for each in findings.found):
        remarks.append(f"{' and '.join(each.written for each in meanings)} {UNCALLED}")
    if len(hits) < len(findings.found) or findings.more:
        least = "more than " if findings.more else ""
        filtered = "" if chosen == EVERYTHING and paths is None else ", before the filter"
        cut = "; no more are looked for" if findings.more and limit > len(findings.found) else ""
        remarks.append(f"{len(hits)} shown of {least}{len(findings.found):,}{filtered}{cut}")
    waiting = reader.links.unlinked() + tree.pending if relation not in _WITHOUT_LINKS else 0
    return GraphAnswer(
        tuple(hits),
        known,
        known and not any(each.external for each in meanings),
        tuple(dict.fromkeys(remarks)),
        _degraded(waiting, subjects, unread=tree.pending > 0, linked_first=linked_first),
        guess=any(each.guess for each in meanings),
        near=bool(near),
        unlinked=last_words(subjects) if waiting and not linked_first else (),
    )


def section(
    decided: RoutedQuestion, tree: Tree, reader: Reader, limit: int, chosen: Filter
) -> tuple[Hit, ...]:
    """Return the sections of documents that a question asks for by their title and without more words."""
    if not decided.alone or decided.places[0].kind != "section":
        return ()
    title = f"#{decided.places[0].name}"
    found = answer("definition", (title,), tree, reader, limit, chosen, chosen.files(tree))
    return tuple(hit for hit in found.hits if hit.node is not None and hit.node.kind == "section")


def _has_same_words(meaning: Meaning) -> bool:
    """Whether a guess differs from the name in punctuation only: `valid?` for `valid`."""
    names = [each.symbol.name for each in meaning.definitions[:1]]
    return bool(names) and last_words(names) == last_words([meaning.written])


def last_words(subjects: Sequence[str]) -> tuple[str, ...]:
    """Return the last part of each subject, by which files mention it: `login` of `auth.py#Session.login`,
    `auth` of `pkg/auth.py`."""
    named = (each.rpartition(".")[0] if language_of(each) else each for each in subjects[:SUBJECTS_MAX])
    words = map(_WORDS.findall, named)
    return tuple(dict.fromkeys(found[-1] for found in words if found))


def _means_file(relation: Relation, subject: str, reader: Reader) -> bool:
    """Whether a subject means a module rather than a definition.

    It does for relations of files, and in a question for tests if the subject is a plain word that is no
    top-level function or class (`tests for blueprints`)."""
    if relation != "tests" or is_code(subject):
        return relation in _OF_FILES
    definitions = reader.definitions_named(subject, NAMED_MAX)
    return not any(symbol.kind in _TOP and not symbol.depth for _, symbol in definitions)


def _asked(
    relation: Relation,
    meanings: Sequence[Meaning],
    graph: CodeGraph,
    depth: int,
    limit: int,
    paths: Collection[str] | None,
) -> Findings:
    if relation == "unused":
        return unused(meanings, graph, min(max(limit, 0), FOUND_MAX), paths)
    if relation in {"references", "impact"} and all(each.module == each.written for each in meanings):
        return find_places(importers, meanings, graph)  # of a module outside of the project
    if relation == "impact":
        return impact(meanings, graph, depth)
    if relation in _OF_EACH:
        return find_places(_OF_EACH[relation], meanings, graph)
    return _OF_TOGETHER[relation](meanings, graph)


def _definitions(meaning: Meaning, graph: CodeGraph) -> Iterator[list[FoundPlace]]:
    yield [
        at_definition(each, meaning.certainty, DEFINED, distance=_distance(each, graph))
        for each in meaning.definitions
    ]
    yield [FoundPlace(path, 1, 0, "resolved", "", "this file") for path in meaning.files]


def _distance(definition: Definition, graph: CodeGraph) -> int:
    """Return how far a definition is nested; sections of data (`[settings]`) come behind those of prose."""
    is_data = definition.symbol.kind == "section" and (
        graph.tree.files[definition.path].language not in PROSE_LANGUAGES
    )
    return definition.symbol.depth + is_data * BEHIND_SECTIONS


BEHIND_SECTIONS: Final = 100
"""More than the levels of headings in any document."""


def hits_of(
    places: Sequence[FoundPlace], graph: CodeGraph, chosen: Filter, paths: Collection[str] | None
) -> Iterator[Hit]:
    """Yield hits for the places that pass the filter; places are looked up in batches, as hits are needed."""
    allowed = None if paths is None else frozenset(paths)
    inside = (each for each in places if allowed is None or each.path in allowed)
    place = 0
    while batch := list(islice(inside, BATCH if chosen.kinds or chosen.symbol else 10)):
        definitions = graph.definitions(
            [*(each.node for each in batch), *(step for each in batch for step in each.steps)]
        )
        chosen_places = [each for each in batch if _holds(chosen, definitions.get(each.node))]
        chunks = graph.reader.chunks.at((each.path, each.line) for each in chosen_places)
        for each in chosen_places:
            chunk = chunks.get((each.path, each.line))
            if chunk is not None:
                place += 1
                yield _hit(each, place, chunk, definitions)


def _holds(chosen: Filter, node: Definition | None) -> bool:
    """Whether the definition at a place passes the filters by kind and by the name of a definition."""
    if chosen.kinds and (node is None or node.symbol.kind not in chosen.kinds):
        return False
    inside = (f"{chosen.symbol}.", f"{chosen.symbol}/")
    return not chosen.symbol or (
        node is not None and (node.symbol.name == chosen.symbol or node.symbol.name.startswith(inside))
    )


def _hit(graph_place: FoundPlace, place: int, chunk: StoredChunk, definitions: dict[int, Definition]) -> Hit:
    node = definitions.get(graph_place.node)
    steps = [definitions[each] for each in graph_place.steps if each in definitions]
    return Hit(
        chunk,
        round(1 / (1 + (place - 1) / 10), 4),
        {"tree": place},
        (),
        graph_place.line,
        graph_place.certainty,
        graph_place.via,
        (graph_place.why,) if graph_place.why else (),
        node=node.symbol if node is not None and node.path == graph_place.path else None,
        steps=tuple(f"{each.path}#{each.symbol.name}" for each in steps),
        reference=graph_place.reference,
    )


def _unknown(meaning: Meaning, graph: CodeGraph) -> str:
    """Return the remark for a name that the project doesn't have, with the nearest names, or else with what
    to do about it."""
    written = meaning.written[:100]
    if not written:
        return "no name is given; say which definition, file or module is meant"
    nothing = f"nothing in the project is named `{written}`"
    near = f"the nearest names are {', '.join(meaning.near)}" if meaning.near else ""
    owner = meaning_of(written.rpartition(".")[0], graph) if "." in written else None
    if owner is not None and owner.definitions and not owner.guess:
        within = f"there is {node_id_of(owner.definitions[0])}"
        return "; ".join(filter(None, (nothing, within, near)))
    return f"{nothing}; {near or HOW_TO_NAME}"


HOW_TO_NAME: Final = "write a name as the code has it, a path, or both (pkg/auth.py#Session.login)"
"""What to do about a name that isn't known."""


def _degraded(waiting: int, subjects: Sequence[str], *, unread: bool, linked_first: bool) -> tuple[str, ...]:
    if not waiting:
        return ()
    files = "1 file waits" if waiting == 1 else f"{waiting:,} files wait"
    files += " to be read or linked" if unread else " to be linked"
    names = " or ".join(last_words(subjects)) if linked_first else ""
    if names:
        first = f"those that mention {names} were linked first"
        return (f"{files}; {first}, but references under another name may be missing",)
    return (f"{files}: references in them may be missing or known by name only",)


_OF_EACH: Final[dict[Relation, FindPlaces]] = {
    "definition": _definitions,
    "callers": callers,
    "callees": callees,
    "references": references,
    "importers": importers,
    "subclasses": subclasses,
    "superclasses": superclasses,
    "implementations": implementations,
    "overrides": overrides,
}
_OF_TOGETHER: Final[dict[Relation, Callable[[Sequence[Meaning], CodeGraph], Findings]]] = {
    "imports": imports,
    "outline": outline,
    "connection": connection,
    "cycles": cycles,
    "tests": tests,
}
_OF_FILES = frozenset({"importers", "imports", "outline", "cycles"})
_OF_DOCUMENTS = frozenset({"definition", "outline", "cycles", "unused"})
"""Relations that documents and data have too."""
_OF_ALL = frozenset({"cycles", "unused"})
"""Relations that need no subject; without one they are asked about the whole project."""
_TOP = CLASSES | {"function", "macro"}
_WITHOUT_LINKS = frozenset({"definition", "importers", "imports", "outline", "cycles"})

_WORDS = re.compile(r"\w+")

_CODE = re.compile(r"[_.:#/\\$@\d]|\(\)|[^\W\d_][A-Z]")
