"""Finds phrasings of several words that ask for a relation, and the subjects of a relation."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..core.vocabulary import words
from .clauses import Clause, Token
from .patterns import compiled
from .query import Relation
from .question_words import (
    ADVERBS,
    ASKING,
    AUXILIARY,
    KINDS,
    LOOKING,
    PARTS,
    PLURAL_KINDS,
    STOP_WORDS,
    is_breakage,
    is_change,
)
from .relation_cues import CUES

REACH = 8
"""Maximum number of words between a cue and its subject: `depends, directly or indirectly, on X`."""


class Subject(Struct, frozen=True):
    """A token that may be the subject of a relation.

    `sure` says that it is an identifier, a path, or a pronoun for one, and no plain word. `kinded` says that
    a word for a kind of definition is next to it: `the login function`.
    """

    at: int
    text: str
    sure: bool
    kinded: bool = False


def subject_behind(tokens: Sequence[Token], at: int, *, pronouns: bool) -> Subject | None:
    """Return the subject after a cue: an identifier or path after a few function words, or one plain word.

    A plain word counts if a word for a kind is next to it, or if the clause ends or a place follows: `who
    calls login in src`, but not `who calls the payment provider`. With `pronouns` words that refer to a name
    mentioned before count too: `it`, `the function below`.
    """
    determined = kind = False
    for index in range(at + 1, min(at + 1 + REACH, len(tokens))):
        token = tokens[index]
        following = form_at(tokens, index + 1)
        if is_named(token):
            return Subject(index, token.text, sure=True)
        if token.form in _CONJUNCTIONS:
            return None
        if pronouns and _refers_back(token, determined, following):
            return Subject(index, token.text, sure=True)
        if token.form in KINDS:
            kind = True
        elif token.form in DETERMINERS:
            determined = True
        elif not is_filler(token) and not _is_part(tokens, index) and not _says_kind(tokens, index):
            kinded = kind or following in KINDS
            alone = not determined and (not following or following in _BOUNDARY)
            surely = (determined and following in KINDS) or (index == at + 1 == len(tokens) - 1)
            named = may_be_name(token, surely=surely) and (kinded or alone)
            return Subject(index, token.text, sure=False, kinded=kinded) if named else None
    return None


def subject_before(tokens: Sequence[Token], at: int, *, pronouns: bool) -> Subject | None:
    """Return the subject before a cue: an identifier or path, or a plain word after `is`, `does` or the
    like."""
    kind = False
    for index in range(at - 1, max(at - 1 - REACH, -1), -1):
        token = tokens[index]
        before = form_at(tokens, index - 1)
        if is_named(token):
            # In `does anything under web import X` the name before the cue is a place.
            placed = before in PLACING and index > 1 and tokens[0].form not in PLACING
            placed = placed and not (before == "of" and form_at(tokens, index - 2) in PARTS)
            return None if placed else Subject(index, token.text, sure=True)
        if pronouns and (token.form in PRONOUNS or (token.form in KINDS and before in DETERMINERS)):
            return Subject(index, token.text, sure=True)
        if token.form in KINDS:
            kind = True
        elif token.form in ASKING or (token.form in LOOKING and not index):
            return None
        elif not is_filler(token):
            kinded = kind or before in KINDS
            alone = before in AUXILIARY or (index == 0 and at == len(tokens) - 1)
            named = may_be_name(token) and (kinded or alone)
            return Subject(index, token.text, sure=False, kinded=kinded) if named else None
    return None


def form_at(tokens: Sequence[Token], at: int) -> str:
    """Return the form of the token at an index, empty outside of the clause."""
    return tokens[at].form if 0 <= at < len(tokens) else ""


def is_named(token: Token) -> bool:
    """Whether a token is an identifier or a path."""
    return token.kind in {"name", "path"}


def sure_names(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the identifiers and paths among tokens, as written."""
    return tuple(token.text for token in tokens if is_named(token))


def bare_name(written: str) -> str:
    """Return the name in a subject as written: `f` of `def f`, `Avatar` of `<Avatar>`, `T` of `struct T`."""
    inner = compiled(_DECLARED).fullmatch(written) or compiled(_ELEMENT).fullmatch(written)
    return inner["name"] if inner else written


def is_filler(token: Token) -> bool:
    """Whether a token can't be a subject: a function word, adverb, mark, or word for a change
    (`renaming`)."""
    return token.kind == "mark" or token.form in _FILLERS or bool(is_change(token.form))


def may_be_name(token: Token, *, surely: bool = False) -> bool:
    """Whether a plain word could be a name.

    `surely` says that its position makes a name likely (`the draw method`, `who calls render`). Then it may
    also be a cue or a command, if it doesn't end with `s`.
    """
    known = token.form in STOP_WORDS or token.form in _NO_NAMES
    tells = token.form in CUES or token.form in LOOKING
    known = known or (tells and not (surely and not token.form.endswith("s")))
    return token.kind in {"word", "quote"} and not known and not token.form[0].isdigit()


def _is_part(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word names a part of the subject after it: `the return value of f`, `new instances of C`."""
    return tokens[at].form in PARTS and any(form_at(tokens, at + step) in _OF_WHOLE for step in (1, 2, 3))


def _says_kind(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word only describes the kind of the next name: `the environment variable HOME`."""
    return form_at(tokens, at + 1) in KINDS and any(map(is_named, tokens[at + 2 : at + 3]))


def _refers_back(token: Token, determined: bool, following: str) -> bool:
    """Whether a token refers to a name mentioned before: `it`, `the function below`, `that class`."""
    if token.form in PRONOUNS:
        return not following or following in _BOUNDARY
    return token.form in KINDS and determined and (not following or following in _NEARBY)


DETERMINERS = words(
    """
    the a an our my your this that these those its his her their any some each every another much many
    most more less enough which what
    """
)
PLACING = words("in inside within under below outside of across")
"""Prepositions before a place."""

_BOUNDARY = words(
    """
    , : ( in inside within from under across anywhere somewhere directly indirectly recursively
    transitively and or to up here please at with there now currently right by elsewhere around throughout
    thanks during before after outside for first internally already have has
    """
)
_OF_WHOLE = words("of in to for on do")
_NEARBY = _BOUNDARY | words("below above here call calls use do")
_CONJUNCTIONS = words("if when because while than whether why how where instead")
_FILLERS = (
    STOP_WORDS
    | PLACING
    | ADVERBS
    | AUXILIARY
    | words(
        """
    of to for on from in into by with at : ? , one depth level tree graph chain hierarchy related relating
    belonging concerning regarding public new coverage
    """
    )
) - words("if when because while")
PRONOUNS = words("it them this that these those they")
_NO_NAMES = words(
    """
    anything everything something someone nobody nothing code stuff things thing way ways time times
    difference purpose reason idea problem issue bug error errors rest kind kinds sort each other twice
    once
    """
)
_DECLARED = (
    r"(?:(?:export|default|async|public|private|protected|static|abstract|final|pub|def|fn|func|fun|function"
    r"|class|struct|enum|interface|trait|type|union|record|const|let|var|val|object|module|namespace"
    r"|package|import|from) ){1,4}(?P<name>[^\s(){};:=]{1,200})(?:[(){};:=].{0,400})?"
)
_ELEMENT = r"</?(?P<name>[\w.:-]{1,200}) ?/?>"
"""Declarations and HTML elements as people write them in backticks, instead of the bare name."""


MAX_DEPTH = 99
"""Maximum depth of a question; a greater one is probably a typing error, and is reduced to this."""


def depth_of(clause: Clause) -> int:
    """Return the number of edges that a clause asks for, 1 for direct ones, 0 if it gives no number."""
    number = compiled(_DEPTH).search(clause.form) or compiled(_LEVELS).search(clause.form)
    if number:
        said = number["number"]
        return min(int(said) if said.isdecimal() else _NUMBERS.index(said), MAX_DEPTH)
    chain = compiled(_CHAIN).search(clause.form)
    if chain:
        return min(len(compiled(_LINK).findall(chain[0])), MAX_DEPTH)
    direct = compiled(_DIRECT).search(clause.form) and not compiled(_INDIRECT).search(clause.form)
    return 1 if direct else 0


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_DEPTH = (
    rf"\b(?:depth|levels|hops)"
    rf"(?: (?:of|up|to|=|:|<=))* {_NUMBER}\b"
)
_LEVELS = (
    rf"\b{_NUMBER}[ -](?:level|hop|layer|generation|call)\w{{0,3}}\b"
    r"(?: (?:deep|up|down|away|of))?"
)
_LINK = r"\b(?:callers?|callees?|importers?|dependents?|users?)\b"
_CHAIN = rf"{_LINK}(?: of (?:(?:the|its|their|all) )*{_LINK})+"
_DIRECT = r"\b(?:directly|direct|immediate|immediately)\b"
_INDIRECT = r"\b(?:indirect|transitive|recursive)\w{0,2}\b"


class RelationAsked(Struct, frozen=True):
    """A relation that a clause asks for, its subjects as written, in order, and the words that say so."""

    relation: Relation
    subjects: tuple[str, ...]
    said: str


def find_tests(clause: Clause, *, asks: bool) -> RelationAsked | None:
    """Find `which tests should I run after touching X`, `which tests hit X`, `tests that reach X`."""
    tokens = clause.tokens
    asked = tokens[0].form in ASKING and asks_for_tests(tokens[:4])
    asked = asked or (asks and bool(compiled(_TESTS_THAT).match(clause.form)))
    asked = asked or bool(compiled(_TESTS_DOING).fullmatch(clause.form))
    run = asks_for_tests(tokens) and any(token.form in _RUN for token in tokens)
    names = [token.text for at, token in enumerate(tokens) if is_named(token) and not _is_place(tokens, at)]
    return whole(clause, "tests", tuple(names[:1])) if names and (asked or run) else None


def find_location(clause: Clause) -> RelationAsked | None:
    """Find `where is X`, `what line does X start on`, `find class X`, if the clause says nothing else."""
    tokens = clause.tokens
    shown = compiled(_FIND_KIND).match(clause.form)
    if shown:
        return whole(clause, "definition", sure_names(clause.within(*shown.span())))
    names = sure_names(tokens)
    rest = content_of(tokens, KINDS | ASKING | WHERE | DETERMINERS | LIVES)
    placed = any(token.form in WHERE for token in tokens[:4])
    if placed and len(names) == 1 and not rest and not _is_only_place(tokens):
        return whole(clause, "definition", names)
    return None


def find_alone(clause: Clause) -> RelationAsked | None:
    """Find `where is X defined` and `who calls X` with any word X, if the clause says nothing else.

    X may be no name. If the project has no such name, lexical and vector search follow."""
    for relation, pattern in _ALONE:
        match = compiled(pattern).fullmatch(clause.form)
        tokens = clause.within(*match.span(1)) if match else ()
        if len(tokens) == 1 and tokens[0].kind == "word" and tokens[0].form not in STOP_WORDS | DETERMINERS:
            return whole(clause, relation, (tokens[0].text,))
    return None


def find_phrase(clause: Clause) -> RelationAsked | None:
    """Find a phrasing that contains the name: `what type does X return`, `what is called when X runs`, `which
    classes have their own X`, `which kinds of X exist`."""
    for relation, pattern in _PHRASES:
        match = compiled(pattern).search(clause.form)
        names = sure_names(clause.within(*match.span())) if match else ()
        if match and names:
            return RelationAsked(relation, names[:1], clause.said(*match.span()))
    return None


def find_outline(clause: Clause) -> RelationAsked | None:
    """Find `list the functions in X`, `what methods does X have`: kinds, a subject and nothing else."""
    tokens = clause.tokens
    names = sure_names(tokens)
    if compiled(_MEMBERS).fullmatch(clause.form):
        return whole(clause, "outline", names)
    kind = next((at for at in range(len(tokens)) if _is_plural(tokens, at)), len(tokens))
    if len(names) != 1 or sure_names(tokens[kind:]) != names:
        return None
    rest = content_of(tokens, KINDS | PLURAL_KINDS | ASKING | LOOKING | DETERMINERS | _HAS | LIVES)
    return None if rest else whole(clause, "outline", names)


def asks_for_tests(tokens: Sequence[Token]) -> bool:
    """Whether tokens have a word for tests that isn't excluded, as in `callers outside the tests`."""
    return any(
        CUES.get(token.form) is CUES["tests"]
        and not any(before.form in _APART for before in tokens[max(0, at - MAX_APART) : at])
        for at, token in enumerate(tokens)
    )


MAX_APART = 3
"""Maximum distance, in tokens, between a word that excludes tests and the word for tests: `outside of the
tests` has 3."""


def whole(clause: Clause, relation: Relation, subjects: tuple[str, ...]) -> RelationAsked:
    """Return a relation whose evidence is the whole clause."""
    return RelationAsked(relation, subjects, clause.said(0, len(clause.form)))


def content_of(tokens: Sequence[Token], known: frozenset[str]) -> list[Token]:
    """Return the plain words with a meaning of their own, without the known ones."""
    plain = (token for token in tokens if token.kind in {"word", "quote"})
    return [token for token in plain if not is_filler(token) and token.form not in known]


def _is_plural(tokens: Sequence[Token], at: int) -> bool:
    form = tokens[at].form
    return form in PLURAL_KINDS or (form in KINDS and form_at(tokens, at - 1) in {"every", "each", "all"})


def _is_place(tokens: Sequence[Token], at: int) -> bool:
    return form_at(tokens, at - 1) in PLACING


def _is_only_place(tokens: Sequence[Token]) -> bool:
    """Whether tokens ask for the contents of a folder: `which files are in src/hooks`."""
    return any(token.kind == "path" and _is_place(tokens, at) for at, token in enumerate(tokens))


_ALONE: tuple[tuple[Relation, str], ...] = (
    ("definition", r"where (?:is|are|'s) (\S+) (?:defined|declared)"),
    ("callers", r"(?:who|what) calls (\S+)"),
)

WHERE = words(
    """
    where wherever file line location place files header module package folder directory
    """
)
"""Words that ask for a place."""

_APART = words("outside except excluding besides without ignoring not than beyond apart")
LIVES = words(
    """
    live lives living reside resides sit sits start starts begin begins come comes found stored located
    kept placed has have hold exist exists look introduced introduce find
    """
)
"""Verbs that say where something is."""

_HAS = words(
    """
    have has export exports exported define defines defined declare declares declared expose exposes
    contain contains provide provides offer top-level available present exist class struct enum interface
    module names
    """
)
_RUN = words("run rerun re-run execute check")
_CALLED_WHEN = (
    r"\b(?:called|invoked|executed|run|triggered) (?:when|while|if|during"
    r"|as soon as) (?:the )?(?:\w+ )?N(?: runs?| executes?"
    r"| (?:is|gets) (?:called|invoked|executed|run|triggered))?$"
)
_TYPE_BEHIND = r"\bN (?:return|returns|yield|take|accept)\b.{0,40}\btypes?$"
_TYPE_OF = (
    r"\b(?:return|result|value) types? (?:of|for) (?:the )?(?:\w+ )?N\b"
    r"|\b(?:what|which) (?:is|are) the (?:\w+ )?types? of (?:the )?(?:\w+ )?N\b"
    r"|\b(?:what|which) types? (?:does|do|is|are|has) (?:the )?(?:\w+ )?N(?: return| have| take| accept"
    r"| yield)?$"
)
_KIND = (
    r"(?:class|function|method|struct|enum|interface|trait|type|constant|variable|macro|protocol|object|typedef"
    r"|mixin|record|union|decorator|constructor)"
)
_FIND_KIND = (
    r"^(?:find|locate|show|open|search|look|view|see)(?: me| us| for| up| at)?(?: the)?"
    rf" (?:{_KIND} N|N {_KIND})"
    r"(?:$| (?:in|inside|under|within|please|for me)\b)"
)
"""Commands to find a name with a word for its kind, which ask for its definition. Without such a word they
may ask for anything about the name."""

_TESTS_THAT = (
    r"^(?:(?:find|show|list|get|give|me|us|all|any|the|every|unit|integration|need) )*(?:tests?|specs?)"
    r"(?: cases?| files?| functions?)? (?:that|which|who|\w+ing)\b"
)
_TESTS_DOING = r"(?:all |the |any |unit |integration )*(?:tests?|specs?) \w+ing (?:the )?(?:\w+ )?N"
_MEMBERS = r"[NP] (?:methods|members|fields|properties|attributes|functions|classes|exports|symbols)"
_EXIST = (
    r"(?:(?:are|is) (?:there|available|provided)|exists?|do(?:es)? (?:we|it) (?:have|support|offer)|have we"
    r"|there are|are known)"
)
_CONTRACT = r"(?:interface|protocol|trait|contract|abstract class|abstraction|port|typeclass)"
_OF_CONTRACT = rf"(?:for|of|behind|to) (?:the )?(?:{_CONTRACT} N|N {_CONTRACT})\b"
_TYPES = (
    r"(?:classes|types|structs|implementations?|adapters?|backends?|drivers?|providers?|variants?|versions?"
    r"|realizations?|realisations?|flavou?rs?|strategies|plugins?|records|objects|choices|alternatives|options)"
)
_OWN = (
    r"\b(?:has|have|having|with|provides?|providing|defines?|brings?|comes? with|ships?) (?:\w+ )?"
    r"(?:own|different|custom|special)(?: (?:version|implementation|variant|copy)s? of)?"
    r" (?:the )?(?:\w+ )?N\b"
)
_PHRASES: tuple[tuple[Relation, str], ...] = (
    ("definition", _TYPE_OF),
    ("definition", _TYPE_BEHIND),
    ("callees", _CALLED_WHEN),
    ("overrides", _OWN),
    ("implementations", rf"\b{_TYPES} {_EXIST} {_OF_CONTRACT}"),
    ("implementations", rf"\b{_TYPES} {_OF_CONTRACT}"),
    ("implementations", rf"\b{_TYPES} (?:do|does|has|have) (?:the )?(?:{_CONTRACT} N|N {_CONTRACT}) have\b"),
    ("subclasses", rf"\b{_TYPES} {_EXIST} (?:for|of) (?:the )?(?:base|parent) class N\b"),
    ("subclasses", rf"\b(?:kinds?|types?|variants?|flavou?rs?|sorts?) of (?:the )?N {_EXIST}"),
)


def find_impact(clause: Clause, *, pronouns: bool) -> RelationAsked | None:
    """Find a question for the impact of a change: a word for a change next to a subject, and a word for
    breaking."""
    tokens = clause.tokens
    breaks = {at for at, token in enumerate(tokens) if is_breakage(token.form) or token.form in _BROKEN}
    if asks_for_tests(tokens):
        return None
    for at, token in enumerate(tokens):
        if is_change(token.form) and breaks - {at}:  # `update` may mean a change or a breakage
            behind = subject_behind(tokens, at, pronouns=pronouns)
            subject = behind or subject_before(tokens, at, pronouns=False)
            # `what breaks if I change count`: a plain word at the end of a question is a name.
            asked = behind is not None and behind.at == at + 1 == len(tokens) - 1 and tokens[0].form in ASKING
            if subject and (subject.sure or subject.kinded or asked):
                return whole(clause, "impact", (subject.text,))
    return None


_BROKEN = words(
    """
    callers caller dependents users adapted adapt adapting notice notices adjust adjusted risky risk risks
    dangerous ripple effect effects fallout repercussions implications invalidate invalidates
    """
)
"""Further words for breaking, which have this meaning only together with a word for a change."""
