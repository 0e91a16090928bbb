"""Queries are nearly equal by their words, and the prefix of a sketch misses no nearly equal one."""

from __future__ import annotations

import pytest
from foveal.daemon.sessions.request_queries import (
    NEARLY_EQUAL,
    SKETCH_TERMS,
    Sketch,
    prefix,
    similarity,
    sketch_bytes,
    sketch_in,
    sketch_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def like(one: str, other: str) -> float:
    return similarity(sketch_of(one), sketch_of(other))


@pytest.mark.parametrize(
    ("one", "other", "nearly"),
    [
        ("Why does parse_url drop the port?", "why does the port drop, parse_url", True),
        (
            "Fix the login bug in auth.py session handling",
            "Please fix login bug: auth.py session handling!",
            True,
        ),
        ("rename user field email address table", "rename user field phone address table", False),
        ("Add a test for the cache", "Delete the index of the tree", False),
        ("Wo wird die Größe der Tabelle berechnet", "wo wird die GRÖSSE der Tabelle berechnet", True),
        ("go on", "go on", False),
        ("", "", False),
    ],
)
def test_nearly_equal(one: str, other: str, nearly: bool) -> None:
    assert (like(one, other) >= NEARLY_EQUAL) is nearly


def test_similarity_is_the_share_of_common_words() -> None:
    ten = [f"word{n}" for n in range(10)]
    assert like(" ".join(ten), " ".join(ten)) == 1
    assert like(" ".join(ten), " ".join(ten[:9])) == pytest.approx(0.9)
    assert like(" ".join(ten), " ".join(ten[5:])) == pytest.approx(0.5)
    assert like(" ".join(ten), "other words altogether") == 0


def test_a_long_query_is_estimated() -> None:
    words = [f"word{n}" for n in range(1_000)]
    assert like(" ".join(words), " ".join(words[:900])) == pytest.approx(0.9, abs=0.1)
    assert len(sketch_of(" ".join(words))) == SKETCH_TERMS


def test_of_a_huge_query_both_ends_count() -> None:
    ends = sketch_of("one two three four five six")
    assert {*ends} < {*sketch_of(f"one two three {'x' * 3_000_000} four five six")}


def test_a_sketch_survives_its_bytes() -> None:
    for sketch in ((), sketch_of("one two three four"), (0, 2**32 - 1)):
        assert sketch_in(sketch_bytes(sketch)) == sketch
    assert sketch_in(b"\x01\x00\x00\x00\xff") == (1,)


SKETCHES = st.sets(st.integers(0, 120), min_size=1, max_size=90)


@settings(max_examples=300)
@given(SKETCHES, st.sets(st.integers(0, 120), max_size=12))
def test_nearly_equal_sketches_share_a_term_of_their_prefixes(terms: set[int], changed: set[int]) -> None:
    def sketch(some: set[int]) -> Sketch:
        return tuple(sorted(some)[:SKETCH_TERMS])

    one, other = sketch(terms), sketch(terms ^ changed)
    if similarity(one, other) >= NEARLY_EQUAL:
        assert {*prefix(one)} & {*prefix(other)}
    assert len(prefix(one)) <= 13
