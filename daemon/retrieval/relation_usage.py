"""Owns whether a word for a relation asks for one: not in `should I call f`, `the call stack`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..project.vocabulary import words
from .asking_words import ASKING, AUXILIARY, LOOKING
from .clauses import Token
from .code_words import ADVERBS, KINDS
from .relation_cues import Cue
from .relation_directions import BY, DOES, HAVING, NOUN_TOO, is_noun
from .relation_subjects import form_at, is_filler


def asks_by_cue(cue: Cue, tokens: Sequence[Token], at: int, *, asks: bool) -> bool:
    """Whether the word at a place asks for its relation. `asks` says that the clause asks for anything."""
    if not (asks or _is_fragment(cue, tokens, at)) or _is_subject(tokens, at):
        return False
    if is_verb(cue, tokens[at]) and (_asks_advice(tokens[:at]) or _is_aim(tokens, at)):
        return False
    # `is f called twice` asks for a behaviour
    yes_or_no = cue.voice == "passive" and tokens[0].form in AUXILIARY
    return not (yes_or_no and _says_when(form_at(tokens, at + 1)))


def is_verb(cue: Cue, token: Token) -> bool:
    """Whether a cue is something that is done: `calls`, also `test`, which is listed as a noun."""
    return cue.voice == "active" or token.form == "test"


def is_loose(tokens: Sequence[Token], at: int) -> bool:
    """Whether a participle stands where plain words follow that name nothing: `a cache using memory`."""
    acting = form_at(tokens, at - 1) in AUXILIARY and tokens[0].form in ASKING
    return tokens[at].form.endswith("ing") and _head(tokens) not in _HEADS and not acting


def may_be_verb(tokens: Sequence[Token], at: int) -> bool:
    """Whether a plain word may be a verb's object by what is before: `who calls f`, not `the call stack`."""
    return not at or not is_noun(tokens, at) or form_at(tokens, at - 1) in ADVERBS


def says_something(tokens: Sequence[Token]) -> bool:
    """Whether more is said before a fact of the whole graph: `does the linter report unused imports`."""
    plain = (token for token in tokens if token.kind in {"word", "quote"} and token.form not in _SEEKING)
    return any(token.form not in _ASKED_FOR and not is_filler(token) for token in plain)


def _asks_advice(tokens: Sequence[Token]) -> bool:
    """Whether a question is what one may do: `should I use X or Y`."""
    return any(
        first.form in _MODALS and following.form in {"i", "we", "you", "one"}
        for first, following in pairwise(tokens)
    )


def _is_aim(tokens: Sequence[Token], at: int) -> bool:
    """Whether a verb says what somebody is to do: `is it safe to call f`, `what is wrong with calling f`."""
    before = form_at(tokens, at - 1)
    if tokens[at].form.endswith("ing"):
        return before in _BEFORE_GERUND and form_at(tokens, at - 2) != "responsible"
    return before == "to" and form_at(tokens, at - 2) not in _HAPPENS


def _says_when(word: str) -> bool:
    """Whether a word says when or in which way something is done, behind `is f called`."""
    return word in _WHEN_DONE or (word.endswith("ly") and word not in ADVERBS)


def _is_fragment(cue: Cue, tokens: Sequence[Token], at: int) -> bool:
    """Whether a word is what a fragment is about: `transitive callers of f`, `code that calls f`."""
    form, last = tokens[at].form, at == len(tokens) - 1
    if form in NOUN_TOO and at and tokens[at - 1].kind == "name" and not last:
        return False  # `f calls g twice` states something
    if form.endswith("ing") and not at and form_at(tokens, 1) in KINDS:
        return True  # `overriding methods of f`
    participle = form.endswith("ing") or (cue.voice == "passive" and form_at(tokens, at + 1) in BY)
    if participle and 0 < at < 6 and _head(tokens) in KINDS:
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
    head = _head(tokens)
    relative = any(token.form in _RELATIVE for token in tokens[-MAX_RELATIVE:])
    return tokens[0].form in _ALL_THAT or (
        relative and (head in KINDS or (tokens[-1].form in _RELATIVE and len(tokens) < 6))
    )


def _head(tokens: Sequence[Token]) -> str:
    """Return the form of the first word that says something: `structs` in `list of all the structs`."""
    return next((token.form for token in tokens if not is_filler(token) and token.form not in _LISTS), "")


def _is_subject(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word that may be a verb is a noun of its own: `what imports are allowed`."""
    following = form_at(tokens, at + 1)
    if following in DOES and tokens[-1].form in HAVING:
        return False  # `which imports does a.py have`
    return tokens[at].form in NOUN_TOO and following in AUXILIARY


MAX_RELATIVE = 5
"""So far before a verb its relative pronoun may stand: `places where X is still called`."""

_MODALS = words("should can could may must shall")
_RELATIVE = words("that which who where")
_LISTS = words("list lists overview set number count need want")
_ASKED_FOR = KINDS | ASKING | LOOKING | _LISTS
_ALL_THAT = words("everything anything all whatever whoever code")
_HEADS = KINDS | _ALL_THAT
_SEEKING = words("anything something left")
_BEFORE_GERUND = words(
    """
    with of for by about before after without when while from against despite to
    """
)
_HAPPENS = words("happen happens seem seems continue continues")
_WHEN_DONE = words(
    """
    twice once when while if before after during on with without for as per until every whenever again too
    """
)
