"""Owns the phrasings that ask for a path between two symbols: `how does A end up in B`, `is B reachable`."""

from __future__ import annotations

from collections.abc import Sequence

from ..project.vocabulary import words
from .clauses import Clause, Token
from .code_words import KINDS, is_connection
from .patterns import compiled
from .relation_cues import CUES, DEPENDING
from .relation_phrases import RelationAsked, content_of, whole
from .relation_subjects import DETERMINERS, PLACING, form_at, is_named


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
