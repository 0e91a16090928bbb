"""Texts that are shown can't fake or hide anything, and have an end."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.rules.items import has_harmful, one_line, some_lines


def test_harmful_characters_are_found() -> None:
    def check(text: str, expected: bool) -> None:
        assert has_harmful(text) is expected

    check("plain", False)
    check("naïve 参考 👩‍💻", False)
    check("Screenshot 10.30\u202fAM", False)  # a space that macOS puts into names
    check("a\nb\tc", False)
    check("\x1b[2J", True)
    check("a\rb", True)
    check("a\x85b", True)
    check("a\u2028b", True)
    check("a\u202eb", True)
    check("a\udcffb", True)
    check("a\U000e0041", True)


def test_a_line_is_made_of_any_text() -> None:
    def check(text: str, expected: str) -> None:
        assert one_line("name", text, 100) == expected

    check("", "")
    check("  a  b\n\tc ", "a b c")
    check("a\r\nb\u2028c", "a b c")
    check("a\x1b[2Jb", "a\ufffd[2Jb")
    check("\ud800", "\ufffd")


def test_lines_are_kept_where_there_may_be_some() -> None:
    def check(text: str, expected: str) -> None:
        assert some_lines("env_hint", text, 100) == expected

    check("\n A=1  \r\n\tB=2\n\n", "A=1\n\tB=2")
    check("A=1\u2028B=\x00", "A=1\nB=\ufffd")
    check(" \n ", "")


def test_a_text_that_is_too_long_is_refused_by_field() -> None:
    assert one_line("name", "x" * 10 + " " * 90, 10) == "x" * 10
    for read in (one_line, some_lines):
        with pytest.raises(InvalidRequest, match="name is longer than 10 characters") as raised:
            read("name", "x" * 11, 10)
        assert raised.value.field == "name"
