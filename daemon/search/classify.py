"""Chooses the route of a question (structural, positional, semantic or hybrid), with the reason."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.vocabulary import words
from ..graph.subjects import files_named
from ..index.store import Reader
from ..project.tree import Tree
from .clauses import Clause, Token, split_clauses
from .filters import Filter
from .patterns import compiled
from .places import PlaceKind, PlaceMention, find_places
from .query import Relation, Route
from .question import Question, take_apart
from .question_words import (
    ASKING,
    AUXILIARY,
    BEFORE_KIND,
    BEFORE_OBJECT,
    CHANGING,
    GREETING,
    KINDS,
    LOOKING,
    OBJECT_NEEDED,
    OTHER_ASKING,
    OTHER_CHANGING,
    SMALL_TALK,
    STOP_WORDS,
    SURELY_CHANGING,
    TELLING,
    WHY_HOW,
    WISHING,
)
from .relation_phrases import PRONOUNS, RelationAsked, bare_name, depth_of, sure_names
from .relations import find_relation

Mood = Literal["question", "look", "change", "statement", "nothing"]
"""The mood of a clause. `look` is a command to search or explain, `change` a command to change something,
`nothing` small talk or an attempt to change the agent's instructions."""


def mood_of(clause: Clause) -> Mood:
    """Return the mood of a clause without greeting (see `without_greeting`)."""
    tokens = clause.tokens
    if not tokens or compiled(SMALL_TALK).search(clause.form):
        return "nothing"
    first = tokens[0].form
    if first in ASKING or first in OTHER_ASKING or compiled(_OTHER_ASKS).search(clause.form):
        return "question"
    if _commands(tokens) or first in OTHER_CHANGING:
        return "change"
    if first in LOOKING | TELLING:
        return "look"
    if first in AUXILIARY or clause.asks or _asks_later(tokens):
        return "question"
    return "statement"


def without_greeting(clause: Clause) -> Clause:
    """Return a clause without the greetings and polite phrases at its beginning: `hey, could you please`."""
    wish = compiled(WISHING).search(clause.form)
    if wish:
        clause = clause.since(sum(1 for offset in clause.offsets if offset < wish.end()))
    match = compiled(GREETING).match(clause.form)
    if not match:
        return clause
    at = sum(1 for offset in clause.offsets if offset < match.end())
    while at < len(clause.tokens) and clause.tokens[at].kind == "mark":
        at += 1
    return clause.since(at)


def told(clause: Clause) -> Clause:
    """Return the question inside a command such as `tell me why …`, or the clause itself if there is none."""
    for at, token in enumerate(clause.tokens[1:6], 1):
        directly = clause.tokens[at - 1].form in _TELLS or clause.tokens[at - 1].form in TELLING
        if token.form in ASKING and (token.form not in _CONJUNCTIONS or (directly and token.form == "which")):
            return clause.since(at)
        if token.kind != "mark" and token.form not in STOP_WORDS and token.form not in TELLING:
            break
    if clause.tokens[0].form in TELLING:  # `explain in simple words how …`
        for at, token in enumerate(clause.tokens[1:12], 1):
            if token.form in WHY_HOW:
                return clause.since(at)
    return clause


def asks_in_words(clause: Clause, mood: Mood, *, complement: bool) -> bool:
    """Whether a clause is a question in words with something to search for.

    `complement` says that `told` found it inside a command."""
    content = [token for token in clause.tokens if token.kind != "mark" and token.form not in STOP_WORDS]
    if not any(len(token.text) > 1 for token in content):
        return False  # only a question word, or letters of a regular expression
    if complement:
        return True
    if mood == "question":
        opens = clause.tokens[0].form in AUXILIARY or any(token.form in ASKING for token in clause.tokens)
        return opens or len(content) >= MIN_WORDS or not clause.form.isascii()
    return False


MIN_WORDS = 3
"""Minimum number of content words in a question that has no question word or auxiliary. `login?` is too
short."""


def _commands(tokens: Sequence[Token]) -> bool:
    """Whether a clause commands a change, at its start or after an `and`."""
    if len(tokens) < 2:
        return False
    first, following = tokens[0], tokens[1]
    if _is_gerund(first.form):
        return True
    if f"{first.form}-{following.form}" in CHANGING:
        return True  # `get rid of`
    if first.kind == "word" and first.form in CHANGING and following.form not in _BEHIND_NOUN:
        if first.form not in OBJECT_NEEDED or following.form in BEFORE_OBJECT or following.kind != "word":
            return True
        if first.form in BEFORE_KIND and following.form in KINDS:
            return True
    return any(
        before.form in _AND
        and (
            (token.form in SURELY_CHANGING and after.form in BEFORE_OBJECT)
            or (token.form in CHANGING and after.form in _FOUND)
        )
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def _is_gerund(word: str) -> bool:
    """Whether a word is the gerund of a verb for a change: `adding`, `renaming`."""
    stem = word.removesuffix("ing")
    return stem != word and bool({stem, f"{stem}e", stem[:-1]} & (SURELY_CHANGING - {"implement"}))


def _asks_later(tokens: Sequence[Token]) -> bool:
    """Whether a question follows a preposition or another part of the clause: `f raises, find out why …`.

    `need.py` uses the result to decide whether a prompt needs code.
    """
    if tokens[0].form in STOP_WORDS and len(tokens) > 1 and tokens[1].form in ASKING:
        return True
    return any(
        before.form in {",", ":"} and (token.form in ASKING or token.form in LOOKING)
        for before, token in pairwise(tokens[:13])
    )


_OTHER_ASKS = r"什么|怎么|如何|哪|吗|是否|なぜ|どう|どこ|何|어떻게|왜|어디"
_AND = words("and then , please")
_FOUND = words("it them these those that this")
_TELLS = words("out me us list show")
_BEHIND_NOUN = words("of for")
"""Words that follow a noun (`support for IPv6`) but not a command."""

_CONJUNCTIONS = words("that which")
"""Question words that may also begin a clause that is no question."""


MAX_STATEMENTS = 4
"""Maximum number of clauses in a text without a question whose statements decide the route. A longer text is
a report, so its statements are ignored."""

MAX_SAID = 200
"""Maximum characters that the evidence quotes of a clause, and maximum characters of the words to search
for."""


class Classification(Struct, frozen=True):
    """The route of a question, with at least one reason for it in `evidence`, in words for people.

    A structural question has a `relation` and its `subjects` as written; a connection has two, start and end.
    Pronouns such as `it` and `the function below` are replaced by the name mentioned before, or by the name
    that pasted code defines. `depth` is the requested number of edges, 1 for direct ones, 0 if none is given.
    `places` are the places to search in a positional question, or the limits of a structural one. `thing` has
    the words to search for there.
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

    1. Pasted traces, logs, diffs and commands: hybrid. Pasted code: hybrid, unless a structural question is
       asked about it.
    2. A command to change something: hybrid, whatever else is asked.
    3. Each clause has its route; if they differ: hybrid. Statements count only if the text asks no question,
       since they are usually background.
    4. Within a clause a relation comes before a place, and a place before a question in words.
    """
    pasted = [kind for kind in question.pasted if kind != "code"]
    if pasted:
        return Classification("hybrid", (f"holds a pasted {pasted[0]}",))
    readings: list[_Reading] = []
    named: tuple[str, ...] = ()
    for clause in split_clauses(question.asked):
        named_before = bool(readings) or "code" in question.pasted
        reading = _read(clause, named_before=named_before)
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
    """Return the classification for a relation that the caller chose.

    Its subjects are the names in the question, or else its content words."""
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
    """The result of reading one clause."""

    mood: Mood
    said: str
    thing: str = ""
    relation: RelationAsked | None = None
    places: tuple[PlaceMention, ...] = ()
    in_words: bool = False
    depth: int = 0
    meant: tuple[str, ...] = ()
    """The names that a pronoun refers to, empty if nothing was named."""

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
        """Return the classification of a question that has only this clause."""
        if self.relation:
            relation = self.relation.relation
            subjects = tuple(map(self._named, self.relation.subjects))
            # In `what depends on a.py` the file is the subject and no place.
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


def _read(clause: Clause, *, named_before: bool) -> _Reading:
    clause = without_greeting(clause)
    said = clause.said(0, len(clause.form))[:MAX_SAID]
    mood = mood_of(clause)
    if mood in {"nothing", "change"}:
        return _Reading(mood, said)
    asked = told(clause) if mood == "look" or clause.tokens[0].form in TELLING else clause
    relation = find_relation(asked, asks=mood != "statement", pronouns=named_before)
    places = find_places(clause)
    in_words = asks_in_words(asked, mood, complement=asked is not clause)
    depth = depth_of(asked) if relation else 0
    return _Reading(mood, said, _thing(clause, places), relation, places, in_words, depth)


def _thing(clause: Clause, places: Sequence[PlaceMention]) -> str:
    """Return the words to search for, without the place, stop words and question words."""
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


def classified(question: Question, tree: Tree) -> Classification:
    """Return the classification of a question about a project.

    `in:fly` is a place only if the project has such a file or folder, since some languages have attributes of
    this form."""
    decided = classify(question)
    text = question.text
    for place in decided.places:
        if place.said.startswith("in:") and next(_paths_meant(place.name, tree), None) is None:
            text = text.replace(place.said, place.name)
    return decided if text == question.text else classify(take_apart(text))


def narrow(chosen: Filter, decided: Classification, tree: Tree, reader: Reader) -> tuple[Filter, str]:
    """Limit a filter to the place that a question names, if it exists and the caller gave none.

    Returns the filter and a remark for the evidence."""
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
    """Yield the filters for a place, the most likely meaning first."""
    yield from _paths_meant(name, tree)
    if kind == "filter":
        return
    found = reader.definitions_named(name, 2)
    if found:
        path, symbol = found[0]
        yield Filter(path_prefix=path if len(found) == 1 else "", symbol=symbol.name)


def _paths_meant(name: str, tree: Tree) -> Iterator[Filter]:
    """Yield the filters for the files or folders that a place may mean, the most likely first."""
    if "*" in name:
        with contextlib.suppress(ValueError):  # an invalid glob matches nothing
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
