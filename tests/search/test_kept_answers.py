"""An answer is given again while nothing that it follows from is another; what is kept has its limit."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.search.query import DescribedHits, SearchResult
from foveal.daemon.search.service import HIT_CHARACTERS, HITS_MAX, TEXT_CHARACTERS, ResultCache
from msgspec.structs import replace


def found(*snippets: str, **more: Any) -> SearchResult:
    described = DescribedHits([{"snippet": snippet} for snippet in snippets], [])
    return replace(SearchResult((), "structural", "structural", (), (), described=described), **more)


def test_an_answer_is_given_again_while_its_version_holds() -> None:
    kept, answer = ResultCache(), found("x")
    kept.keep("who", (1, 2), answer, "who")
    assert kept.get("who", (1, 2)) is answer
    assert kept.get("whose", (1, 2)) is None
    assert kept.get("who", (1, 3)) is None
    assert (len(kept), kept.size) == (0, 0), "one of another version is of no use any more"


def test_a_later_answer_takes_the_place_of_an_earlier() -> None:
    kept = ResultCache()
    kept.keep("who", 1, found("x" * 100), "who")
    kept.keep("who", 2, found("xy"), "who")
    assert kept.get("who", 2) == found("xy")
    assert (len(kept), kept.size) == (1, 5 + HIT_CHARACTERS)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (found(), "nothing was found"),
        (found("x", described=None), "not described"),
        (found("x", degraded=("3 files wait to be linked",)), "not complete"),
        (found("x", described=DescribedHits([{"snippet": "x"}], ["a.py"])), "stale"),
        (found(*("x" * (HITS_MAX + 1))), "too many hits"),
        (found("x"), "x" * (TEXT_CHARACTERS + 1)),
    ],
)
def test_only_complete_answers_of_some_size_are_kept(answer: SearchResult, text: str) -> None:
    kept = ResultCache()
    kept.keep("who", 1, answer, text)
    assert len(kept) == 0


def test_what_was_given_longest_ago_goes() -> None:
    kept = ResultCache(most=2 * (HIT_CHARACTERS + 2))
    kept.keep("a", 1, found("x"), "?")
    kept.keep("b", 1, found("x"), "?")
    assert kept.get("a", 1) is not None
    kept.keep("c", 1, found("x"), "?")
    assert [kept.get(key, 1) is None for key in "abc"] == [False, True, False]
    kept.keep("d", 1, found("x" * 9_000), "?")
    assert (len(kept), kept.size) == (0, 0), "one that is larger than all may be isn't kept either"
