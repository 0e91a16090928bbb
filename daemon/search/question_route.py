"""The route of a question: which relation of the code graph its words ask for, or which place they name.

A question is routed to the graph if a cue word stands beside a name of the project and every other word is
known to mean nothing there. A misrouted question loses its answer, while one that isn't routed is still
searched by words, so what isn't understood as a whole isn't routed. The parameter `relation` is exact and
needs no cue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..graph.records import PLACE
from .graph_cues import CUES, EXPLAINED, FIRST, OF_ALL, WORDS, Cue
from .mentions import TITLE_CASE, certainty_of, read_path
from .places import PlaceMention, find_places, has_filter
from .query import Relation, Route
from .question import Question

IsName = Callable[[str], bool]
"""Whether the project has a definition or module of a name; or whether a word occurs nowhere in it."""

PROSE_MAX: Final = 400
"""Maximum characters of a question that can ask for a relation; a longer text is a report."""

WORDS_MAX: Final = 24
"""Maximum number of words of a sentence that can ask for a relation."""


NAME_LEAST: Final = 4
"""Minimum letters of a word that is taken as a name which the project doesn't have."""

BESIDE: Final = 3
"""Maximum distance of such a word from the word for its relation (`what calls the function x`)."""


class RoutedQuestion(Struct, frozen=True):
    """The route of a question, with a reason for it in `evidence`, in words for people.

    A structural question has a `relation` and its `subjects` as written; a connection has two, start and end.
    `depth` is the requested number of edges, 0 if none is given. `places` are the places to search in.
    `alone` says that the question asks for nothing else, of a place that it asks for this place itself.
    """

    route: Route
    evidence: tuple[str, ...]
    relation: Relation | None = None
    subjects: tuple[str, ...] = ()
    places: tuple[PlaceMention, ...] = ()
    depth: int = 0
    alone: bool = False


def _never(_: str) -> bool:
    return False


def route_question(question: Question, is_name: IsName, is_absent: IsName = _never) -> RoutedQuestion:
    """Return the route of a question. Pasted traces, logs and diffs are searched by all means (`hybrid`)."""
    asked = question.asked
    code = "code" in question.pasted
    place = PLACE.fullmatch(question.text.strip()) if len(question.text) <= PROSE_MAX else None
    if place:
        evidence = (f"names a line: {place[0]}",)
        return RoutedQuestion("structural", evidence, "definition", (place[0],))
    for pasted in question.pasted:
        if pasted != "code":
            return RoutedQuestion("hybrid", (f"holds a pasted {pasted}",))
    if len(asked) <= PROSE_MAX and not _COMMAND.search(asked):
        sentences = list(_sentences(question, is_name, is_absent))
        found = next(filter(None, (sentence.route() for sentence in sentences)), None)
        if found and (found.relation == "connection" or not any(each.asks_why for each in sentences)):
            return replace(found, alone=len(sentences) == 1 and not question.pasted)
    opener = asked.partition(" ")[0].lower().rstrip(".,:;!?")
    looks = opener in FIRST or opener in _SECTIONS or has_filter(asked)
    places = tuple(find_places(asked)) if looks else ()
    if places and not code:
        reason = (f"names a {places[0].kind}: {places[0].name}",)
        is_all = places[0].kind == "section" and not _words_beside(asked, places[0].name)
        return RoutedQuestion("positional", reason, places=places, alone=is_all)
    if opener in WORDS["asking"] and opener != asked and not code:
        return RoutedQuestion("semantic", (f"asks in words: {asked[:PROSE_MAX].rstrip(' ?')}",))
    return RoutedQuestion("hybrid", ('a plain search: it has no "who calls", "where" or "in auth.py"',))


def decided_route(
    question: Question, relation: Relation | None, is_name: IsName, is_absent: IsName = _never
) -> RoutedQuestion:
    """Return the route of a question, for a relation if the caller chose one."""
    return with_relation(relation, question) if relation else route_question(question, is_name, is_absent)


def _words_beside(asked: str, section: str) -> list[str]:
    """Return the words of a question that ask for more than a section that it names."""
    tokens = _tokens(_QUOTES.sub(" ", asked).replace(section, " ", 1))
    return [token.name for token in tokens if token.sure or token.form not in EXPLAINED | _SECTIONS]


def with_relation(relation: Relation, question: Question) -> RoutedQuestion:
    """Return the route for a relation that the caller chose; its subjects are the names in the question, or
    else its words."""
    tokens = list(_tokens(question.text))
    names = [token.name for token in tokens if token.sure]
    names = names or [token.name for token in tokens if token.form not in _NO_SUBJECT]
    subjects = tuple(names or (token.name for token in tokens))
    return RoutedQuestion("structural", (f"the caller asks for {relation}",), relation, subjects)


class _Token(Struct, frozen=True):
    """A word, in lower case in `form`; `sure` if its form alone shows that it is a name."""

    name: str
    form: str = ""
    sure: bool = False


class _Sentence:
    """The words of one sentence: which are names of the project, and which are unknown. `meant` is the name
    that a pronoun at its end refers to."""

    def __init__(self, text: str, is_name: IsName, is_absent: IsName, meant: str) -> None:
        self.text = " ".join(text.split())
        self.tokens = list(islice(_tokens(text), WORDS_MAX + 1))
        sure = [token.name for token in self.tokens if token.sure]
        if meant and not sure and self.tokens and self.tokens[-1].form in WORDS["pronoun"]:
            self.tokens[-1] = _Token(meant, sure=True)
        self.meant = sure[0] if sure else meant
        self.forms = [token.form for token in self.tokens]
        self.said = frozenset(self.forms)
        self.named = [at for at in range(len(self.tokens)) if self._is_named(at, is_name)]
        missing = [at for at in range(len(self.tokens)) if self._is_missing(at, is_absent)]
        joined = [at for at in missing if self._joins(self._form(at - 1), self._form(at + 1))]
        self.named = sorted({*self.named, *joined}) or missing
        self.placed = [at for at in self.named if self._form(at - 1) in WORDS["placing"]]
        plain = (form for at, form in enumerate(self.forms) if at not in self.named)
        self.unknown = [form for form in plain if form not in EXPLAINED and not form.isdigit()]

    @property
    def asks_why(self) -> bool:
        """Whether it asks for reasons or methods, which only a path between two names can answer."""
        return self._form(0) in WORDS["reason"] and self._form(1) != "many"

    def route(self) -> RoutedQuestion | None:
        """Return the route to the graph, or None if the sentence asks for no relation of a name."""
        if not self.forms or len(self.forms) > WORDS_MAX:
            return None
        if not (self.tokens[0].sure or self.forms[0] in FIRST):
            return None
        relation, subjects = self._of_all() or self._of_names()
        if relation is None:
            return None
        places = tuple(PlaceMention("file", self.tokens[at].name) for at in self.placed if at not in subjects)
        names = tuple(self.tokens[at].name for at in subjects)
        said = [f"asks for {relation}: {self.text}"]
        left = [at for at in self.named if at not in subjects and self._form(at - 1) in {"and", "or"}]
        if names and left:
            others = ", ".join(f"`{self.tokens[at].name}`" for at in left)
            said.append(f"this is of `{names[0]}` alone: ask again for {others}")
        return RoutedQuestion("structural", tuple(said), relation, names, places, _depth(self.text))

    def _form(self, at: int) -> str:
        return self.forms[at] if 0 <= at < len(self.forms) else ""

    def _is_path(self, at: int) -> bool:
        return read_path(self.tokens[at].name) is not None

    def _is_named(self, at: int, is_name: IsName) -> bool:
        """Whether a token is a name: by its form, or as a word that the project defines, where a name stands
        (`who calls login`, `the login function`, `is login tested`)."""
        token = self.tokens[at]
        if token.sure or token.form in WORDS["pronoun"]:
            return token.sure
        before, behind = self._form(at - 1), self._form(at + 1)
        if token.form in EXPLAINED:
            is_last = at == len(self.forms) - 1  # a name behind it has no form
            joins = token.form == "from" and before.startswith(("inherit", "deriv"))
            stands = (before in CUES and is_last and not joins) or (
                before in WORDS["auxiliary"] and behind in CUES
            )
            stands = stands or (before in WORDS["article"] and behind in WORDS["kind"])
            stands = stands or self._joins(before, behind)
        else:
            stands = behind in WORDS["kind"] or before not in WORDS["article"]
            stands = stands and (not behind or behind in _BEHIND_NAME)
        return stands and is_name(token.name)

    def _joins(self, before: str, behind: str) -> bool:
        """Whether a word stands where only one of two connected names can: `how do get and post connect`."""
        joined = not WORDS["connect"].isdisjoint(self.said) and "and" in self.said
        first = before in WORDS["auxiliary"] and behind == "and"
        return joined and (first or (before == "and" and behind in WORDS["connect"]))

    def _is_missing(self, at: int, is_absent: IsName) -> bool:
        """Whether a word is taken as a name that the project doesn't have: it stands where a name can, and
        the project doesn't have the word anywhere."""
        form, behind = self.tokens[at].form, self._form(at + 1)
        if not form.isidentifier() or form in EXPLAINED or len(form) < NAME_LEAST:
            return False
        asks = any(
            cue.incoming in _OF_NAMED and abs(at - place) <= BESIDE
            for place, cue in enumerate(map(CUES.get, self.forms))
            if cue is not None
        )
        asks = asks or (behind in WORDS["change"] and not WORDS["break"].isdisjoint(self.said))
        others = sum(each not in EXPLAINED and not each.isdigit() for each in self.forms)
        stands = (asks and others == 1) or self._joins(self._form(at - 1), behind)
        return stands and is_absent(self.tokens[at].name)

    def _of_all(self) -> tuple[Relation, Sequence[int]] | None:
        """Return a relation of the whole project, or of some files of it."""
        paths = [at for at in self.named if self._is_path(at)]
        text = " ".join(self.forms)
        for relation, pattern in OF_ALL:
            if pattern.search(text) and (paths == self.named or relation == "cycles"):
                return relation, paths
        return None

    def _of_names(self) -> tuple[Relation | None, Sequence[int]]:
        """Return the relation that the sentence asks for, and the indexes of its subjects."""
        forms, said = self.forms, self.said
        subjects = [at for at in self.named if at not in self.placed] or self.named
        if not subjects or len(self.unknown) > any(self.tokens[at].sure for at in subjects):
            return None, ()
        ends = self.named if "end" in said else subjects
        listed = len(ends) > 1 and said & WORDS["test"] and self._form(ends[1] - 1) in {"and", "or"}
        if (
            len(ends) > 1
            and not listed
            and (said & WORDS["connect"] or (forms[0] in WORDS["auxiliary"] and said & {"call", "use"}))
        ):
            backwards = self._form(ends[0] - 1) in {"to", "into"} or self._form(ends[1] - 1) in {"from", "by"}
            return "connection", (ends[1], ends[0]) if backwards else ends[:2]
        if self.asks_why:
            return None, ()
        tests = said & WORDS["test"] and not said & WORDS["apart"] and "to" not in said
        breaks = (
            said & WORDS["change"]
            and len(said & (WORDS["change"] | WORDS["break"])) > 1
            and said & WORDS["break"]
        )
        if not tests and (breaks or said & WORDS["impact"]):
            return "impact", subjects[:1]
        if tests and not self.unknown and subjects[0] not in self.placed:
            return "tests", subjects[:1]
        cues = ((CUES[form], at) for at, form in enumerate(forms) if form in CUES and at not in self.named)
        for cue, at in cues:
            relation, asked = self._directed(cue, at, subjects)
            if relation and asked:
                return self._refined(relation, asked[0]), asked
        if self.unknown:
            return None, ()
        if not WORDS["member"].isdisjoint(forms[: subjects[0]]) and forms[0] not in WORDS["auxiliary"]:
            return "outline", subjects[:1]
        located = (
            said & WORDS["live"] or "where" in said or (forms[0] in WORDS["looking"] and said & WORDS["kind"])
        )
        definition = located and not self.placed and not self._is_path(subjects[0])
        return ("definition", subjects[:1]) if definition else (None, ())

    def _directed(self, cue: Cue, at: int, subjects: Sequence[int]) -> tuple[Relation | None, Sequence[int]]:
        """Return the relation of a cue and its subjects, by the side of the cue on which they stand."""
        before = [each for each in subjects if each < at][-1:]
        behind = [each for each in subjects if each > at][:1]
        previous, following = self._form(at - 1), self._form(at + 1)
        if before and behind and self.forms[0] in WORDS["auxiliary"] and cue.voice != "passive":
            return cue.outgoing, [*before, *behind]  # `does A extend B`
        if self.forms[at] in WORDS["nounlike"] and (
            following in {"of", "does", "made"} or previous in WORDS["out"]
        ):
            outward = self.forms[at] == "imports" or previous in WORDS["out"]
            return cue.outgoing if outward else cue.incoming, behind or before
        if cue.voice == "noun":
            outward = not behind and self.forms[-1] == "of"  # `what is A a subclass of`
            return cue.outgoing if outward else cue.incoming, behind or before
        if cue.voice == "passive":
            inward = before or not {"by", "in", "inside", "when"} & {*self.forms[at : (behind or [at])[0]]}
            purpose = following in {"for", "to", "as"}  # `what is A used for`
            return None if purpose else cue.incoming if inward else cue.outgoing, before or behind
        fragment = before == [0] and at == 1 == len(self.forms) - 1  # `A references`
        return cue.incoming if behind or fragment else cue.outgoing, behind or before

    def _refined(self, relation: Relation, subject: int) -> Relation:
        """Return the relation that fits its subject: files are imported, symbols called and referenced."""
        if relation in {"importers", "callers", "references"} and self.said & WORDS["transitive"]:
            return "impact"
        if self._is_path(subject):
            return _OF_FILES.get(relation, relation)
        depends = self.said & WORDS["depend"] and not self.said & WORDS["module"]
        return _OF_SYMBOLS.get(relation, relation) if depends else relation


def _sentences(question: Question, is_name: IsName, is_absent: IsName) -> Iterator[_Sentence]:
    """Yield the sentences; a pronoun means the name before, or what pasted code defines."""
    meant = next(iter(question.defined), "")
    for text in _SENTENCE.split(question.asked):
        sentence = _Sentence(text, is_name, is_absent, meant)
        meant = sentence.meant
        yield sentence


def _tokens(text: str) -> Iterator[_Token]:
    for match in _WORD.finditer(text):
        quoted = match["ticked"] or match["quoted"]
        word = quoted or match[0].rstrip(".,:;!?").strip("<>").removesuffix("'s")
        path = read_path(word) or ("/" in word and read_path(word, loosely=True))
        if quoted or path or certainty_of(word) > TITLE_CASE:
            yield _Token(word.strip().removeprefix("def ").removeprefix("class "), sure=True)
        elif word:
            yield _Token(word, word.lower())


def _depth(sentence: str) -> int:
    """Return the number of edges that a sentence asks for, 0 if it gives none."""
    match = _DEPTH.search(sentence.lower())
    said = match and (match["after"] or match["before"])
    if said:
        return min(int(said) if said.isdecimal() else _NUMBERS.index(said), 99)
    return int(bool(_DIRECT.search(sentence)))


_BEHIND_NAME: Final = (
    WORDS["tail"]
    | WORDS["placing"]
    | WORDS["connect"]
    | set(CUES)
    | {kind for kind in WORDS["kind"] if kind[-1] != "s" or kind == "class"}
)
"""Words that may follow a plain word that is a name; `login functions` are other functions than `login`."""
_OF_NAMED: Final = frozenset(
    {"callers", "callees", "importers", "subclasses", "implementations", "overrides"}
)
"""Relations that are asked of names alone; `who uses caching` asks for a concept."""
_NO_SUBJECT: Final = WORDS["filler"] | WORDS["article"] | WORDS["pronoun"] | WORDS["placing"] | set(CUES)
_OF_FILES: Final[dict[Relation, Relation]] = {"references": "importers", "callees": "imports"}
_OF_SYMBOLS: Final[dict[Relation, Relation]] = {"importers": "references", "imports": "callees"}
_SECTIONS: Final = frozenset({"section", "chapter", "heading"})
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}"
_DEPTH = re.compile(rf"\bdepth (?:of )?(?P<after>{_NUMBER})\b|\b(?P<before>{_NUMBER})[ -](?:level|hop)s?\b")
_DIRECT = re.compile(r"\bdirect(?:ly)?\b")
_SENTENCE = re.compile(r"(?<=[.?!;])\s+|\n+")
_WORD = re.compile(
    r"`(?P<ticked>[^`\n]+)`|[\"\u201c](?P<quoted>[\w.:#/<>]+)[\"\u201d]"
    r"|[^\s`\"\u201c\u201d(),;?!]*[^\s`\"\u201c\u201d,;?!(]+(?:\(\))?"
)
_QUOTES = re.compile(r"[\"\u201c\u201d]")
_COMMAND = re.compile(
    r"(?i)(?:^|[.?!]\s+|\band |\bthen )(?:please )?"
    r"(?:fix|rename|remove|delete|replace|update|change|add|move|rewrite) (?!impact)"
)
