"""Owns the correction of typing errors in the words that tell what is asked: `wich files imoprt`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from .vocabulary import words

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
        or word in _RIGHT
        or not (word.isascii() and word.isalpha())
    ):
        return word
    found = [candidate for candidate in _slips(word) if candidate in _VOCABULARY]
    return next((candidate for candidate in found if candidate[0] == word[0]), found[0] if found else word)


def is_known(word: str) -> bool:
    """Whether a word in lower case is one of those that phrasings are made of."""
    return word in _VOCABULARY


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
    exporter exporters shown nested form here were there these those three then than them they thee tests
    rest text user users sued dose doe how's hence whet whee want went won war ways way bind fine kind
    mind wind fund file fled life lift lists listed mist last lost classed clashes glasses passes causes
    clauses user users uses' cause pause core cell cells fall falls tall tells calm cull culls hall mall
    wall wails coverage cover covered rely reply tried dives defends refined refine refines defied
    deferred inferred referred preferred extents intends expends expands expand extended extending report
    reports resort import's improve improves improved implied included including inclined requited acquire
    acquires thread threads method's modulus models model modes nodes mode node failed filed filled field
    fields tile tiles finds shows searches section's action actions session sessions sanction fiction
    function's fraction junction auction case cases used usage's pages change's charge charges charged
    changed changes range ranges rename's renamed removed removes remote inside include's paths pathe
    paths bath math patch path's impact's exact fact compact expert expects expect except exports' exposes
    explore declares declared's defined's definite definitive whole whom hoe who'd wow cow
    """
)
"""Right words that are a slip away from one above."""
