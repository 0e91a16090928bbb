"""Slices: tokens are counted as documented, and a text is cut at whole lines within its characters."""

from __future__ import annotations

import pytest
from foveal.daemon.context.slices import Form, count_tokens, cut_lines, fixed
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é" * 8, 2)])
def test_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.text(), st.text())
def test_the_tokens_of_a_whole_are_at_most_those_of_its_parts(one: str, other: str) -> None:
    assert count_tokens(one + other) <= count_tokens(one) + count_tokens(other)


def test_a_form_knows_its_size() -> None:
    form = Form("größe€")
    assert (form.tokens, form.bytes, form.compressed) == (2, 10, False)


def test_a_lone_surrogate_has_a_size_too() -> None:
    assert Form("a\ud800").bytes == 2


def test_a_fixed_form_never_grows() -> None:
    form, grow, full = fixed(Form("abc"))
    assert grow(0) is grow(1_000) is form
    assert full == 3


@pytest.mark.parametrize(
    ("text", "characters", "kept", "left_out"),
    [
        ("ab\ncd\n", 6, "ab\ncd\n", 0),
        ("ab\ncd\n", 5, "ab\ncd", 0),
        ("ab\ncd\nef", 6, "ab\ncd\n", 1),
        ("ab\ncd\nef", 5, "ab\ncd", 1),
        ("ab\ncd\nef", 4, "ab\n", 2),
        ("ab\ncd\nef", 3, "ab\n", 2),
        ("ab\ncd\nef\n", 2, "ab", 2),
        ("abcdef\nx", 3, "abc", 2),
        ("abcdef", 3, "abc", 1),
        ("abcdef", 0, "", 1),
        ("abcdef", -5, "", 1),
        ("", 0, "", 0),
    ],
)
def test_a_text_is_cut_after_a_whole_line(text: str, characters: int, kept: str, left_out: int) -> None:
    assert cut_lines(text, characters) == (kept, left_out)


@given(st.text(alphabet="ab\n", max_size=60), st.integers(-2, 70))
def test_a_cut_text_is_a_beginning_that_fits(text: str, characters: int) -> None:
    kept, left_out = cut_lines(text, characters)
    assert text.startswith(kept)
    assert len(kept) <= max(characters, 0)
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    whole = sum(kept.startswith(text[:end]) for end in _line_ends(text))
    assert left_out == lines - whole


def _line_ends(text: str) -> list[int]:
    """Return where each line ends, without its line feed."""
    ends = [index for index, character in enumerate(text) if character == "\n"]
    return ends if not text or text.endswith("\n") else [*ends, len(text)]
