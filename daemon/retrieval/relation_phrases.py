"""Owns the phrasings of a relation that no single word tells: where is, which types, what has its own."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.lazy_dataclass import dataclass
from ..project.vocabulary import words
from .asking_words import ASKING, LOOKING
from .clauses import Clause, Token
from .code_words import KINDS, PLURAL_KINDS
from .patterns import compiled
from .relation_cues import CUES
from .relation_subjects import (
    DETERMINERS,
    PLACING,
    form_at,
    is_filler,
    is_named,
    may_be_name,
    sure_names,
)
from .routes import Relation
from .stop_words import STOP_WORDS


@dataclass(frozen=True, slots=True)
class RelationAsked:
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
    """Find `where is X`, `what line does X start on`, `jump to X`: nothing is said but where and what."""
    tokens = clause.tokens
    shown = compiled(_GO_TO).fullmatch(clause.form) or compiled(_FIND_KIND).match(clause.form)
    if shown:
        return whole(clause, "definition", sure_names(clause.within(*shown.span())))
    if not any(token.form in WHERE for token in tokens[:4]):
        return None
    names = [token.text for at, token in enumerate(tokens) if is_named(token) and not _filters(tokens, at)]
    rest = content_of(tokens, KINDS | ASKING | WHERE | DETERMINERS | LIVES)
    if len(names) == 1 and not rest and not _is_only_place(tokens):
        return whole(clause, "definition", (names[0],))
    kinded = any(token.form in KINDS - WHERE for token in tokens)
    if not names and len(rest) == 1 and kinded and may_be_name(rest[0]):
        return whole(clause, "definition", (rest[0].text,))
    return None


def find_alone(clause: Clause) -> RelationAsked | None:
    """Find `where is X defined`, `who calls X` of any word, where nothing else is said. That it is a name is
    not sure, and needn't be: where nothing is so named, it is searched for by words and meaning."""
    for relation, pattern in _ALONE:
        match = compiled(pattern).fullmatch(clause.form)
        tokens = clause.within(*match.span(1)) if match else ()
        if len(tokens) == 1 and tokens[0].kind == "word" and tokens[0].form not in STOP_WORDS | DETERMINERS:
            return whole(clause, relation, (tokens[0].text,))
    return None


def find_variants(clause: Clause) -> RelationAsked | None:
    """Find `which concrete classes are there for the protocol X`, `which kinds of X exist`."""
    for relation, pattern in _VARIANTS:
        match = compiled(pattern).search(clause.form)
        names = sure_names(clause.within(*match.span())) if match else ()
        if match and names:
            return RelationAsked(relation, names[:1], clause.said(*match.span()))
    return None


def find_own(clause: Clause) -> RelationAsked | None:
    """Find `which classes have their own X`, which override it."""
    match = compiled(_OWN).search(clause.form)
    names = sure_names(clause.within(*match.span())) if match else ()
    return RelationAsked("overrides", names, clause.said(*match.span())) if match and names else None


def find_signature(clause: Clause) -> RelationAsked | None:
    """Find `what type does X return`, `the return type of X`, `does X return a list, or which type`."""
    match = compiled(_TYPE_OF).search(clause.form) or compiled(_TYPE_BEHIND).search(clause.form)
    names = sure_names(clause.within(*match.span())) if match else ()
    return RelationAsked("definition", names, clause.said(*match.span())) if match and names else None


def find_callees_of_run(clause: Clause) -> RelationAsked | None:
    """Find `which functions are called when X runs`."""
    match = compiled(_CALLED_WHEN).search(clause.form)
    names = sure_names(clause.within(*match.span())) if match else ()
    return RelationAsked("callees", names, clause.said(*match.span())) if match and names else None


def find_outline(clause: Clause) -> RelationAsked | None:
    """Find `list the functions in X`, `what methods does X have`: kinds, a subject and nothing besides."""
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
    """Whether a word for tests is among tokens, and not set apart: `callers outside the tests`."""
    return any(
        CUES.get(token.form) is CUES["tests"]
        and not any(before.form in _APART for before in tokens[max(0, at - MAX_APART) : at])
        for at, token in enumerate(tokens)
    )


MAX_APART = 3
"""So far before a word for tests stands what sets them apart: `outside of the tests`."""


def whole(clause: Clause, relation: Relation, subjects: tuple[str, ...]) -> RelationAsked:
    """Return a relation for which all of a clause decides."""
    return RelationAsked(relation, subjects, clause.said(0, len(clause.form)))


def content_of(tokens: Sequence[Token], known: frozenset[str]) -> list[Token]:
    """Return the plain words that say something, other than the known ones."""
    plain = (token for token in tokens if token.kind in {"word", "quote"})
    return [token for token in plain if not is_filler(token) and token.form not in known]


def _is_plural(tokens: Sequence[Token], at: int) -> bool:
    form = tokens[at].form
    return form in PLURAL_KINDS or (form in KINDS and form_at(tokens, at - 1) in {"every", "each", "all"})


def _is_place(tokens: Sequence[Token], at: int) -> bool:
    return form_at(tokens, at - 1) in PLACING


def _is_only_place(tokens: Sequence[Token]) -> bool:
    """Whether the content of a path is asked for: `which files are in src/hooks`."""
    return any(token.kind == "path" and _is_place(tokens, at) for at, token in enumerate(tokens))


def _filters(tokens: Sequence[Token], at: int) -> bool:
    """Whether a path is only where something is looked for: `where is f in src/api`."""
    return tokens[at].kind == "path" and _is_place(tokens, at) and len(sure_names(tokens)) > 1


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
"""Words that say of a thing that it is in a place."""

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
_GO_TO = r"(?:go|jump|navigate|take (?:me|us)|bring (?:me|us)|get (?:me|us)) to (?:the )?(?:\w+ )?N"
_KIND = (
    r"(?:class|function|method|struct|enum|interface|trait|type|constant|variable|macro|protocol|object|typedef"
    r"|mixin|record|union|decorator|constructor)"
)
_FIND_KIND = (
    r"^(?:find|locate|show|open|search|look|view|see)(?: me| us| for| up| at)?(?: the)?"
    rf" (?:{_KIND} N|N {_KIND})"
    r"(?:$| (?:in|inside|under|within|please|for me)\b)"
)
"""A word for a kind next to a name asks where that is; a name alone asks for anything about it."""

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
_VARIANTS: tuple[tuple[Relation, str], ...] = (
    ("implementations", rf"\b{_TYPES} {_EXIST} {_OF_CONTRACT}"),
    ("implementations", rf"\b{_TYPES} {_OF_CONTRACT}"),
    ("implementations", rf"\b{_TYPES} (?:do|does|has|have) (?:the )?(?:{_CONTRACT} N|N {_CONTRACT}) have\b"),
    ("subclasses", rf"\b{_TYPES} {_EXIST} (?:for|of) (?:the )?(?:base|parent) class N\b"),
    ("subclasses", rf"\b(?:kinds?|types?|variants?|flavou?rs?|sorts?) of (?:the )?N {_EXIST}"),
)
_OWN = (
    r"\b(?:has|have|having|with|provides?|providing|defines?|brings?|comes? with|ships?) (?:\w+ )?"
    r"(?:own|different|custom|special)(?: (?:version|implementation|variant|copy)s? of)?"
    r" (?:the )?(?:\w+ )?N\b"
)
