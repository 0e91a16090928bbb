"""A larger context is given more hits, longer ones, and never less; what a hit is worth doesn't depend on that."""

from __future__ import annotations

import pytest
from foveal.daemon.context.budget import LEAST_TOKENS
from foveal.daemon.context.hit_share import (
    FOLDER_DECAY,
    HITS_MIN,
    TOKENS_PER_HIT,
    hit_characters,
    hit_values,
    hits_wanted,
)
from foveal.daemon.index.chunk_table import StoredChunk
from foveal.daemon.retrieval.hits import Hit
from hypothesis import given
from hypothesis import strategies as st


def hit(path: str, score: float) -> Hit:
    return Hit(StoredChunk(1, 1, path, "python", 1, 2, "f", "function", ("f",), b""), score)


@pytest.mark.parametrize(
    ("tokens", "most", "wanted"),
    [(0, 60, 4), (1_500, 60, 6), (6_000, 60, 14), (30_000, 60, 54), (1_000_000, 60, 60), (6_000, 2, 2)],
)
def test_how_many_hits_a_context_is_given(tokens: int, most: int, wanted: int) -> None:
    assert hits_wanted(tokens, most) == wanted


@given(st.integers(0, 200_000), st.integers(0, 50_000), st.integers(0, 100))
def test_a_larger_context_has_room_for_each_further_hit(tokens: int, more: int, most: int) -> None:
    further = hits_wanted(tokens + more, most) - hits_wanted(tokens, most)
    assert further >= 0
    assert further * LEAST_TOKENS <= more + TOKENS_PER_HIT
    assert hits_wanted(tokens, most) >= min(HITS_MIN, most)


@given(st.integers(0, 60), st.integers(0, 200_000), st.integers(0, 50_000))
def test_a_larger_context_cuts_no_hit_shorter(position: int, tokens: int, more: int) -> None:
    assert hit_characters(position, tokens, 40) <= hit_characters(position, tokens + more, 40)
    assert hit_characters(position + 1, tokens, 40) <= hit_characters(position, tokens, 40)


def test_a_further_hit_of_a_folder_is_worth_less() -> None:
    hits = [hit("a/x.py", 0.8), hit("a/y.py", 0.8), hit("b/z.py", 0.8), hit("a/w.py", 0.5)]
    assert hit_values(hits) == pytest.approx(
        [0.8, 0.8 * FOLDER_DECAY, 0.8, 0.5 * FOLDER_DECAY**2], abs=0.0001
    )
    assert hit_values(hits[:2]) == hit_values(hits)[:2]
    assert hit_values([]) == []


def test_few_hits_may_have_all_the_room() -> None:
    assert hit_characters(0, 6_000, 1) == 24_000
    assert hit_characters(1, 6_000, 2) == 12_000
    assert hit_characters(3, 6_000, 14) == 3_000
