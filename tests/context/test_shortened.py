"""What doesn't fit is shortened by what it is: code by definitions, documents by what is near the prompt."""

from __future__ import annotations

from foveal.daemon.context.excerpt import FileSource
from foveal.daemon.context.shortened import (
    is_document,
    left_out_note,
    shorten,
    shorten_definition,
    shorten_text,
)
from foveal.daemon.languages.shared.parse import parse_source
from hypothesis import given
from hypothesis import strategies as st

CODE = "".join(f"def f{n}(a):\n    b = a + {n}\n    c = b * 2\n    return c\n\n\n" for n in range(60))
PROSE = "# Shop\n\n" + "\n\n".join(
    f"## Part {n}\n\nThis part is about {'refunds' if n == 17 else 'parcels'}. It says little."
    for n in range(40)
)


def source(path: str, text: str, language: str) -> FileSource:
    return FileSource(path, text, language, tuple(parse_source(text.encode(), language).symbols))


def test_code_is_shown_by_whole_definitions_and_signatures() -> None:
    shown = shorten(source("a.py", CODE, "python"), ("f7",), {"f33"}, 3_000)
    assert len(shown.text) <= 3_000
    assert "return c" in shown.text.partition("def f33(a)")[2].partition("def f34(a)")[0]
    assert all(f"def f{n}(a)" in shown.text for n in range(60))
    assert shown.left_out > 50


def test_a_document_is_shown_by_what_is_near_the_prompt() -> None:
    one = source("README.md", PROSE, "markdown")
    assert is_document(one)
    shown = shorten(one, ("refunds",), (), 400)
    assert len(shown.text) <= 400
    assert "This part is about refunds." in shown.text
    assert "# Shop" in shown.text
    assert shorten(one, ("refunds",), (), 400) == shown


def test_a_definition_keeps_its_line_numbers() -> None:
    one = source("a.py", CODE, "python")
    symbol = next(each for each in one.symbols if each.name == "f33")
    shown = shorten_definition(one, symbol, ("c",), 60)
    assert 0 < len(shown.text) <= 60
    assert shown.left_out > 0
    for row in shown.text.split("\n"):
        number, _, line = row.strip().partition("  ")
        if number.isdigit():
            assert one.lines[int(number) - 1].strip() == line.strip()
            assert symbol.start_line <= int(number) <= symbol.end_line


@given(st.text(max_size=500), st.integers(0, 300), st.lists(st.text(max_size=10), max_size=3))
def test_a_text_is_never_longer_than_its_room(text: str, characters: int, words: list[str]) -> None:
    assert len(shorten_text(text, "", words, characters).text) <= characters
    assert shorten_text(text, "", words, len(text)).text == text


def test_a_note_counts_what_is_left_out() -> None:
    assert left_out_note(1, "read it") == "[COMPRESSED] 1 line left out: read it"
    assert left_out_note(1_200, "read it") == "[COMPRESSED] 1,200 lines left out: read it"
