"""Slices: a fixed one never grows, and a text is cut at whole lines within its characters."""

from __future__ import annotations

import pytest
from foveal.daemon.context.slices import Form, cut_lines, fixed
from hypothesis import given
from hypothesis import strategies as st


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
