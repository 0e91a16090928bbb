"""Tokens are estimated as documented, and counted exactly only where that is wanted and installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.context import tokens as token_counters
from foveal.daemon.context.tokens import (
    CACHE_CHARACTERS,
    ESTIMATE,
    TokenCounter,
    counter_of,
    vocabulary_of,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 8, 2)])
def test_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert ESTIMATE.count(text) == tokens


@given(st.text(), st.text())
def test_the_tokens_of_a_whole_are_at_most_those_of_its_parts(one: str, other: str) -> None:
    assert ESTIMATE.count(one + other) <= ESTIMATE.count(one) + ESTIMATE.count(other)


def test_the_estimate_is_taken_unless_another_is_wanted() -> None:
    assert counter_of("estimate", "gpt-4o") == (ESTIMATE, "")


def test_without_the_package_tokens_are_estimated_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    token_counters._counter.cache_clear()
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    counter, problem = counter_of("exact", "")
    assert counter is ESTIMATE
    assert "foveal[exact]" in problem


@pytest.fixture(scope="module")
def counter() -> Iterator[TokenCounter]:
    """Give the counter, and forget its vocabulary of 140 MB at last."""
    yield counter_of("exact", "")[0]
    token_counters._counter.cache_clear()


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("", "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("GPT-4o", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("openai/gpt-3.5-turbo", "cl100k_base"),
        ("claude-sonnet", "o200k_base"),
    ],
)
def test_a_model_has_its_vocabulary(model: str, vocabulary: str) -> None:
    assert vocabulary_of(model) == vocabulary


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("hello world", 2), ("tokenization", 2), ("def f():\n    return 1\n", 8)]
)
def test_known_texts_have_their_tokens(counter: TokenCounter, text: str, tokens: int) -> None:
    assert counter.count(text) == tokens


def test_marks_of_special_tokens_and_lone_surrogates_are_text(counter: TokenCounter) -> None:
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("a\ud800b") > 0


def test_texts_beyond_the_limits_of_the_package_are_counted(counter: TokenCounter) -> None:
    text = Path(__file__).read_text(encoding="utf-8") * 400
    assert len(text) > 1_000_000
    whole, once = counter.count(text), counter.count(text[: len(text) // 400])
    assert 400 * once * 0.99 < whole < 400 * once * 1.01
    assert counter.count("a" * 2_000_000) > 0


def test_a_text_is_counted_once_and_the_memory_for_that_is_bounded() -> None:
    calls: list[int] = []

    def encode(text: str) -> list[int]:
        calls.append(len(text))
        return [0]

    counter = TokenCounter("v", encode)
    for _ in range(3):
        assert counter.count("abc") == 1
    assert calls == [3]
    for number in range(12):
        counter.count(f"{number:02}" * (CACHE_CHARACTERS // 20))
    assert counter._counts.size <= CACHE_CHARACTERS
