"""Words for changes, and for what they do, are told in all forms, and in other languages by their stems."""

from __future__ import annotations

import pytest
from foveal.daemon.search.question_words import is_breakage, is_change, is_connection


@pytest.mark.parametrize(
    ("word", "change", "breakage", "connection"),
    [
        ("renaming", True, False, False),
        ("muddy", False, False, False),
        ("break", True, True, False),
        ("reaches", False, False, True),
        ("connected", False, False, True),
        ("login", False, False, False),
        ("", False, False, False),
    ],
)
def test_words(word: str, change: bool, breakage: bool, connection: bool) -> None:
    assert (is_change(word), is_breakage(word), is_connection(word)) == (change, breakage, connection)
