"""The mood of a clause: a question, a command, a statement or small talk."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from ..core.vocabulary import words
from .clauses import Clause, Token
from .patterns import compiled
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
    WISHING,
)

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
