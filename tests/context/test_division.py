"""The units that hold a word are found by one search, and are those in whose text it stands."""

from __future__ import annotations

from foveal.daemon.context.division import Division
from foveal.daemon.languages.shared.parse import parse_source
from hypothesis import given
from hypothesis import strategies as st

LETTERS = "ab\0\n"


@given(st.lists(st.text(LETTERS, max_size=6), max_size=6), st.text(LETTERS, max_size=3))
def test_a_word_is_found_in_the_units_that_hold_it(texts: list[str], word: str) -> None:
    division = Division.__new__(Division)
    division.search_in(texts)
    assert list(division.holders(word)) == [index for index, text in enumerate(texts) if word in text]


def test_lines_and_sizes_are_those_of_the_file() -> None:
    text = "import os\r\n\r\n\r\n# first\r\ndef one():\r\n    return os\r\n"
    division = Division(text, "python", parse_source(text.encode(), "python").symbols)
    assert (division.line_count, division.written_count) == (6, 4)
    assert list(division.written) == [0, 1, 0, 0, 1, 1, 1]
    assert [(unit.start, unit.end) for unit in division.units] == [(1, 1), (4, 6)]
    assert list(division.sizes) == [
        len("1  import os\n"),
        len("4  # first\n5  def one():\n6      return os\n"),
    ]
