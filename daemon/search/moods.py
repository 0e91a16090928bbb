"""Owns what kind of sentence a clause is: a question, a command to look or to change, a statement."""

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
    WHY_HOW,
    WISHING,
)

Mood = Literal["question", "look", "change", "statement", "nothing"]
"""`nothing` is small talk, and what tries to steer the reader."""


def mood_of(clause: Clause) -> Mood:
    """Return the mood of a clause that `without_greeting` gave."""
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
    """Return a clause without greetings and politeness at its beginning: `hey, could you please tell me`."""
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
    """Return the question that a command to look goes on with, `tell me why …`; else the clause itself."""
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
    """Whether a clause is a question in words with something to search for; `complement`: `told` gave it."""
    content = [token for token in clause.tokens if token.kind != "mark" and token.form not in STOP_WORDS]
    if not any(len(token.text) > 1 for token in content):
        return False  # an interrogative alone, letters of a regular expression
    if complement:
        return True
    if mood == "question":
        opens = clause.tokens[0].form in AUXILIARY or any(token.form in ASKING for token in clause.tokens)
        return opens or len(content) >= MIN_WORDS or not clause.form.isascii()
    return False


MIN_WORDS = 3
"""Minimum number of content words that make a question of what only ends with a question mark: `login?`
asks for nothing."""


def _commands(tokens: Sequence[Token]) -> bool:
    """Whether a clause commands a change: at its start, or behind `and` where it starts by looking."""
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
    """Whether a word is a command behind `would you mind`: `adding`, `renaming`."""
    stem = word.removesuffix("ing")
    return stem != word and bool({stem, f"{stem}e", stem[:-1]} & (SURELY_CHANGING - {"implement"}))


def _asks_later(tokens: Sequence[Token]) -> bool:
    """Whether a question begins with a preposition or a place: `from which handlers …`, `in a.py, how …`."""
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
"""What follows a noun, `support for IPv6`, and no command."""

_CONJUNCTIONS = words("that which")
"""Words of questions that begin other clauses as well."""
