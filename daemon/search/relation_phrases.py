"""Owns the phrasings of a relation that no single word tells: where is, path from A to B, what breaks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..core.vocabulary import words
from .clauses import Clause, Token
from .patterns import compiled
from .query import Relation
from .question_words import (
    ASKING,
    AUXILIARY,
    KINDS,
    LOOKING,
    PLURAL_KINDS,
    STOP_WORDS,
    WEAK_CHANGES,
    WHY_HOW,
    is_breakage,
    is_change,
    is_connection,
)
from .relation_cues import CUES, DEPENDING
from .relation_subjects import (
    DETERMINERS,
    PLACING,
    Subject,
    form_at,
    is_filler,
    is_named,
    may_be_name,
    subject_before,
    subject_behind,
    sure_names,
)

MAX_DEPTH = 99
"""A greater depth is a slip, and means no more than this one: no call chain of that length is read."""


def depth_of(clause: Clause) -> int:
    """Return the number of edges that a clause gives, 1 for direct ones, 0 if it gives none."""
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


def find_phrase(clause: Clause) -> RelationAsked | None:
    """Find `what type does X return`, `what is called when X runs`, `which classes have their own X`, `which
    kinds of X exist`: a phrasing with the name in it."""
    for relation, pattern in _PHRASES:
        match = compiled(pattern).search(clause.form)
        names = sure_names(clause.within(*match.span())) if match else ()
        if match and names:
            return RelationAsked(relation, names[:1], clause.said(*match.span()))
    return None


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


def find_connection(clause: Clause) -> RelationAsked | None:
    """Find a path between two symbols, in the order in which it is walked.

    Both must be names; plain words are ends only of a path that is called one: `call path from main to f`.
    """
    tokens = clause.tokens
    ends = _ends(tokens)
    if ends and (_moves(clause) or _ends_in_call(tokens) or _lies_between(tokens)):
        return whole(clause, "connection", ends)
    forms = {token.form for token in tokens}
    named = any(map(is_named, tokens)) or compiled(_CALL_PATH).search(clause.form)
    if named and {"from", "to"} <= forms and forms & _PATHS:
        plain = tuple(filter(None, (_text_behind(tokens, word) for word in ("from", "to"))))
        return whole(clause, "connection", plain) if len(plain) == 2 else None
    return None


def _ends(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the two names between which something may lead, none if there aren't two."""
    named = [at for at, token in enumerate(tokens) if is_named(token)]
    if len(named) > 2:
        placed = [at for at in named if tokens[at].kind == "path" and _preposition(tokens, at) in PLACING]
        named = [at for at in named if at not in placed]
    if len(named) < 2:
        return ()
    before = {_preposition(tokens, at): at for at in reversed(named)}
    start, end = before.get("from"), before.get("to", before.get("into"))
    if start is None or end is None:
        start, end = named[:2]
        if _preposition(tokens, end) in {"from", "by"}:
            start, end = end, start
    return (tokens[start].text, tokens[end].text)


def _preposition(tokens: Sequence[Token], at: int) -> str:
    """Return the word before a name, its article and its kind: `from` in `from the function f`."""
    at -= 1
    while at > 0 and tokens[at].form in _BEFORE_NAME:
        at -= 1
    return form_at(tokens, at)


def _moves(clause: Clause) -> bool:
    """Whether something gets from one end to the other, or one is said to be connected with the other."""
    forms = {token.form for token in clause.tokens}
    if "end up" in clause.form or "get to" in clause.form or any(map(is_connection, forms)):
        return True
    if {"from", "to"} <= forms and forms & _MOTION and not forms & _MIGRATION:
        return True
    return clause.tokens[0].form in _HOW and bool(forms & DEPENDING)


def _lies_between(tokens: Sequence[Token]) -> bool:
    """Whether nothing is said but that something is between: not `the difference between A and B`."""
    between = any(token.form == "between" for token in tokens)
    return between and not content_of(tokens, KINDS | _LYING)


def _ends_in_call(tokens: Sequence[Token]) -> bool:
    """Whether a clause is `how does A call B`; `how does A use B to sort` is about behaviour."""
    if tokens[0].form not in _HOW or tokens[-1].kind != "name":
        return False
    last = next((token.form for token in reversed(tokens) if token.kind == "word"), "")
    return last in CUES and CUES[last].incoming == "callers"


def _text_behind(tokens: Sequence[Token], word: str) -> str:
    """Return the token behind a preposition, without article and kind; empty if a phrase is there."""
    at = next(at for at, token in enumerate(tokens) if token.form == word) + 1
    while form_at(tokens, at) in _BEFORE_NAME:
        at += 1
    return tokens[at].text if at < len(tokens) and tokens[at].kind != "mark" else ""


_BEFORE_NAME = DETERMINERS | KINDS
_HOW = words("how")
_CALL_PATH = r"\bcall (?:path|chain|route|stack|sequence)s?\b"
_PATHS = words("path paths chain chains route routes calls stack sequence")
_MOTION = words(
    """
    get gets getting go goes going flow flows travel travels come comes way ways control execution calls
    call callers steps hops jump jumps pass passes path trace
    """
)
_MIGRATION = words(
    """
    migrate switch convert upgrade move rename change copy cast port downgrade translate
    """
)
_LYING = words("lies lie sits sit stands stand steps calls call hops")


MAX_PLAN = 12
"""So far from the beginning of a sentence a plan names the change."""


def find_impact(clause: Clause, *, asks: bool, pronouns: bool) -> RelationAsked | None:
    """Find what a change breaks: a word for change, a subject next to it, and a word for breaking.

    In a supposition, `if X returns None, what breaks`, whatever befalls the subject is the change.
    """
    tokens = clause.tokens
    if asks_for_tests(tokens):
        return None
    safe = compiled(_MAY_CHANGE).search(clause.form)
    if safe:
        return whole(clause, "impact", sure_names(clause.within(*safe.span()))[:1])
    changes = [at for at in range(len(tokens)) if _is_change(tokens, at)]
    # `what else must I change if I rename X` has two words for change.
    breaks = len(changes) > 1 or any(is_breakage(token.form) or token.form in _BROKEN for token in tokens)
    if not breaks and not (asks and _follows(tokens)):
        return None
    for at in changes + _weak_changes(tokens):
        subject = _changed(tokens, at, pronouns=pronouns)
        if subject:
            return whole(clause, "impact", (subject.text,))
    return _supposed(clause) if asks else None


def planned_change(clause: Clause) -> str:
    """Return what somebody plans to change, `I want to delete X`, empty where no plan is stated."""
    tokens = clause.tokens
    if not _PLANNING & {token.form for token in tokens[:3]}:
        return ""
    for at, token in enumerate(tokens[:MAX_PLAN]):
        if token.form == "you":
            return ""  # `I want you to delete X` is a command
        if is_change(token.form) and not token.form.endswith("ed"):
            subject = subject_behind(tokens, at, pronouns=False)
            return subject.text if subject and (subject.sure or subject.kinded) else ""
    return ""


def find_planned_impact(clause: Clause, planned: str) -> RelationAsked | None:
    """Find what a change breaks that the sentence before plans: `I will delete X. What breaks?`."""
    tokens = clause.tokens
    breaks = any(is_breakage(token.form) or is_change(token.form) for token in tokens)
    asked = planned and breaks and not sure_names(tokens) and tokens[0].form not in WHY_HOW
    return whole(clause, "impact", (planned,)) if asked else None


def _is_change(tokens: Sequence[Token], at: int) -> bool:
    form = tokens[at].form
    return is_change(form) or (form in _GOES and form_at(tokens, at + 1) == "away")


def _changed(tokens: Sequence[Token], at: int, *, pronouns: bool) -> Subject | None:
    """Return what a word says is changed: behind it, or before what `becomes`, `changes` or `is removed`."""
    behind = subject_behind(tokens, at, pronouns=pronouns)
    before = subject_before(tokens, at, pronouns=False)
    suffers = tokens[at].form in _HAPPENS_TO or form_at(tokens, at - 1) in AUXILIARY | _BEING
    first, second = (before, behind) if suffers else (behind, before)
    for subject in (first, second):
        if subject and subject.sure:
            return subject
    supposed = any(token.form in _SUPPOSING for token in tokens)
    plain = behind if behind and (behind.kinded or behind.at == at + 1) else before
    return plain if supposed else None


def _weak_changes(tokens: Sequence[Token]) -> list[int]:
    """Return where the weak words for a change stand behind `if`; what happens then is behaviour."""
    forms = [token.form for token in tokens]
    if "if" not in forms or (forms[1:2] == ["happens"] and not _BROKEN & set(forms)):
        return []
    start = forms.index("if")
    return [at for at, form in enumerate(forms) if at > start and form in WEAK_CHANGES]


def _supposed(clause: Clause) -> RelationAsked | None:
    """Find `if X returns None, what breaks`: a supposition about a name, and what surely breaks."""
    tokens = clause.tokens
    start, end = _supposition(tokens)
    names = [token.text for token in tokens[start:end] if is_named(token)]
    outside = (token.form for at, token in enumerate(tokens) if not start <= at < end)
    breaks = any(form.startswith(_BREAKS_SURELY) for form in outside)
    return whole(clause, "impact", (names[0],)) if names and breaks else None


def _follows(tokens: Sequence[Token]) -> bool:
    """Whether somebody must do something because of what is supposed: `what else has to be adapted`."""
    if tokens[0].form in LOOKING:
        return False
    start, end = _supposition(tokens)
    rest = [token.form for at, token in enumerate(tokens) if not start <= at < end]
    asked = any(form in ASKING or form in AUXILIARY for form in rest)
    return end > start and asked and any(form.startswith(_FOLLOWING) for form in rest)


def _supposition(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return the span of `if …`, up to a comma or the end; empty where nothing is supposed."""
    start = next((at for at, token in enumerate(tokens) if token.form in _SUPPOSING | _AFTER), len(tokens))
    if compiled(_WERE).match(" ".join(token.form for token in tokens[:3])):
        start = 0
    commas = (at for at in range(start, len(tokens)) if tokens[at].form == ",")
    return start, next(commas, len(tokens))


_PLANNING = words("i we suppose say imagine assume assuming")
_SUPPOSING = words("if when suppose supposing assuming imagine")
_AFTER = words("after once before")
_WERE = r"were (?:i|we|N)\b"
_BROKEN = words(
    """
    callers caller dependents users adapted adapt adapting notice notices adjust adjusted risky risk risks
    dangerous ripple effect effects fallout repercussions implications invalidate invalidates
    """
)
"""Besides the words for breaking, those that say it only next to one for change."""

_BREAKS_SURELY = (
    "break",
    "affect",
    "impact",
    "adapt",
    "notice",
    "dependents",
    "suffer",
    "fall apart",
    "invalid",
)
_FOLLOWING = (
    *("need", "has", "have", "must", "adapt", "follow", "notice", "adjust", "re-", "retest", "recheck"),
    *("check", "fix", "updat", "hit", "concern", "complain", "suffer"),
)
"""Beginnings of the words for what a supposed change obliges others to."""

_GOES = words("go goes going gone went")
_BEING = words("be been being gets get got")
_HAPPENS_TO = words(
    """
    change changes become becomes became gets get got disappear disappears disappeared vanish vanishes
    vanished go goes going gone went take takes took gain gains lose loses lost accept accepts
    """
)
_MAY_CHANGE = (
    r"^(?:can|could|may) (?:i|we|one) (?:\w+ly |just |simply )?"
    r"(?:change|delete|remove|rename|drop|modify|replace|move|refactor|inline) (?:the )?(?:\w+ )?[NP]"
    r"(?: (?:safely|now|without\b.*|away))?$"
    r"|^(?:can|could|may) (?:the )?(?:\w+ )?[NP] (?:\w+ly )?be (?:\w+ly )?"
    r"(?:changed|deleted|removed|renamed|dropped|modified|replaced|moved|refactored|inlined)\b"
)
"""Whether something may be changed is asked for what it would break."""
