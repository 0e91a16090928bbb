"""Finds the relation of the code graph that a clause asks for, and its subjects (the names it is about)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..core.vocabulary import words
from .clauses import Clause, Token, clause_of
from .patterns import compiled
from .query import Relation
from .question_words import ADVERBS, ASKING, AUXILIARY, KINDS, MODULES, WHY_HOW, is_connection
from .relation_cues import CUES, DEPENDING, NO_SUBJECT, Cue
from .relation_phrases import (
    DETERMINERS,
    PLACING,
    WHERE,
    RelationAsked,
    Subject,
    asks_for_tests,
    depth_of,
    find_alone,
    find_impact,
    find_location,
    find_outline,
    find_phrase,
    find_tests,
    form_at,
    is_filler,
    is_named,
    subject_before,
    subject_behind,
    sure_names,
    whole,
)


def direction_of(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Return the relation that a cue asks for, by the side of the cue on which its subject is."""
    following, previous = form_at(tokens, at + 1), form_at(tokens, at - 1)
    # `is set`, `gets read`, but not `is derived from`, `are based on`.
    suffers = at > 1 and previous in _BEING and not tokens[at].form.endswith(("ing", "ed", "-on"))
    if tokens[at].form in {"call", "calls"} and behind and _OUTWARD & {token.form for token in tokens[:at]}:
        return cue.outgoing
    if cue.voice == "noun" and not (tokens[at].form == "tests" and previous in {"who", "what"}):
        return _noun(cue, tokens, at, before, behind)
    if behind and tokens[at].form.endswith("ing") and (following in KINDS or following in CUES):
        return cue.incoming  # `overriding methods of X`
    had = following in DOES and tokens[-1].form in HAVING
    if tokens[at].form in NOUN_TOO and following in _OF and behind and (had or is_noun(tokens, at)):
        if following in DOES and tokens[-1].form == "make":
            return cue.outgoing  # `which calls does X make`
        if following == "from" and not behind.sure:
            return None  # `import from csv`
        if cue.incoming == "callers" and following in _OUT_OF:
            return cue.outgoing  # `calls made by X`
        return _AS_NOUN.get(cue.incoming, cue.incoming)
    if cue.voice == "passive" or suffers:
        return _passive(cue, tokens, at, before, behind)
    return _active(cue, tokens, at, before, behind)


def _noun(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Return the relation of a noun: `callers of X`, `X usages`, `what is X a subclass of`."""
    following = form_at(tokens, at + 1)
    if before and cue.outgoing and following in _OF and form_at(tokens, at - 1) in {"a", "an"}:
        return cue.outgoing
    if behind and not behind.sure and following not in _OF | DOES:
        behind = None
    return cue.incoming if before or behind else None


def _active(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Return the relation of an active verb: `what calls X`, `what does X call`, `does X call Y`."""
    following = form_at(tokens, at + 1)
    earlier = {token.form for token in tokens[:at]}
    plain = behind is not None and not behind.sure
    if plain and (following in _NOT_OBJECT or earlier & {"does", "do", "did"}):
        behind = None
    if before and at == 1 == len(tokens) - 1 and tokens[at].form in NOUN_TOO:
        return cue.incoming  # a fragment: `X references`
    if tokens[0].form in _WHEN:
        return None
    if cue.incoming == "definition" and following in BY and behind and behind.sure:
        return cue.outgoing  # `what do we export from a.ts`
    if before and behind and before.sure and behind.sure and tokens[0].form in AUXILIARY:
        calls = cue.incoming in {"callers", "references"} or tokens[at].form in DEPENDING
        return "connection" if calls else cue.outgoing or cue.incoming
    if behind:
        return cue.incoming
    if before and cue.incoming == "references":  # the graph has only the code that X uses
        kinds = {token.form for token in tokens} if not cue.surely else set()
        if before.sure and kinds & MODULES:
            return "imports"
        return "callees" if kinds & KINDS else None
    return cue.outgoing if before else None


def _passive(
    cue: Cue, tokens: Sequence[Token], at: int, before: Subject | None, behind: Subject | None
) -> Relation | None:
    """Return the relation of a passive verb: `where is X used`, `functions called by X`."""
    following = form_at(tokens, at + 1)
    if following in _PURPOSE:
        return None  # `what is X used for`
    if tokens[at].form in _PRESENT_TOO and any(token.form in DOES for token in tokens[:at]):
        return None  # `where does X read the settings`
    somewhere = any(token.form in WHERE for token in tokens[:at])
    if cue.incoming == "implementations" and somewhere:
        return None  # `where is X implemented` asks for a behaviour
    if before:
        return cue.incoming
    if behind and following in BY and (cue.incoming != "references" or _lists_code(tokens, behind)):
        return cue.outgoing
    # `who read X`: some passive forms may also be active.
    agent = tokens[0].form in _WHO and behind is not None
    # `which places read X`: the same after a plural.
    agent = agent or (at == 2 and behind is not None and behind.at == at + 1 and behind.sure)
    placed = behind is not None and form_at(tokens, behind.at - 1) in PLACING
    return cue.incoming if agent or (behind and somewhere and not placed) else None


def is_noun(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word that may be a verb or a noun is a noun in its position: `all uses of X`."""
    before = form_at(tokens, at - 1)
    acts = before in _BEFORE_VERB or (at > 0 and is_named(tokens[at - 1]))
    return not acts


def _lists_code(tokens: Sequence[Token], behind: Subject) -> bool:
    """Whether a clause asks for code that something uses: `functions used in f`, not `colours used in f`."""
    return behind.sure and any(token.form in KINDS for token in tokens[: behind.at])


_AS_NOUN: dict[Relation, Relation] = {"importers": "imports", "definition": "outline"}
_OF = words("of in for by from does do :")
BY = words("by from in inside within")
_BEING = words("get gets getting got be is are was were being been")
_OUTWARD = words("outgoing downstream")
_OUT_OF = words("from by in inside within")
_ACTORS = words(
    """
    that which who i we you they anything anyone anybody something someone somebody everything everyone
    everybody nothing nobody one it still also ever never to
    """
)
"""Words for whoever acts, and words that come only before verbs."""

_BEFORE_VERB = ASKING | KINDS | AUXILIARY | _ACTORS

_NOT_OBJECT = words("for with about out by at of as up home")
_PURPOSE = words("for to as")
_WHO = words("who")
_WHEN = words("when")
NOUN_TOO = words(
    """
    tests imports includes calls call references uses exports requires extends overrides import mention
    reads writes accesses
    """
)
"""Forms of verbs that may also be nouns."""
DOES = words("do does did")
HAVING = words("have make contain need")
_PRESENT_TOO = words("read")


def find_relation(clause: Clause, *, asks: bool, pronouns: bool = False) -> RelationAsked | None:
    """Return the relation that a clause asks for, or None.

    The subject must be a symbol, a path, or a plain word in the position of a name: `who calls login`, `the
    login function`, but not `the payment provider`. With `pronouns` it may also refer to a name mentioned
    before (`who calls it`). `asks` says that the clause is a question or a command to search. Other clauses
    ask for a relation only if they are fragments: `callers of f`, but not `f calls g twice`.
    """
    clause = _with_phrases(clause)
    tokens = clause.tokens
    # In `X: who calls this` the name at the beginning is the subject.
    pronouns = pronouns or (is_named(tokens[0]) and form_at(tokens, 1) in ASKING | {",", ":"})
    how = tokens[0].form in WHY_HOW and form_at(tokens, 1) not in _MEASURES
    if not how:
        for relation, pattern in NO_SUBJECT:
            match = compiled(pattern).search(clause.form)
            if match:
                return RelationAsked(relation, sure_names(tokens), clause.said(match.start(), match.end()))
    connection = find_connection(clause)
    if how or connection:
        return connection
    if clause.form.startswith(_WHAT_HAPPENS):
        return find_impact(clause, pronouns=pronouns)
    return (
        find_impact(clause, pronouns=pronouns)
        or find_tests(clause, asks=asks)
        or find_phrase(clause)
        or _by_cue(clause, asks=asks, pronouns=pronouns)
        or (find_location(clause) or find_alone(clause) if asks else None)
        or find_outline(clause)
    )


def _with_phrases(clause: Clause) -> Clause:
    """Return a clause in which each cue of two words, such as `pulls in`, is one token."""
    tokens: list[Token] = []
    for token in clause.tokens:
        form = f"{tokens[-1].form}-{token.form}" if tokens else ""
        if form in CUES:
            tokens[-1] = Token("word", f"{tokens[-1].text} {token.text}", form)
        else:
            tokens.append(token)
    return clause_of(tokens, clause.asks) if len(tokens) < len(clause.tokens) else clause


def _by_cue(clause: Clause, *, asks: bool, pronouns: bool) -> RelationAsked | None:
    """Find a cue (a word for a relation) that has a subject before or after it."""
    tokens = clause.tokens
    for at, token in enumerate(tokens):
        cue = CUES.get(token.form)
        if cue is None or _asks_advice(tokens, at):
            continue
        before = subject_before(tokens, at, pronouns=pronouns)
        behind = subject_behind(tokens, at, pronouns=pronouns)
        verb = cue.voice == "active" or token.form == "test"
        if verb and before and compiled(_TELLS).search(before.text):
            continue  # `does README.md mention X` searches for words in the file
        if not asks and not _is_fragment(cue, tokens, at):
            continue
        if cue.surely:
            before = before if before and before.sure else None
            behind = behind if behind and behind.sure else None
        elif cue.voice == "active" and at and is_noun(tokens, at) and form_at(tokens, at - 1) not in ADVERBS:
            behind = behind if behind and (behind.sure or behind.kinded) else None  # not `the call stack`
        known = any(subject and (subject.sure or subject.kinded) for subject in (before, behind))
        if tokens[0].form in AUXILIARY and not known and not _is_of_code(cue):
            continue  # `is caching used here` asks for a behaviour
        relation = direction_of(cue, tokens, at, before, behind)
        if relation:
            return _asked(_refined(relation, clause), cue, tokens, at, before, behind)
    return None


def _is_fragment(cue: Cue, tokens: Sequence[Token], at: int) -> bool:
    """Whether a clause is a shortened question: `callers of f`, `functions calling f`, `f usages`."""
    if cue.voice == "noun" or at == len(tokens) - 1:
        return at <= MAX_BEFORE_NOUN or at == len(tokens) - 1
    head = next((token.form for token in tokens if not is_filler(token)), "")
    linked = tokens[at].form.endswith("ing") or form_at(tokens, at + 1) in BY
    linked = linked or any(token.form in _RELATIVE for token in tokens[:at])
    if head in _ALL_THAT or (head in KINDS and linked) or (not at and form_at(tokens, 1) in KINDS):
        return True
    return tokens[at].form in NOUN_TOO and all(map(is_filler, tokens[:at]))


MAX_BEFORE_NOUN = 4
"""Maximum number of words before the noun of a shortened question: `all the transitive callers of f`."""


def _asks_advice(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb belongs to a question for advice: `should I use X or Y`, `is it safe to call f`."""
    if form_at(tokens, at - 1) == "to" and tokens[at].form in _INFINITIVES:
        return True
    return any(
        first.form in _MODALS and following.form in {"i", "we", "you", "one"}
        for first, following in pairwise(tokens[:at])
    )


def _is_of_code(cue: Cue) -> bool:
    """Whether a cue is used only for code, whatever its subject: `callers`, `tests`."""
    return cue.incoming == "tests" or (cue.voice == "noun" and cue.incoming in _OF_CODE)


def _refined(relation: Relation, clause: Clause) -> Relation:
    """Return the more specific relation that other words of the clause ask for, such as tests."""
    tokens = clause.tokens
    if asks_for_tests(tokens) and relation in {"callers", "references", "importers", "definition"}:
        return "tests"
    far = any(token.form in _TRANSITIVE for token in tokens) or depth_of(clause) > 1
    if relation in {"importers", "callers", "references"} and far:
        return "impact"
    if relation == "imports" and any(token.form in _CALLABLE for token in tokens):
        return "callees"  # `which other methods does f depend on`
    return relation


def _asked(
    relation: Relation,
    cue: Cue,
    tokens: Sequence[Token],
    at: int,
    before: Subject | None,
    behind: Subject | None,
) -> RelationAsked:
    both = relation == "connection" or (tokens[0].form in AUXILIARY and cue.voice != "passive")
    if both and before and behind and before.sure and behind.sure:
        chosen = [before, behind]
    elif cue.voice == "passive":
        chosen = [subject for subject in (before or behind,) if subject]
    else:
        chosen = [subject for subject in (behind or before,) if subject]
    places = [at, *(subject.at for subject in chosen)]
    said = " ".join(token.text for token in tokens[min(places) : max(places) + 1])
    relation = _by_subject(relation, cue, tokens, at, chosen)
    return RelationAsked(relation, tuple(subject.text for subject in chosen), said)


def _by_subject(
    relation: Relation, cue: Cue, tokens: Sequence[Token], at: int, chosen: Sequence[Subject]
) -> Relation:
    """Return the relation that fits the subject: files are imported, symbols are referenced."""
    if len(chosen) != 1 or relation not in {"importers", "references"}:
        return relation
    subject = chosen[0]
    path = tokens[subject.at].kind == "path"
    if relation == "references":
        return "importers" if path and not cue.surely else relation
    near = {form_at(tokens, subject.at - 1), form_at(tokens, subject.at + 1)}
    module = path or near & MODULES or not compiled(_SYMBOL).search(subject.text)
    return relation if module or tokens[at].form not in DEPENDING else "references"


_MEASURES = words("many often much widely heavily commonly frequently risky safe dangerous far")
"""Words after `how` in a question for a number or an extent, which the graph can answer."""

_TELLS = r"(?i)\.(?:md|rst|adoc|txt|ya?ml|json5?|toml|ini|cfg|conf|env|properties|csv|log)$"
_CALLABLE = words("function functions method methods helper helpers routine routines")
_SYMBOL = r"[A-Z(_#]|::"
"""Characters that names of modules seldom have."""

_OF_CODE = words("callers callees importers subclasses definition")
_ALL_THAT = words("everything anything all whatever whoever code")
_RELATIVE = words("that which who where")
_MODALS = words("should can could may must shall")
_INFINITIVES = words("call use import extend implement override test invoke read write set")
_WHAT_HAPPENS = ("what happens", "what would happen", "what will happen", "what is going on")
_TRANSITIVE = words("transitive transitively indirect indirectly recursive recursively downstream")


def find_connection(clause: Clause) -> RelationAsked | None:
    """Find a question for the path between two symbols; the subjects are its start and its end.

    Both must be names. Plain words count only together with a word for a path: `call path from main to f`.
    """
    tokens = clause.tokens
    ends = _ends(tokens)
    if ends and _moves(clause):
        return whole(clause, "connection", ends)
    forms = {token.form for token in tokens}
    named = any(map(is_named, tokens)) or compiled(_CALL_PATH).search(clause.form)
    if named and {"from", "to"} <= forms and forms & _PATHS:
        plain = tuple(filter(None, (_text_behind(tokens, word) for word in ("from", "to"))))
        return whole(clause, "connection", plain) if len(plain) == 2 else None
    return None


def _ends(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the names at the start and the end of a possible path, none if there aren't two."""
    named = [at for at, token in enumerate(tokens) if is_named(token)]
    if len(named) > 2:
        placed = [at for at in named if tokens[at].kind == "path" and form_at(tokens, at - 1) in PLACING]
        named = [at for at in named if at not in placed]
    if len(named) < 2:
        return ()
    before = {form_at(tokens, at - 1): at for at in reversed(named)}
    start, end = before.get("from"), before.get("to", before.get("into"))
    if start is None or end is None:
        start, end = named[:2]
        if form_at(tokens, end - 1) in {"from", "by"}:
            start, end = end, start
    return (tokens[start].text, tokens[end].text)


def _moves(clause: Clause) -> bool:
    """Whether a clause says that something gets from one name to the other, or that they are connected."""
    forms = {token.form for token in clause.tokens}
    if "end up" in clause.form or "get to" in clause.form or any(map(is_connection, forms)):
        return True
    if {"from", "to"} <= forms and forms & _MOTION and not forms & _MIGRATION:
        return True
    return clause.tokens[0].form in _HOW and bool(forms & DEPENDING)


def _text_behind(tokens: Sequence[Token], word: str) -> str:
    """Return the text after a preposition, without articles and words for kinds; empty if there is none."""
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
