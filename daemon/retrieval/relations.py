"""Owns the decision which relation of the code graph a clause asks for, and of what."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .asking_words import AUXILIARY, CJK_WHY_HOW, WHY_HOW
from .clauses import Clause, Token, clause_of
from .code_words import KINDS
from .patterns import compiled
from .relation_cues import CJK_CUES, CUES, NO_SUBJECT, Cue, Relation
from .relation_directions import BY, NOUN_TOO, direction_of
from .relation_phrases import (
    RelationAsked,
    asks_for_tests,
    find_callees_of_run,
    find_connection,
    find_impact,
    find_location,
    find_outline,
    find_signature,
    find_tests,
)
from .relation_subjects import (
    Subject,
    form_at,
    is_filler,
    subject_before,
    subject_behind,
    sure_names,
)
from .vocabulary import words


def find_relation(clause: Clause, *, asks: bool, pronouns: bool = False) -> RelationAsked | None:
    """Return the relation that a clause asks for, or None.

    It must be asked of a symbol, a path, or a plain word that its place makes a name (`who calls login`,
    `the login function`, but not `the payment provider`); with `pronouns` also of what was named before (`who
    calls it`). `asks` says that the clause is a question or a command to look: a statement (`f calls g
    twice`) asks for no verb's relation, but as a fragment for a noun's (`callers of f`).
    """
    clause = _with_phrases(clause)
    tokens = clause.tokens
    how = tokens[0].form in WHY_HOW and form_at(tokens, 1) not in {"many", "often"}
    if not how:
        for relation, pattern in NO_SUBJECT:
            if match := compiled(pattern).search(clause.form):
                return RelationAsked(relation, sure_names(tokens), clause.said(match.start(), match.end()))
    if any(_is_cjk(token) for token in tokens):
        return _in_cjk(clause)
    connection = find_connection(clause)
    if how or connection:
        return connection
    if clause.form.startswith(_WHAT_HAPPENS):
        return find_impact(clause, pronouns=pronouns)
    return (
        find_impact(clause, pronouns=pronouns)
        or find_signature(clause)
        or find_callees_of_run(clause)
        or find_tests(clause)
        or _by_cue(tokens, asks=asks, pronouns=pronouns)
        or (find_location(clause) if asks else None)
        or find_outline(clause)
    )


def _asks_advice(tokens: Sequence[Token]) -> bool:
    """Whether a question is what one may do: `should I use X or Y`."""
    return any(
        first.form in _MODALS and following.form in {"i", "we", "you", "one"}
        for first, following in pairwise(tokens)
    )


def _with_phrases(clause: Clause) -> Clause:
    """Return a clause in which two words that are a cue together, `pulls in`, are one token."""
    tokens: list[Token] = []
    for token in clause.tokens:
        form = f"{tokens[-1].form}-{token.form}" if tokens else ""
        if form in CUES:
            tokens[-1] = Token("word", f"{tokens[-1].text} {token.text}", form)
        else:
            tokens.append(token)
    return clause_of(tokens, clause.asks) if len(tokens) < len(clause.tokens) else clause


def _by_cue(tokens: Sequence[Token], *, asks: bool, pronouns: bool) -> RelationAsked | None:
    """Find a word for a relation with a subject on one of its sides."""
    for at, token in enumerate(tokens):
        cue = CUES.get(token.form)
        if cue is None or not (asks or _is_fragment(cue, tokens, at)) or _is_subject(tokens, at):
            continue
        if cue.voice == "active" and _asks_advice(tokens[:at]):
            continue
        before = subject_before(tokens, at, pronouns=pronouns)
        behind = subject_behind(tokens, at, pronouns=pronouns)
        if cue.surely or (token.form.endswith("ing") and tokens[0].form not in KINDS | _ALL_THAT):
            before = before if before and before.sure else None
            behind = behind if behind and behind.sure else None
        known = any(subject and (subject.sure or subject.kinded) for subject in (before, behind))
        if tokens[0].form in AUXILIARY and not known and not _is_of_code(cue):
            continue  # `is caching used here` asks for a behaviour
        relation = direction_of(cue, tokens, at, before, behind)
        if relation:
            return _asked(_refined(relation, tokens), cue, tokens, at, before, behind)
    return None


def _is_of_code(cue: Cue) -> bool:
    """Whether a word by itself says that code is meant, whatever it is asked of: `callers`, `tests`."""
    return cue.incoming == "tests" or (cue.voice == "noun" and cue.incoming in _OF_CODE)


def _refined(relation: Relation, tokens: Sequence[Token]) -> Relation:
    """Return the relation that is meant where others words of the clause narrow it."""
    if asks_for_tests(tokens) and relation in {"callers", "references", "importers", "definition"}:
        return "tests"
    if relation in {"importers", "callers"} and any(token.form in _TRANSITIVE for token in tokens):
        return "impact"
    return relation


def _asked(
    relation: Relation,
    cue: Cue,
    tokens: Sequence[Token],
    at: int,
    before: Subject | None,
    behind: Subject | None,
) -> RelationAsked:
    both = relation == "connection" or (tokens[0].form in AUXILIARY and cue.voice == "active")
    if both and before and behind and before.sure and behind.sure:
        chosen = [before, behind]
    elif cue.voice == "passive":
        chosen = [subject for subject in (before or behind,) if subject]
    else:
        chosen = [subject for subject in (behind or before,) if subject]
    places = [at, *(subject.at for subject in chosen)]
    said = " ".join(token.text for token in tokens[min(places) : max(places) + 1])
    return RelationAsked(relation, tuple(subject.text for subject in chosen), said)


def _is_fragment(cue: Cue, tokens: Sequence[Token], at: int) -> bool:
    """Whether a word is what a fragment is about: `transitive callers of f`, `code that calls f`."""
    form, last = tokens[at].form, at == len(tokens) - 1
    if form in NOUN_TOO and at and tokens[at - 1].kind == "name" and not last:
        return False  # `f calls g twice` states something
    if form.endswith("ing") and not at and form_at(tokens, 1) in KINDS:
        return True  # `overriding methods of f`
    participle = form.endswith("ing") or (cue.voice == "passive" and form_at(tokens, at + 1) in BY)
    if participle and 0 < at < 4 and tokens[0].form in KINDS:
        return True  # `functions calling f`
    if _has_relative(tokens[:at]):
        return True
    if form in NOUN_TOO:  # `the report uses f` states something as well
        return last or all(map(is_filler, tokens[:at]))
    return cue.voice == "noun" and (at <= 4 or last)


def _has_relative(tokens: Sequence[Token]) -> bool:
    """Whether a fragment begins like `everything that`, `all spots which`."""
    if not tokens:
        return False
    head = next((token.form for token in tokens if not is_filler(token) and token.form not in _LISTS), "")
    relative = any(token.form in _RELATIVE for token in tokens[-MAX_RELATIVE:])
    return tokens[0].form in _ALL_THAT or (
        relative and (head in KINDS or (tokens[-1].form in _RELATIVE and len(tokens) < 6))
    )


MAX_RELATIVE = 5
"""So far before a verb its relative pronoun may stand: `places where X is still called`."""


def _is_subject(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word that may be a verb is a noun of its own: `what imports are allowed`."""
    return tokens[at].form in NOUN_TOO and form_at(tokens, at + 1) in AUXILIARY


def _in_cjk(clause: Clause) -> RelationAsked | None:
    names = sure_names(clause.tokens)
    if not names or compiled(CJK_WHY_HOW).search(clause.form):
        return None
    for relation, pattern in CJK_CUES:
        if (relation != "connection" or len(names) > 1) and (match := compiled(pattern).search(clause.form)):
            return RelationAsked(relation, names[:2], clause.said(match.start(), match.end()) or match[0])
    return None


def _is_cjk(token: Token) -> bool:
    return token.kind == "word" and "\u3040" <= token.form[0] <= "\ud7af"


_OF_CODE = words("callers callees importers subclasses definition")
_WHAT_HAPPENS = (
    "what happens",
    "what would happen",
    "what will happen",
    "what is going on",
    "was passiert",
    "que se passe",
    "qué pasa",
    "qué ocurre",
    "o que acontece",
    "cosa succede",
    "что происходит",
    "что произойдёт",
    "что будет",
)

_MODALS = words("should can could may must shall")
_RELATIVE = words("that which who where")
_LISTS = words("list lists overview set number count need want")
_ALL_THAT = words("everything anything all whatever whoever code")
_TRANSITIVE = words("transitive transitively indirect indirectly recursive recursively downstream")
