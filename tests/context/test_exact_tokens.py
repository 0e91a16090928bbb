"""Exact counts are those of the model's vocabulary, for texts of any length and content; once for each text."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.context.exact_tokens import (
    CACHE_CHARACTERS,
    PIECE_CHARACTERS,
    ExactCounter,
    exact_counter,
    pieces,
    vocabulary_of,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def counter() -> ExactCounter:
    pytest.importorskip("bpe_openai", reason="the extra `exact` isn't installed")
    return exact_counter("")


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
def test_known_texts_have_their_tokens(counter: ExactCounter, text: str, tokens: int) -> None:
    assert counter.count(text) == tokens


def test_marks_of_special_tokens_and_lone_surrogates_are_text(counter: ExactCounter) -> None:
    assert counter.count("<|endoftext|>") > 1
    assert counter.count("a\ud800b") > 0


def test_texts_beyond_the_limits_of_the_package_are_counted(counter: ExactCounter) -> None:
    text = Path(__file__).read_text(encoding="utf-8") * 400
    assert len(text) > 1_000_000
    whole, once = counter.count(text), counter.count(text[: len(text) // 400])
    assert 400 * once * 0.99 < whole < 400 * once * 1.01
    assert counter.count("a" * 2_000_000) > 0


@given(st.text(alphabet="ab\n ", max_size=400), st.integers(1, 50))
def test_pieces_make_the_text(text: str, times: int) -> None:
    long = text * times * (PIECE_CHARACTERS // 2_000)
    found = pieces(long)
    assert "".join(found) == long
    assert all(len(one) <= PIECE_CHARACTERS for one in found)


def test_a_text_is_counted_once_and_the_memory_for_that_is_bounded() -> None:
    calls: list[int] = []

    def encode(text: str) -> list[int]:
        calls.append(len(text))
        return [0]

    counter = ExactCounter("v", encode)
    for _ in range(3):
        assert counter.count("abc") == 1
    assert calls == [3]
    for number in range(12):
        counter.count(f"{number:02}" * (CACHE_CHARACTERS // 20))
    assert counter._held <= CACHE_CHARACTERS
