"""An excerpt never exceeds its characters, and every line that it numbers stands there in the file."""

from __future__ import annotations

import textwrap

from foveal.daemon.context.excerpt import (
    FileSource,
    fenced,
    is_document,
    outline,
    shorten,
    shorten_definition,
    shorten_text,
)
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.project.service import split_lines
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.properties import examples


def source_of(text: str) -> FileSource:
    text = textwrap.dedent(text).removeprefix("\n")
    return FileSource(
        "a.py",
        text,
        "python",
        parse_source(text.encode(), "python").symbols,
    )


def show(source: FileSource, characters: int = 100_000, words: str = "", wanted: str = "") -> tuple[str, int]:
    shown = shorten(source, words.split(), frozenset(wanted.split()), characters)
    return shown.text, shown.left_out_lines


# Sources of every shape: nested, decorated, commented, several definitions on a line, broken


@st.composite
def arbitrary_sources(draw: st.DrawFn) -> FileSource:
    """Lines of anything, with definitions wherever their lines are in order."""
    line = st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=12)
    lines = draw(st.lists(line, min_size=1, max_size=25))
    starts = sorted(draw(st.lists(st.integers(1, len(lines)), max_size=12)))
    symbols = [
        Symbol(
            name=f"n{index}",
            kind=draw(st.sampled_from(["function", "class", "section", "variable"])),
            start_line=start,
            end_line=draw(st.integers(start, len(lines))),
            signature=draw(st.sampled_from([lines[start - 1], lines[start - 1][:3]])),
            doc=draw(st.sampled_from(["", "What it does."])),
            depth=draw(st.integers(0, 3)),
        )
        for index, start in enumerate(starts)
    ]
    text = "\n".join(lines)
    count = len(split_lines(text))
    return FileSource("a", text, "text", tuple(one for one in symbols if one.end_line <= count))


def source_with_definition(lines: list[str], start: int, end: int, signature: str) -> FileSource:
    """Give a file whose definition was read from another version of it."""
    return FileSource(
        "a", "\n".join(lines), "text", (Symbol("n1", "function", start, end, signature, "", 0),)
    )


BLANK_HEAD = source_with_definition(["a b c", "", "", "d", *["x = 1 + 2 + 3"] * 7], 2, 4, "")
BLANK_SIGNATURE = source_with_definition(["a", "   ", *["x = 1 + 2 + 3"] * 7], 1, 9, "   ")


@given(arbitrary_sources(), st.integers(-1, 900), st.sampled_from(["", "alpha", "n1"]))
@example(BLANK_HEAD, 80, "n1")
@example(BLANK_SIGNATURE, 80, "n1")
@settings(max_examples=examples(300))
def test_shortened_file_never_exceeds_its_characters(source: FileSource, characters: int, word: str) -> None:
    text, left_out = show(source, characters, word, wanted=word)
    assert len(text) <= max(characters, 0)
    assert 0 <= left_out <= sum(bool(line.strip()) for line in source.lines)
    assert show(source, characters, word, wanted=word) == (text, left_out)


# What a shortened file shows


SHOP = """
    \"\"\"A shop.\"\"\"

    import os
    from shop import till

    LIMIT = 10


    class Shop:
        \"\"\"Sells things.\"\"\"

        open = True

        def sell(self, thing):
            \"\"\"Sell one thing.\"\"\"
            till.add(thing)
            return thing.price

        @property
        def stock(self):
            return sum(self.shelves)


    # Counts.
    def count(things):
        def each(thing):
            return 1

        return sum(map(each, things))
"""


def test_nested_member_is_shown_below_its_class() -> None:
    text, _ = show(source_of(SHOP), 260, words="sell", wanted="Shop.sell")
    assert "till.add(thing)" in text
    assert " 9  class Shop:" in text


def test_empty_file_stays_empty() -> None:
    assert show(FileSource("a", "", "text")) == ("", 0)


# The parts


@given(st.text())
def test_a_fence_survives_any_text(text: str) -> None:
    block = fenced(text, "text").split("\n")
    fence = block[0].removesuffix("text")
    assert set(fence) == {"`"}
    assert len(fence) >= 3
    assert block[-2:] == [fence, ""]
    inner = block[1:-2]
    assert "\n".join(inner) == text.removesuffix("\n")
    assert not any(fence in line for line in inner)


def test_an_outline_lists_signatures_on_one_line_each() -> None:
    source = source_of(SHOP.replace("(self, thing)", "(\n            self,\n            thing,\n        )"))
    assert outline(source.symbols, "python", docs=True).split("\n")[1:5] == [
        " 9  class Shop:",
        "        # Sells things.",
        "14      def sell(self, thing):",
        "            # Sell one thing.",
    ]
    assert outline(source.symbols, "python", docs=False, depth=0).split("\n") == [
        " 6  LIMIT = 10",
        " 9  class Shop:",
        "28  def count(things):",
    ]


def test_a_signature_with_a_comment_in_it_keeps_its_lines() -> None:
    source = source_of("def f(\n    a,  # the first\n    b,\n):\n    pass\n")
    assert "# the first\n" in outline(source.symbols, "python", docs=False)


CODE = "".join(f"def f{n}(a):\n    b = a + {n}\n    c = b * 2\n    return c\n\n\n" for n in range(60))
PROSE = "# Shop\n\n" + "\n\n".join(
    f"## Part {n}\n\nThis part is about {'refunds' if n == 17 else 'parcels'}. It says little."
    for n in range(40)
)


def source(path: str, text: str, language: str) -> FileSource:
    return FileSource(path, text, language, tuple(parse_source(text.encode(), language).symbols))


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
    assert shown.left_out_lines > 0
    for row in shown.text.split("\n"):
        number, _, line = row.strip().partition("  ")
        if number.isdigit():
            assert one.lines[int(number) - 1].strip() == line.strip()
            assert symbol.start_line <= int(number) <= symbol.end_line


@given(st.text(max_size=500), st.integers(0, 300), st.lists(st.text(max_size=10), max_size=3))
def test_a_text_is_never_longer_than_its_room(text: str, characters: int, words: list[str]) -> None:
    assert len(shorten_text(text, "", words, characters).text) <= characters
    assert shorten_text(text, "", words, len(text)).text == text
