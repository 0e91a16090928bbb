"""Owns the correction of typing errors in the words that tell what is asked: `wich files imoprt`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache

from ..project.vocabulary import words
from .asking_words import ASKING, AUXILIARY, CHANGING, LOOKING, TELLING
from .code_words import ADVERBS, KINDS, PARTS, PLURAL_KINDS, is_breakage, is_change, is_connection
from .relation_cues import CUES
from .stop_words import STOP_WORDS

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@lru_cache(4_096)
def correct(word: str) -> str:
    """Return the word of the vocabulary that a word in lower case is one slip away from, or the word itself.

    A slip is two letters in the wrong order, a letter missing or doubled, or, in words of six letters and
    more, a wrong one: the shorter a word, the likelier is it another word rightly spelled.
    """
    if (
        not 3 <= len(word) <= 14
        or word in _VOCABULARY
        or _is_right(word)
        or not (word.isascii() and word.isalpha())
    ):
        return word
    found = [candidate for candidate in _slips(word) if candidate in _VOCABULARY]
    return next((candidate for candidate in found if candidate[0] == word[0]), found[0] if found else word)


def is_known(word: str) -> bool:
    """Whether a word in lower case is one of those that phrasings are made of."""
    return word in _VOCABULARY


def _is_right(word: str) -> bool:
    """Whether a word means something as it is: `ever` is no slip of `never`, nor `required` of `require`."""
    return word in _right_words() or is_change(word) or is_breakage(word) or is_connection(word)


@cache
def _right_words() -> frozenset[str]:
    """Return the words of all tables, and common ones that are only near to one."""
    told = ASKING | AUXILIARY | CHANGING | LOOKING | TELLING | ADVERBS | KINDS | PARTS | PLURAL_KINDS
    return _RIGHT | STOP_WORDS | told | frozenset(word for cue in CUES for word in cue.split("-"))


def _slips(word: str) -> Iterator[str]:
    cuts = range(len(word))
    for at in range(len(word) - 1):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if len(word) >= 5:  # one letter too many
        yield from (word[:at] + word[at + 1 :] for at in cuts)
    if len(word) >= 4:  # one missing
        yield from (word[:at] + letter + word[at:] for at in range(len(word) + 1) for letter in _LETTERS)
    if len(word) >= 6:
        yield from (word[:at] + letter + word[at + 1 :] for at in cuts[1:] for letter in _LETTERS)


_VOCABULARY = words(
    """
    what which where when who whose why how does the and from that this is are can should would could call
    calls called caller callers calling callees invoke invokes invoked invoking use uses used using usage
    usages reference references referenced import imports imported importing importers include includes
    require requires depend depends dependents dependencies dependency extend extends inherit inherits
    inherited subclass subclasses superclass parent implement implements implemented implementations
    implementers override overrides overridden define defines defined definition definitions declare
    declared declaration export exports exported find show list locate search explain describe function
    functions method methods class classes module modules file files folder folders directory section
    chapter interface tests test tested covers breaks change changing rename remove impact affected unused
    never outline members symbols signature between connect connected path
    """
)
_RIGHT = words(
    """
    buses calmed cass chance chang chanting chapters charge charter chatter clashes classed clauses cold
    couldn cover covert culled culling declares defend defends defied dependence described describes
    director directors doesn domes dose doses expends expert experts explains exporter extent extents
    filed filer filers finds flies folded form hanging here hose included lass lists locale modulus
    older outlined outlines overs patch patent pathe preference preferences rae remote sage shouldn
    shown shows sing sued users were wheat whee wouldn
    """
)
"""Common words that are a slip away from one above, and in no table."""
