"""The units that hold a word are found by one search, and are those in whose text it stands."""

from __future__ import annotations

from foveal.daemon.context.content import Content, Shown
from foveal.daemon.context.division import Division, Divisions
from foveal.daemon.context.excerpt import FileSource, excerpt
from foveal.daemon.core.system import Stamp
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Symbol
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


TEXT = "def one():\n    return 1\n\n\ndef other():\n    return 2\n"
LONGER = TEXT + "\n\ndef third():\n    return 3\n"


def symbols_of(text: str) -> tuple[Symbol, ...]:
    return parse_source(text.encode(), "python").symbols


def test_the_same_file_is_taken_apart_once() -> None:
    divisions = Divisions()
    first = divisions.of(TEXT, "python", symbols_of(TEXT), b"a")
    assert divisions.of(TEXT, "python", symbols_of(TEXT), b"a") is first
    assert [unit.symbol and unit.symbol.name for unit in first.units] == ["one", "other"]


def test_without_a_digest_nothing_is_kept() -> None:
    divisions = Divisions()
    first = divisions.of(TEXT, "python", symbols_of(TEXT), None)
    assert divisions.of(TEXT, "python", symbols_of(TEXT), None) is not first
    assert len(divisions) == 0


def test_definitions_that_the_index_read_anew_divide_the_file_anew() -> None:
    divisions = Divisions()
    divisions.of(TEXT, "python", symbols_of(TEXT)[:1], b"a")
    again = divisions.of(TEXT, "python", symbols_of(TEXT), b"a")
    assert again.symbols == symbols_of(TEXT)
    assert divisions.of(TEXT, "python", symbols_of(TEXT), b"a") is again
    assert (len(divisions), divisions.characters) == (1, len(TEXT))


def test_a_language_with_other_comments_divides_the_file_otherwise() -> None:
    divisions = Divisions()
    first = divisions.of(TEXT, "python", symbols_of(TEXT), b"a")
    assert divisions.of(TEXT, "script", symbols_of(TEXT), b"a") is not first


def test_the_least_recently_used_ones_are_forgotten() -> None:
    divisions = Divisions(most=2 * len(TEXT))
    first = divisions.of(TEXT, "python", (), b"a")
    divisions.of(TEXT, "python", (), b"b")
    assert divisions.of(TEXT, "python", (), b"a") is first
    divisions.of(TEXT, "python", (), b"c")
    assert divisions.of(TEXT, "python", (), b"a") is first
    assert (len(divisions), divisions.characters) == (2, 2 * len(TEXT))


def test_a_file_larger_than_all_room_is_not_kept() -> None:
    divisions = Divisions(most=len(TEXT))
    divisions.of(TEXT, "python", (), b"a")
    divisions.of(LONGER, "python", (), b"b")
    assert (len(divisions), divisions.characters) == (1, len(TEXT))


def test_an_excerpt_of_a_kept_division_is_that_of_the_file() -> None:
    def shown(digest: bytes | None, room: int, word: str) -> tuple[str, int]:
        source = FileSource("a.py", LONGER, "python", symbols_of(LONGER), digest=digest)
        return excerpt(source, (word,), (), room)

    for word in ("one", "third", ""):
        for room in (20, 60, 90, 120, 1_000):
            assert shown(b"a", room, word) == shown(b"a", room, word) == shown(None, room, word)


def test_a_content_that_is_masked_or_cut_has_no_digest_of_its_text() -> None:
    shown = Shown("/a.py", Stamp(1, 1, 1, 1), b"d", 1, racy=False)
    assert Content("x", shown).digest == b"d"
    assert Content("x", shown, masked=True).digest is None
    assert Content("x", shown, cut=True).digest is None
    assert Content("x", None).digest is None


def test_a_content_that_no_file_has_any_more_is_forgotten() -> None:
    divisions = Divisions()
    first = divisions.of(TEXT, "python", symbols_of(TEXT), b"a")
    divisions.forget(b"a")
    divisions.forget(b"never kept")
    assert (len(divisions), divisions.characters) == (0, 0)
    assert divisions.of(TEXT, "python", symbols_of(TEXT), b"a") is not first
