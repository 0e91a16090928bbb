"""Owns the choice of a question's route, by rules, and of the place that it keeps to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..core.vocabulary import words
from ..graph.subjects import files_named
from ..index.store import Reader
from ..project.tree import Tree
from .clauses import Clause, split_clauses
from .filters import Filter
from .moods import Mood, asks_in_words, mood_of, told, without_greeting
from .places import PlaceKind, PlaceMention, find_places
from .query import Relation, Route
from .question import Question, take_apart
from .question_words import ASKING, KINDS, LOOKING, STOP_WORDS, TELLING
from .relation_phrases import RelationAsked, depth_of, find_planned_impact, planned_change
from .relation_subjects import PRONOUNS, bare_name, sure_names
from .relations import find_relation

MAX_STATEMENTS = 4
"""A text of more sentences, none of which asks, is a report; what it says in passing is no question."""

MAX_SAID = 200
"""Evidence, and the things that are looked for, are cut, in characters."""


class Classification(Struct, frozen=True):
    """The route of a question, and in `evidence` why, for a person to read, at least one reason.

    For a structural question `relation` and `subjects`, as written; two for a connection, in the order in
    which it is walked. For `it` and `the function below` stands what was named before, or what pasted code
    defines. `depth` is the number of edges that is asked for, 1 for direct ones, 0 if none is given.
    `places` are the definite places of a positional question, and those that only restrict a structural one.
    `thing` is what is looked for there, in words.
    """

    route: Route
    evidence: tuple[str, ...]
    relation: Relation | None = None
    subjects: tuple[str, ...] = ()
    thing: str = ""
    places: tuple[PlaceMention, ...] = ()
    depth: int = 0


def classify(question: Question) -> Classification:
    """Return the route of a question. The first rule that fits decides.

    1. What was pasted in asks in its own way (traces, logs, diffs, commands): hybrid; code only if nothing
       structural is asked about it.
    2. A command to change something: hybrid, whatever else is asked.
    3. Each clause has its route; several different ones: hybrid. Statements count only where nothing is
       asked, so that background doesn't.
    4. Within a clause a relation comes before a place, and a place before asking in words.
    """
    pasted = [kind for kind in question.pasted if kind != "code"]
    if pasted:
        return Classification("hybrid", (f"holds a pasted {pasted[0]}",))
    readings: list[_Reading] = []
    planned = ""
    named: tuple[str, ...] = ()
    clauses = split_clauses(question.asked)
    for at, clause in enumerate(clauses):
        asks_next = at + 1 < len(clauses) and _opens_question(clauses[at + 1])
        if asks_next and (plan := planned_change(clause)):
            planned = plan  # `I want to delete X. What breaks?` commands nothing
            named = sure_names(clause.tokens) or named
            continue
        named_before = bool(readings or planned) or "code" in question.pasted
        reading = _read(clause, named_before=named_before, planned=planned)
        topic = sure_names(clause.tokens[:1])  # `X: who calls it`
        reading = replace(reading, meant=topic or named or question.defined)
        named = sure_names(clause.tokens) or named
        if reading.mood == "change":
            return Classification("hybrid", (f"commands a change: {reading.said}",))
        readings.append(reading)
    chosen = [reading for reading in readings if reading.route and reading.mood != "statement"]
    if not chosen and len(readings) <= MAX_STATEMENTS:
        chosen = [reading for reading in readings if reading.route]
    return _merged(chosen, has_code="code" in question.pasted)


def asked_for(relation: Relation, question: Question) -> Classification:
    """Return what a caller asks for who gives the relation: of the names in the question, else its words."""
    tokens = [token for clause in split_clauses(question.text) for token in clause.tokens]
    said = (token.text for token in tokens if token.kind != "mark" and token.form not in STOP_WORDS)
    subjects = sure_names(tokens) or tuple(said)
    return Classification(
        "structural", (f"the caller asks for {relation}",), relation, tuple(map(bare_name, subjects))
    )


def _merged(chosen: Sequence[_Reading], *, has_code: bool) -> Classification:
    routes = {reading.route for reading in chosen}
    if not routes:
        return Classification("hybrid", ("names no relation and no place, and asks no question in words",))
    if len(routes) > 1:
        return Classification(
            "hybrid", ("asks in several ways", *(reading.evidence for reading in chosen[:4]))
        )
    if has_code and "structural" not in routes:
        return Classification("hybrid", ("holds pasted code", chosen[0].evidence))
    return chosen[0].classification()


class _Reading(Struct, frozen=True):
    """What one clause asks for."""

    mood: Mood
    said: str
    thing: str = ""
    relation: RelationAsked | None = None
    places: tuple[PlaceMention, ...] = ()
    in_words: bool = False
    depth: int = 0
    meant: tuple[str, ...] = ()
    """What `it` stands for, empty if nothing was named."""

    @property
    def route(self) -> Route | None:
        if self.relation:
            return "structural"
        if self.places:
            return "positional"
        return "semantic" if self.in_words else None

    @property
    def evidence(self) -> str:
        if self.relation:
            return f"asks for {self.relation.relation}: {self.relation.said[:MAX_SAID]}"
        if self.places:
            return f"names a {self.places[0].kind}: {self.places[0].said[:MAX_SAID]}"
        return f"asks in words: {self.said}"

    def classification(self) -> Classification:
        """Return what this clause alone decides."""
        if self.relation:
            relation = self.relation.relation
            subjects = tuple(map(self._named, self.relation.subjects))
            # `what depends on a.py` looks in no place; dead code in one has no other subject.
            asked = () if relation in _OF_ALL else subjects
            places = tuple(place for place in self.places if place.name not in asked)
            return Classification(
                "structural", (self.evidence,), relation, subjects, places=places, depth=self.depth
            )
        if self.places:
            return Classification("positional", (self.evidence,), thing=self.thing, places=self.places)
        return Classification("semantic", (self.evidence,))

    def _named(self, subject: str) -> str:
        back = subject.lower() in PRONOUNS | KINDS
        return self.meant[0] if back and self.meant else bare_name(subject)


def _opens_question(clause: Clause) -> bool:
    return clause.asks or (bool(clause.tokens) and clause.tokens[0].form in ASKING)


def _read(clause: Clause, *, named_before: bool, planned: str) -> _Reading:
    clause = without_greeting(clause)
    said = clause.said(0, len(clause.form))[:MAX_SAID]
    mood = mood_of(clause)
    if mood in {"nothing", "change"}:
        return _Reading(mood, said)
    asked = told(clause) if mood == "look" or clause.tokens[0].form in TELLING else clause
    relation = find_relation(asked, asks=mood != "statement", pronouns=named_before)
    relation = relation or find_planned_impact(asked, planned)
    if mood == "statement" and _fails(clause):
        relation = None
    places = find_places(clause)
    if not relation and mood == "statement" and _reports(clause):
        places = ()
    in_words = asks_in_words(asked, mood, complement=asked is not clause)
    depth = depth_of(asked) if relation else 0
    return _Reading(mood, said, _thing(clause, places), relation, places, in_words, depth)


def _reports(clause: Clause) -> bool:
    """Whether a statement reports what goes wrong in a place, rather than looks for something there."""
    forms = {token.form for token in clause.tokens}
    return bool(forms & _FAILS) and not forms & _SOUGHT


def _fails(clause: Clause) -> bool:
    """Whether a statement says that something fails: `tests in a.py fail`."""
    return any(token.form in _FAILS_SURELY for token in clause.tokens)


def _thing(clause: Clause, places: Sequence[PlaceMention]) -> str:
    """Return what is looked for, without the words for the place and those that only ask."""
    placed = {word for place in places for word in place.said.split()}
    return " ".join(
        token.text
        for token in clause.tokens
        if token.kind != "mark"
        and token.text not in placed
        and token.form not in STOP_WORDS
        and token.form not in LOOKING | ASKING
    )[:MAX_SAID]


_OF_ALL = frozenset({"unused", "cycles"})
_FAILS_SURELY = words(
    """
    fails fail failing failed crashes crash crashed crashing hangs hang broken panics
    """
)
_SOUGHT = words("something somewhere anything")
_FAILS = words(
    """
    fails fail failing failed crashes crash crashed crashing throws throw thrown raises raised returns
    returned hangs hang broken breaks wrong leaks leak doesn't not never instead cannot stuck loses lost
    freezes panics wrongly incorrectly
    """
)
"""Words of reports. Nouns such as `error` aren't among them: `error handling in a.go` looks for something."""


def classified(question: Question, tree: Tree) -> Classification:
    """Return what a question asks for. `in:fly` is a place only where there is such a file or folder, since
    some languages write attributes so."""
    decided = classify(question)
    text = question.text
    for place in decided.places:
        if place.said.startswith("in:") and next(_paths_meant(place.name, tree), None) is None:
            text = text.replace(place.said, place.name)
    return decided if text == question.text else classify(take_apart(text))


def narrow(chosen: Filter, decided: Classification, tree: Tree, reader: Reader) -> tuple[Filter, str]:
    """Keep to the place that a question gives, if there is such a place and the caller gave none."""
    if not decided.places:
        return chosen, "no place is named that could be searched"
    if chosen.path_prefix or chosen.symbol:
        return chosen, "the caller's own place is kept to"
    for place in decided.places:
        for meant in _meanings(place.name, place.kind, tree, reader):
            both = replace(
                chosen,
                path_prefix=meant.path_prefix,
                glob=chosen.glob or meant.glob,
                symbol=meant.symbol,
            )
            return both, f"kept to {meant.path_prefix or meant.glob or meant.symbol}"
    named = ", ".join(place.name for place in decided.places)
    return chosen, f"there is no such place as {named}; searched everywhere"


def _meanings(name: str, kind: PlaceKind, tree: Tree, reader: Reader) -> Iterator[Filter]:
    """Yield what a place may mean, the likeliest first."""
    yield from _paths_meant(name, tree)
    if kind == "filter":
        return
    found = reader.definitions_named(name, 2)
    if found:
        path, symbol = found[0]
        yield Filter(path_prefix=path if len(found) == 1 else "", symbol=symbol.name)


def _paths_meant(name: str, tree: Tree) -> Iterator[Filter]:
    """Yield the files or folders that a place may mean, the likeliest first."""
    if "*" in name:
        with contextlib.suppress(ValueError):  # what looks like a glob and isn't means nothing
            if Filter(glob=name).files(tree):
                yield Filter(glob=name)
        return
    files = [name] if name in tree.files else files_named(name, tree)
    if len(files) == 1:
        yield Filter(path_prefix=files[0])
    folder = name.strip("/")
    folders = [path for path in tree.layout.folders if path == folder or path.endswith(f"/{folder}")]
    if folders and folder:
        yield Filter(path_prefix=f"{min(folders, key=lambda path: (path.count('/'), path))}/")
    if files:
        yield Filter(path_prefix=files[0])
