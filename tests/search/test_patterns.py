"""Regexes are compiled once, at their first use, and may be written as lists of words."""

from __future__ import annotations

import re

from foveal.daemon.search.patterns import any_of, compiled


def test_a_pattern_is_compiled_once() -> None:
    assert compiled(r"a+") is compiled(r"a+")
    assert compiled(r"(?i)a+").fullmatch("AA")


def test_words_and_phrases_become_alternatives() -> None:
    assert any_of("in, in the", "at") == "(?:in|in the|at)"
    assert re.fullmatch(any_of("files?, folder,"), "file")
    assert not re.fullmatch(any_of("a, ,"), "")
