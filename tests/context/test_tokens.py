"""Tokens are estimated as documented, and counted exactly only where that is wanted and installed."""

from __future__ import annotations

import sys

import pytest
from foveal.daemon.context.tokens import ESTIMATE, counter_of, estimate
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 8, 2)])
def test_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert ESTIMATE.count(text) == estimate(len(text)) == tokens


@given(st.text(), st.text())
def test_the_tokens_of_a_whole_are_at_most_those_of_its_parts(one: str, other: str) -> None:
    assert ESTIMATE.count(one + other) <= ESTIMATE.count(one) + ESTIMATE.count(other)


@given(st.integers(0, 1_000_000))
def test_a_text_of_so_many_characters_has_the_tokens(tokens: int) -> None:
    assert estimate(ESTIMATE.characters(tokens)) == tokens


def test_the_estimate_is_taken_unless_another_is_wanted() -> None:
    assert counter_of("estimate", "gpt-4o") == (ESTIMATE, "")


def test_without_the_package_tokens_are_estimated_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from foveal.daemon.context import exact_tokens

    exact_tokens._counter.cache_clear()
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    counter, problem = counter_of("exact", "")
    assert counter is ESTIMATE
    assert "foveal[exact]" in problem
