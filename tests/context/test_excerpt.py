"""An excerpt never exceeds its characters, and every line that it numbers stands there in the file."""

from __future__ import annotations

import re
import textwrap

import pytest
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
from foveal.daemon.project.content import split_lines
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.properties import examples

EXTENSIONS = {"python": ".py", "javascript": ".js", "markdown": ".md"}


def source_of(text: str, language: str = "python") -> FileSource:
    text = textwrap.dedent(text).removeprefix("\n")
    return FileSource(
        f"a{EXTENSIONS[language]}", text, language, parse_source(text.encode(), language).symbols
    )


def show(source: FileSource, characters: int = 100_000, words: str = "", wanted: str = "") -> tuple[str, int]:
    shown = shorten(source, words.split(), frozenset(wanted.split()), characters)
    return shown.text, shown.left_out


def check_lines(source: FileSource, text: str) -> set[int]:
    """Check that each numbered line is that line of the file; return the numbers."""
    found = []
    for line in text.split("\n"):
        match = re.fullmatch(r" *(\d+)  (.*)", line)
        if match is None:
            assert re.fullmatch(r" *…  [\d,]+ lines?", line), line
            continue
        assert match[2] == source.lines[int(match[1]) - 1]
        found.append(int(match[1]))
    assert found == sorted(found)
    return set(found)


# Sources of every shape: nested, decorated, commented, several definitions on a line, broken


@st.composite
def python_sources(draw: st.DrawFn) -> str:
    def items(depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(draw(st.integers(0 if depth else 1, 4))):
            name = draw(st.sampled_from(["alpha", "beta", "gamma"]))
            kind = draw(st.sampled_from(["def", "class", "line", "blank", "comment", "oneline"]))
            decorator = ["@decorate(", "    1)"] if draw(st.booleans()) else []
            if kind in {"def", "class"}:
                head = f"def {name}(self,\n    other):" if kind == "def" else f"class {name.title()}:"
                doc = [f'    """Do {name} things."""'] if draw(st.booleans()) else []
                body = items(depth + 1) if depth < 3 else []
                lines += [*decorator, *head.split("\n"), *doc, *(f"    {line}" for line in body), "    pass"]
            else:
                lines += {
                    "line": [f"{name} = [", "    1,", "]"],
                    "blank": ["", ""],
                    "comment": ["# about what follows"],
                    "oneline": [f"def {name}(): return 1; " * draw(st.integers(0, 1)) + "x = 1"],
                }[kind]
        return lines

    return "\n".join(items(0)) + draw(st.sampled_from(["", "\n", "\n\n", "\n("]))


@st.composite
def sources(draw: st.DrawFn) -> FileSource:
    if draw(st.booleans()):
        return source_of(draw(python_sources()))
    language = draw(st.sampled_from(sorted(EXTENSIONS)))
    words = [
        "function f(a){",
        "}",
        "class A {",
        "m() {}",
        "# T\n",
        "## S\n",
        "text ",
        "def g():\n  ",
        "\n",
        ";",
    ]
    return source_of("".join(draw(st.lists(st.sampled_from([*words, "é", "\r\n", "\t"])))), language)


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


@given(st.one_of(sources(), arbitrary_sources()), st.integers(-1, 900), st.sampled_from(["", "alpha", "n1"]))
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


@pytest.mark.parametrize("word", ["expire", "expires", "expired", "expiring", "expiration"])
def test_word_is_found_whatever_its_ending(word: str) -> None:
    for name in ("set_expiry", "expiration", "Expired"):
        played = "def f():\n" + "    play()\n" * 9
        text, _ = show(source_of(f"{played}def {name}():\n" + "    work()\n" * 9), 190, word)
        assert text.count("work()") > text.count("play()")


def test_wanted_definition_comes_before_what_the_words_name() -> None:
    body = "    work()\n" * 20
    source = source_of(f"def one():\n{body}def two():\n{body}")
    text, _ = show(source, 250, words="one", wanted="two")
    numbers = check_lines(source, text)
    assert sum(number > 21 for number in numbers) > sum(number <= 21 for number in numbers)


def test_nested_member_is_shown_below_its_class() -> None:
    text, _ = show(source_of(SHOP), 260, words="sell", wanted="Shop.sell")
    assert "till.add(thing)" in text
    assert " 9  class Shop:" in text


def test_minified_file_is_cut_and_counts_as_left_out() -> None:
    source = source_of("".join(f"function f{i}(a){{return a}};" for i in range(3_000)), "javascript")
    text, left_out = show(source, 400)
    assert text.startswith("function f0(a)")
    assert left_out == 1


def test_empty_file_stays_empty() -> None:
    assert show(FileSource("a", "", "text")) == ("", 0)


def test_thousands_of_nested_or_crowded_definitions_are_no_problem() -> None:
    nested = tuple(Symbol(f"n{i}", "class", i, 6_001 - i, "x", "", i) for i in range(1, 3_000))
    crowded = tuple(Symbol(f"n{i}", "function", 1, 1, "x", "", 0) for i in range(3_000))
    for symbols in (nested, crowded):
        text, _ = show(FileSource("a.py", "x\n" * 6_001, "python", symbols), 2_000, words="n7")
        assert 0 < len(text) <= 2_000


# The parts


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\nb\n\n", ["a", "b", ""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\x0bc\x0cd\u2028e\x85f\n", ["a\rb\x0bc\x0cd\u2028e\x85f"]),
    ],
)
def test_lines_are_those_that_the_parser_counts(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines
    assert parse_source(text.encode(), "python").lines == len(lines)


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


@given(st.text(alphabet="`~\n a", max_size=30))
def test_a_fence_survives_texts_of_fences(text: str) -> None:
    fence = fenced(text, "").split("\n", 1)[0]
    assert fence not in text


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
