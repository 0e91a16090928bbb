"""An excerpt never exceeds its characters, and every line that it numbers stands there in the file."""

from __future__ import annotations

import re
import textwrap

import pytest
from foveal.daemon.context.division import numbered, split_lines
from foveal.daemon.context.excerpt import (
    FileSource,
    excerpt,
    fenced,
    is_document,
    left_out_note,
    outline,
    shorten,
    shorten_definition,
    shorten_text,
)
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Symbol
from hypothesis import given, settings
from hypothesis import strategies as st

LANGUAGES = {"python": "python", "javascript": "javascript", "markdown": "markdown"}


def source_of(text: str, language: str = "python") -> FileSource:
    text = textwrap.dedent(text).removeprefix("\n")
    return FileSource(f"a.{language}", text, language, parse_source(text.encode(), language).symbols)


def show(source: FileSource, characters: int = 100_000, words: str = "", wanted: str = "") -> tuple[str, int]:
    return excerpt(source, frozenset(words.split()), frozenset(wanted.split()), characters)


def check_lines(source: FileSource, text: str) -> set[int]:
    """Check that each numbered line is, or is within, that line of the file; return the numbers."""
    found: list[int] = []
    for line in text.split("\n") if text else []:
        match = re.match(r" *(\d+)(?:  (.*))?\Z", line, re.DOTALL)
        if match is None:
            assert re.match(r" +(#|//) ", line), line
            continue
        number, shown = int(match[1]), match[2] or ""
        assert shown.strip().removesuffix("…") in source.lines[number - 1]
        found.append(number)
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
    language = draw(st.sampled_from(sorted(LANGUAGES)))
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


@given(st.one_of(sources(), arbitrary_sources()), st.integers(-1, 900), st.sampled_from(["", "alpha", "n1"]))
@settings(max_examples=400)
def test_an_excerpt_never_exceeds_its_characters(source: FileSource, characters: int, word: str) -> None:
    text, left_out = show(source, characters, word, wanted=word)
    assert len(text) <= max(characters, 0)
    assert 0 <= left_out <= sum(bool(line.strip()) for line in source.lines)
    assert show(source, characters, word, wanted=word) == (text, left_out)


@given(sources(), st.integers(0, 900), st.sampled_from(["", "alpha", "gamma"]))
@settings(max_examples=300)
def test_every_numbered_line_is_a_line_of_the_file(source: FileSource, characters: int, word: str) -> None:
    text, left_out = show(source, characters, word)
    if text.endswith("…") and "\n" not in text:
        return  # not even one line fits
    numbers = check_lines(source, text)
    blank = {number for number, line in enumerate(source.lines, 1) if not line.strip()}
    # A head may show a part of its line only, which then counts as left out.
    assert left_out >= len(source.lines) - len(numbers | blank)


@given(sources())
def test_with_room_enough_every_definition_is_whole(source: FileSource) -> None:
    text, _ = show(source)
    numbers = check_lines(source, text)
    for symbol in source.symbols:
        assert set(range(symbol.start_line, symbol.end_line + 1)) <= numbers


# What an excerpt shows


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


def test_a_file_with_room_is_shown_with_what_stands_between_the_definitions() -> None:
    source = source_of(SHOP)
    text, left_out = show(source)
    assert left_out == 0
    assert check_lines(source, text) >= {1, 3, 4, 6, 9, 10, 12, 19, 24, 25}


def test_without_room_for_bodies_there_are_heads_with_their_numbers() -> None:
    text, left_out = show(source_of(SHOP), 150)
    assert text.split("\n") == [
        " 6  LIMIT = 10",
        " 9  class Shop:",
        "14      def sell(self, thing):",
        "20      def stock(self):",
        "25  def count(things):",
        "26      def each(thing):",
    ]
    assert left_out == 13


def test_the_number_of_a_decorated_head_is_that_of_the_head() -> None:
    text, _ = show(source_of("@a\n@b(\n  1)\ndef f(x):\n" + "    pass\n" * 30), 40)
    assert text == " 4  def f(x):"


def test_what_the_words_name_is_shown_first() -> None:
    source = source_of("".join(f"def {name}():\n" + "    work()\n" * 8 for name in ("one", "two", "three")))
    for name in ("one", "two", "three"):
        text, _ = show(source, 220, words=name)
        assert f"def {name}():\n" in text
        assert text.count("work()") == 8


@pytest.mark.parametrize("word", ["expire", "expires", "expired", "expiring", "expiry", "expiration"])
def test_a_word_is_found_whatever_its_ending(word: str) -> None:
    for name in ("set_expiry", "expiration", "Expired"):
        played = "def f():\n" + "    play()\n" * 9
        text, _ = show(source_of(f"{played}def {name}():\n" + "    work()\n" * 9), 190, word)
        assert text.count("work()") == 9


def test_a_word_that_few_definitions_hold_counts_more() -> None:
    common = "".join(f"def session_{index}():\n" + "    play()\n" * 5 for index in range(9))
    text, _ = show(source_of(f"{common}def expire():\n" + "    work()\n" * 5), 420, words="session expire")
    assert text.count("work()") == 5


def test_the_members_of_a_class_are_not_ranked_by_its_name() -> None:
    members = "".join(f"    def m{index}(self):\n" + "        pass\n" * 9 for index in range(4))
    source = source_of(f"class Session:\n{members}    def end(self, session):\n        session.stop()\n")
    text, _ = show(source, 220, words="session")
    assert "session.stop()" in text


def test_a_docstring_that_is_shown_is_not_summed_up_too() -> None:
    source = source_of(SHOP)
    text, _ = show(source, 300, words="open")
    assert "open = True" in text
    assert text.count("Sells things.") == 1


def test_what_is_wanted_comes_before_what_the_words_name() -> None:
    source = source_of("".join(f"def {name}():\n" + "    work()\n" * 8 for name in ("one", "two")))
    text, _ = show(source, 200, words="one", wanted="two")
    assert check_lines(source, text) == {1, *range(10, 19)}


def test_a_nested_definition_can_be_shown_without_what_is_around_it() -> None:
    source = source_of(SHOP)
    text, _ = show(source, 260, words="sell", wanted="Shop.sell")
    assert "till.add(thing)" in text
    assert " 9  class Shop:" in text
    assert "shelves" not in text


def test_a_function_is_not_torn_around_the_functions_in_it() -> None:
    source = source_of("def f():\n    value = 1\n    def g():\n        pass\n" + "    y = 2\n" * 50)
    text, _ = show(source, 150)
    assert check_lines(source, text) == {1, 3, 4}


def test_showing_what_is_around_takes_the_place_of_what_is_inside() -> None:
    source = source_of(
        "class A:\n    def f(self):\n        a()\n        b()\n\n    def g(self):\n        c()\n"
    )
    text, left_out = show(source, wanted="A.f A")
    assert text.split("\n") == numbered(source.lines, 1, 1)
    assert left_out == 0


def test_two_definitions_that_share_a_line_are_both_there() -> None:
    source = source_of("function f() {\n  a()\n} function g() {\n  b()\n}\n", "javascript")
    assert show(source) == ("\n".join(numbered(source.lines, 1, 1)), 0)


def test_a_comment_belongs_to_the_definition_below_it() -> None:
    source = source_of("/**\n * Greets.\n */\n\nfunction greet() {\n  hi()\n}\n" + "x()\n" * 90, "javascript")
    text, _ = show(source, 120, wanted="greet")
    assert check_lines(source, text) == set(range(1, 8))


def test_of_too_many_definitions_the_best_ranked_have_their_heads() -> None:
    source = source_of("".join(f"def function_{i}():\n    pass\n" for i in range(1_000)))
    text, left_out = show(source, 300, words="function_777")
    assert "def function_777():" in text
    assert "1  def function_0():" in text
    assert left_out == 2_000 - len(check_lines(source, text))


def test_a_file_without_definitions_is_cut_after_a_line() -> None:
    source = FileSource("notes.txt", "one\ntwo\n\nthree\n", "text")
    assert show(source, 15) == ("1  one\n2  two\n3", 1)
    assert show(source) == ("1  one\n2  two\n3\n4  three", 0)


@pytest.mark.parametrize(("characters", "text"), [(8, "1  aaaa…"), (4, "1  …"), (1, "…"), (0, ""), (-3, "")])
def test_a_line_that_is_too_long_is_cut_inside_and_counts_as_left_out(characters: int, text: str) -> None:
    assert show(FileSource("a", "a" * 99, "text"), characters) == (text, 1)


def test_a_minified_file_shows_heads_and_says_that_the_line_is_left_out() -> None:
    source = source_of("".join(f"function f{i}(a){{return a}};" for i in range(3_000)), "javascript")
    text, left_out = show(source, 400)
    assert text.startswith("1  function f0(a)")
    assert left_out == 1


def test_an_empty_file_has_an_empty_excerpt() -> None:
    assert show(FileSource("a", "", "text")) == ("", 0)


def test_sections_are_shown_where_their_text_has_the_words() -> None:
    body = "Nothing of note.\n" * 5
    source = source_of(
        f"# Guide\n\nIntro.\n\n## Start\n\n{body}\n## Stop\n\nPull the plug.\n{body}", "markdown"
    )
    text, _ = show(source, 200, words="plug")
    assert "Pull the plug." in text
    assert "## Start" in text


def test_thousands_of_nested_or_crowded_definitions_are_no_problem() -> None:
    nested = tuple(Symbol(f"n{i}", "class", i, 6_001 - i, "x", "", i) for i in range(1, 3_000))
    crowded = tuple(Symbol(f"n{i}", "function", 1, 1, "x", "", 0) for i in range(3_000))
    for symbols in (nested, crowded):
        text, _ = show(FileSource("a", "x\n" * 6_001, "text", symbols), 2_000, words="n7")
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


def test_numbers_are_aligned_and_lines_kept_as_they_are() -> None:
    assert numbered(["a  ", "", "\tb"], 9, 3) == ["  9  a  ", " 10", " 11  \tb"]


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


def test_an_outline_of_nothing_is_empty() -> None:
    assert outline((), "python", docs=True) == ""


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
