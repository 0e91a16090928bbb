"""The tables of words are sound: each word once, in lower case, in no table of another meaning."""

from __future__ import annotations

from foveal.daemon.search.question_words import (
    ASKING,
    BEFORE_KIND,
    CHANGING,
    KINDS,
    STOP_WORDS,
    SURELY_CHANGING,
)
from foveal.daemon.search.relation_cues import _TABLE, CUES


def test_each_word_stands_in_one_row() -> None:
    rows = _TABLE.strip().replace("\n  ", " ").split("\n")
    listed = [word for row in rows for word in row.partition(":")[2].split()]
    assert sorted(listed) == sorted(CUES)


def test_words_are_in_lower_case() -> None:
    for table in (CUES, ASKING, CHANGING, KINDS, STOP_WORDS):
        assert all(word == word.lower() for word in table)


def test_no_cue_asks_or_is_a_kind() -> None:
    assert not set(CUES) & ASKING
    assert not set(CUES) & KINDS


def test_the_narrower_tables_of_commands_are_part_of_the_whole() -> None:
    assert SURELY_CHANGING <= CHANGING
    assert BEFORE_KIND <= CHANGING
