"""Tests by their syntax: those inside source files count as tests, and alike ones don't crowd out the rest.

Roles of files go by their paths (`role_of`), so they don't know `#[cfg(test)]` modules and `describe` blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp
from typing import Final

from msgspec.structs import replace

from ..index.service import Reader
from ..languages.shared.records import Symbol
from ..project.service import role_of
from .definitions import PROBABILITY_MIN, WEIGHTS
from .query import FoundDefinition

TEST_ODDS: Final = exp(WEIGHTS["role test"] - WEIGHTS["role source"])
"""Factor for the odds of a test inside a source file: what the fitted weights give a file of tests."""

READ_MAX, READ_MIN = 80, 0.01
"""Maximum number of definitions whose text is read, the most probable first, and their minimum probability;
one takes .1 ms."""

HEAD_LINES: Final = 4
"""Number of lines at the beginning of a definition that may mark it as a test."""

ALIKE_MAX: Final = 2
"""Number of tests alike that keep their probability."""

ALIKE, ALIKE_SHARE = 0.6, 0.1
"""Minimum share of common lines, without values and names in quotes, of tests that are alike, and the factor
for the probability of those beyond `ALIKE_MAX`."""


def rank_tests(
    found: Iterable[FoundDefinition],
    languages: Mapping[str, str],
    reader: Reader,
    symbols_of: Callable[[str], Sequence[Symbol]],
    *,
    wanted: bool,
) -> list[FoundDefinition]:
    """Return found definitions, those that are tests by their syntax with the probability of tests, unless
    tests are `wanted`, and all but the first tests alike with a lower one."""
    texts = _Texts(reader, symbols_of)
    shapes: list[frozenset[str]] = []
    ranked: list[FoundDefinition] = []
    ordered = sorted(found, key=lambda one: (-one.probability, one.path, one.first))
    read = [one for one in ordered[:READ_MAX] if one.probability >= READ_MIN]
    for one in read:
        language = languages.get(one.path, "")
        of_tests = role_of(one.path, language) == "test"
        probability = one.probability
        if of_tests or _is_test(one, language, texts):
            if not of_tests and not wanted:
                odds = TEST_ODDS * probability / (1 - min(probability, 0.999))
                probability = odds / (1 + odds)
            shape = _shape(texts.lines(one.path, one.first, one.last))
            if sum(_are_alike(shape, other) for other in shapes) >= ALIKE_MAX:
                probability *= ALIKE_SHARE
            shapes.append(shape)
        ranked.append(replace(one, probability=round(probability, 4)))
    return [one for one in (*ranked, *ordered[len(read) :]) if one.probability >= PROBABILITY_MIN]


def _is_test(one: FoundDefinition, language: str, texts: _Texts) -> bool:
    """Whether a definition, one around it, or a block outside of definitions is a test by its syntax."""
    if one.symbol is None:
        mark = _BLOCKS.get(language)
        first = next((line for line in texts.lines(one.path, one.first, one.last) if line.strip()), "")
        return mark is not None and bool(mark.match(first))
    mark = _MARKS.get(language)
    if mark is None and language != "python":
        return False
    around = [
        symbol
        for symbol in texts.symbols(one.path)
        if symbol.start_line <= one.first and one.last <= symbol.end_line and symbol.kind != "section"
    ]
    if mark is None:
        return any(symbol.kind == "class" and "TestCase" in symbol.signature for symbol in around)
    if language == "rust" and any(_is_module_of_tests(symbol) for symbol in around):
        return True
    heads = (texts.lines(one.path, at.start_line, at.start_line + HEAD_LINES - 1) for at in around)
    return any(mark.match(line) for head in heads for line in _marked(head))


def _is_module_of_tests(symbol: Symbol) -> bool:
    return symbol.kind == "module" and symbol.name.rpartition(".")[2] in {"tests", "test"}


def _marked(head: Sequence[str]) -> Iterable[str]:
    """Yield the annotations at the beginning of a definition, and the line below them."""
    for line in head:
        yield line
        if not line.lstrip().startswith(("@", "#[", "[")):
            return


def _shape(lines: Sequence[str]) -> frozenset[str]:
    """Return the lines of a test below its name, without values."""
    plain = (_VALUE.sub("", line.strip()) for line in lines)
    return frozenset(line for line in plain if len(line) > 3 and not _NAMED.match(line))


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= ALIKE * max(len(one), len(other))


class _Texts:
    """The lines and definitions of found places, as they were indexed, read as they are asked for."""

    def __init__(self, reader: Reader, symbols_of: Callable[[str], Sequence[Symbol]]) -> None:
        self._reader = reader
        self.symbols = symbols_of

    def lines(self, path: str, first: int, last: int) -> list[str]:
        """Return the lines of a place, up to the end of the chunk in which it begins."""
        chunk = self._reader.chunks.at([(path, first)]).get((path, first))
        if chunk is None or not chunk.start_line <= first <= chunk.end_line:
            return []
        text = self._reader.chunks.texts_of([chunk]).get(chunk.id, "")
        return text.split("\n")[first - chunk.start_line : last - chunk.start_line + 1]


_ANNOTATED = re.compile(r"\s*@(?:\w+\.)*(?:\w*Test|TestFactory|Before\w*|After\w*)\b")
_SCRIPT_BLOCK = re.compile(
    r"\s*(?:describe|context|suite|it|test)(?:\.\w+)*\(\s*['\"`]|if \(import\.meta\.vitest"
)
_MARKS: Final = {
    "rust": re.compile(r"\s*#\[(?:\w+::)*(?:test|bench|rstest|test_case|quickcheck|cfg\((?:all\()?test\b)"),
    "java": _ANNOTATED,
    "kotlin": _ANNOTATED,
    "scala": _ANNOTATED,
    "swift": _ANNOTATED,
    "csharp": re.compile(r"\s*\[(?:\w+\.)*(?:Fact|Theory|Test|TestMethod|TestCase)\b"),
    "php": re.compile(r"\s*#\[(?:\w+\\)*Test\b"),
}
"""What the first lines of a test or of a module of tests are in a language; in Python a class tells."""

_BLOCKS: Final = {
    "python": re.compile(r"if __name__ == |>>> "),
    **dict.fromkeys(("javascript", "typescript", "tsx", "jsx"), _SCRIPT_BLOCK),
}
"""How a block of tests outside of definitions begins."""

_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|\d[\w.]*")
_NAMED = re.compile(
    r"(?:pub |async |export |public |static )*(?:def|fn|func|fun|function|it|test|void)\b|[@#\[/]"
)
