"""A file's chunks are its definitions, sections and paragraphs: each line once, in order, of bounded size."""

from __future__ import annotations

from itertools import pairwise

import pytest
from foveal.daemon.index.chunks import (
    HEADER_NAMES,
    HEADER_PATH,
    LINE_PIECES,
    MAX_NAMES,
    Chunk,
    chunk_source,
    embedded_text,
    header,
    is_worth_embedding,
)
from foveal.daemon.index.divider import ALONE_CHARACTERS, MAX_CHARACTERS, MERGE_CHARACTERS
from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.source_text import clean_source
from foveal.daemon.project.service import kind_of_text
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples


def chunks_of(source: str | bytes, path: str = "a.py") -> tuple[Chunk, ...]:
    data = source.encode() if isinstance(source, str) else source
    language = language_of(path, data)
    return chunk_source(path, data, parse_source(data, language), language)


def check(path: str, source: str, *expected: str) -> None:
    """Check the chunks, written `first-last kind symbol`."""
    found = [
        f"{each.start_line}-{each.end_line} {each.kind} {each.symbol}".rstrip()
        for each in chunks_of(source, path)
    ]
    assert found == list(expected)


def body(size: int, indent: str = "    ") -> str:
    """Return statements of about so many characters."""
    return f"{indent}value = compute(value)\n" * (size // (len(indent) + 23) + 1)


def function(name: str, size: int, indent: str = "") -> str:
    return f"{indent}def {name}(value):\n{body(size, indent + '    ')}\n"


WHOLE = 1_000
SMALL = 150


def test_small_neighbours_are_merged() -> None:
    source = "class A:\n" + function("f", SMALL, "    ") + function("g", SMALL, "    ")
    check("a.py", source, "1-14 class A")
    assert chunks_of(source)[0].names == ("A", "A.f", "A.g")
    source = "class A:\n    x = 1\n\n" + "".join(
        function(f"f{number}", SMALL, "    ") for number in range(20)
    )
    chunks = chunks_of(source)
    assert all(len(each.text) <= MERGE_CHARACTERS for each in chunks)
    assert {each.symbol for each in chunks} <= {"A", *(f"A.f{number}" for number in range(20))}
    assert len(chunks) < 15
    for number in range(20):
        assert sum(f"A.f{number}" in each.names and f"def f{number}(" in each.text for each in chunks) == 1


def test_a_large_definition_is_divided_along_its_statements() -> None:
    loop = "    for item in value:\n" + body(400, "        ")
    source = "def f(value):\n    '''Doc.'''\n" + loop * 8
    chunks = chunks_of(source)
    assert len(chunks) > 1
    assert chunks[0].text.startswith("def f(value):\n    '''Doc.'''\n    for")
    assert all(each.text.startswith("    for item in value:") for each in chunks[1:])
    assert {(each.symbol, each.kind, each.names) for each in chunks} == {("f", "function", ("f",))}


@pytest.mark.parametrize(
    ("path", "above", "definition"),
    [
        ("a.py", "# why it is\n# so\n@first\n@second(1)\n", "def f():\n" + body(ALONE_CHARACTERS)),
        ("a.js", "/**\n * why\n */\n\n", "function f() {\n" + body(ALONE_CHARACTERS) + "}\n"),
        ("a.ts", "// why\n@D()\n", "export class A {\n  m() {\n" + body(ALONE_CHARACTERS) + "  }\n}\n"),
        ("a.go", "// F is\n// why\n", "func F() {\n" + body(ALONE_CHARACTERS) + "}\n"),
    ],
)  # fmt: skip
def test_a_definition_stays_with_what_stands_above_it(path: str, above: str, definition: str) -> None:
    text = above + definition.rstrip()
    source = "package a\n\n" * path.endswith(".go") + f"{text}\n\n{text.replace('f()', 'g()')}\n"
    assert text in {each.text for each in chunks_of(source, path)}


def test_sections_of_a_document() -> None:
    text = "Some words that stand here to be read by people. " * 15
    source = f"intro\n\n# Top\n\n{text}\n\n## Sub\n\n{text}\n\n## Small\n\nx\n\n## Tiny\n\ny\n"
    check("a.md", source, "1-1 text", "3-5 section Top", "7-9 section Top/Sub", "11-17 section Top")
    assert chunks_of(source, "a.md")[3].names == ("Top", "Top/Small", "Top/Tiny")
    underlined = f"Top\n===\n\n{text}\n\nSub\n---\n\n{text}\n"
    check("a.rst", underlined, "1-4 section Top", "6-9 section Top/Sub")


def test_code_without_a_grammar_is_divided_by_its_looks() -> None:
    block = "rule {\n" + body(ALONE_CHARACTERS) + "}\n\n"
    chunks = chunks_of(block * 3, "a.nim")
    assert [each.text for each in chunks] == [block.rstrip()] * 3
    assert {(each.kind, each.symbol, each.names) for each in chunks} == {("code", "", ())}


@pytest.mark.parametrize("path", ["a.json", "a.csv", "package-lock.json", "a.po", "a.min.js"])
def test_a_megabyte_of_data_costs_a_few_chunks(path: str) -> None:
    chunks = chunks_of('  "key": "value, text",\n' * 45_000, path)
    assert 0 < len(chunks) <= 8
    assert sum(each.embed for each in chunks) <= 1
    assert {each.kind for each in chunks} == {"data"}
    assert chunks[0].start_line == 1


def test_too_little_is_not_worth_a_vector() -> None:
    assert [each.embed for each in chunks_of("abc", "a.txt")] == [False]
    assert [each.embed for each in chunks_of("def f(): ...\n")] == [True]
    license_text = "# Copyright 2020 Someone. All rights reserved.\n" * 12
    assert [each.embed for each in chunks_of(f"{license_text}\n{function('f', WHOLE)}")] == [False, True]


def test_a_long_line_is_cut_into_a_few_pieces() -> None:
    words = "word, " * 2_000
    for path, pieces in (("a.txt", 8), ("a.min.js", 1)):
        chunks = chunks_of(words, path)
        assert len(chunks) == pieces
        assert {(each.start_line, each.end_line) for each in chunks} == {(1, 1)}
        assert all(each.text.startswith("word") and each.text.endswith(",") for each in chunks)
    chunks = chunks_of(f"x = '{words}'\n" + "y = 1\n" * 3_000)
    assert sum(each.start_line == 1 for each in chunks) == LINE_PIECES["code"]
    assert len(chunks_of("a" * 1_000_000, "a.txt")) == LINE_PIECES["prose"]


def test_the_digest_is_that_of_names_and_text() -> None:
    source = function("f", WHOLE) + function("g", WHOLE)
    first = chunks_of(source, "a.py")
    assert first == chunks_of(source, "far/away/b.py")
    moved = chunks_of("x = 1\n\n\n" + source)
    assert {each.digest for each in first} < {each.digest for each in moved}
    assert len({each.digest for each in first}) == 2
    assert [each.digest for each in chunks_of(source.replace("\n", "\r\n"))] == [
        each.digest for each in first
    ]
    other = chunks_of(f"class A:\n    pass\n{function('f', WHOLE)}{function('g', WHOLE + 30)}")
    assert {each.digest for each in first} & {each.digest for each in other} == {first[0].digest}


LINES = st.sampled_from(
    [
        *(
            "",
            "",
            "def f():",
            "    return 1",
            "class A:",
            "    def m(self):",
            "        pass",
            "x = [",
            "]",
            "{",
            "}",
        ),
        *(
            "# comment",
            "    # inner",
            "/** doc",
            " */",
            "function g() {",
            "export const a = 1",
            "func F() {",
            "@d",
        ),
        *(
            "# Title",
            "## Sub",
            "Title",
            "=====",
            "-----",
            "- item",
            "    indented",
            "```",
            '"""',
            "'",
            "import a",
        ),
        *("(" * 50, "word " * 30, "x" * 700, "long " * 400, "\t"),
    ]
)
PATHS = ["a.py", "a.js", "a.ts", "a.go", "a.md", "a.rst", "a.txt", "a.css", "a.unknown", "a.mdx"]


def covers_every_line_once(source: str, path: str) -> None:
    """Check what holds for the chunks of every file that is kept whole."""
    chunks = chunks_of(source, path)
    lines = clean_source(source.encode()).decode().split("\n")
    covered: list[int] = []
    for before, after in pairwise(chunks):
        assert before.end_line < after.start_line or (
            before.start_line == before.end_line == after.start_line == after.end_line
        )
    for chunk in chunks:
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        assert 0 < len(chunk.text) <= MAX_CHARACTERS
        assert len(chunk.names) <= MAX_NAMES
        assert len(chunk.digest) == 16
        assert not chunk.symbol or chunk.kind not in {"code", "text", "data"}
        covered.extend(range(chunk.start_line, chunk.end_line + 1))
        text = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert chunk.text == text or (chunk.start_line == chunk.end_line and chunk.text in text)
    written = {number for number, line in enumerate(lines, 1) if line.strip()}
    if kind_of_text(path, language_of(path), "\n".join(lines)).keep:
        assert set(covered) <= written | set(range(1, len(lines)))
    else:
        assert written <= set(covered)
    assert chunks == chunks_of(source, path)


@given(st.lists(LINES, max_size=120).map("\n".join), st.sampled_from(PATHS))
@settings(max_examples=examples(250))
def test_every_line_is_in_one_chunk(source: str, path: str) -> None:
    covers_every_line_once(source, path)


SIZES = st.lists(st.integers(110, 700), min_size=2, max_size=25)


@given(SIZES, st.data())
def test_an_edit_changes_the_chunk_of_its_function_and_at_most_merged_neighbours(
    sizes: list[int], data: st.DataObject
) -> None:
    edited = data.draw(st.integers(0, len(sizes) - 1))
    size = data.draw(st.integers(110, 700))
    functions = [function(f"f{number}", size) for number, size in enumerate(sizes)]
    before = {each.digest: each for each in chunks_of("\n".join(functions))}
    functions[edited] = function(f"f{edited}", size)
    after = {each.digest: each for each in chunks_of("\n".join(functions))}
    new = [each for digest, each in after.items() if digest not in before]
    gone = [each for digest, each in before.items() if digest not in after]
    for chunks in (new, gone):
        concerned = sorted({int(name[1:]) for each in chunks for name in each.names})
        # One run of functions around the edited one, of few chunks.
        assert concerned in ([], list(range(concerned[0], concerned[-1] + 1)) if concerned else [])
        assert not concerned or edited in concerned
        assert len(chunks) <= 4


STAIRS = b"".join(b" " * indent + b"a\n" for indent in range(1_000))
HOSTILE = {
    "stairs": STAIRS,
    "blank stairs": STAIRS.replace(b"\n", b"\n\n"),
    "closers": b"}\n" * 20_000,
    "open": b"(\n" * 20_000,
    "fences": b"```\n" * 20_000,
    "headings": b"# a\n" * 5_000,
    "underlined": b"a\n===\n\n" * 5_000,
    "classes": b"".join(b" " * indent + b"class A:\n" for indent in range(400)),
    "elements": b"x = [\n" + b"1,\n" * 20_000 + b"]\n",
    "letters": b"a\n\n" * 20_000,
    "spaces": b" " * 500_000,
    "comment": b"/* Copyright 2020 " + b"*" * 200_000,
}


@pytest.mark.parametrize("path", ["a.py", "a.js", "a.md", "a.txt", "a.zig", "a.json", "a"])
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_give_bounded_chunks(case: str, path: str) -> None:
    chunks = chunks_of(HOSTILE[case], path)
    assert all(0 < len(each.text) <= MAX_CHARACTERS for each in chunks)
    assert len(chunks) <= len(HOSTILE[case]) / 30 + 10


# What is embedded begins with a header and leaves out licenses and ornaments, but no documentation.


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), "a.py"),
        (("login",), "a.py :: login"),
        (("Session", "Session.login"), "a.py :: Session.login"),
        (("Session", "Session.login", "Session.logout"), "a.py :: Session.login, logout"),
        (("A.b", "C.d", "e"), "a.py :: A.b, C.d, e"),
        (("Sess", "Session"), "a.py :: Sess, Session"),
        (("Guide", "Guide/Install v1.2", "Guide/Use v1.2"), "a.py :: Guide/Install v1.2, Guide/Use v1.2"),
    ],
)
def test_header(names: tuple[str, ...], expected: str) -> None:
    assert header("a.py", names) == expected


def test_a_header_leaves_room_for_the_text() -> None:
    path = "/".join(["folder"] * 100) + "/name.py"
    found = header(path, tuple(f"name{number}" for number in range(99)))
    start, _, names = found.partition(" :: ")
    assert path.endswith(f"/{start}")
    assert len(start) <= HEADER_PATH
    assert len(names) <= HEADER_NAMES
    assert names.startswith("name0, name1")
    assert header("a", ("x" * 300 + "/Last title",)).endswith("/Last title")
    assert header("a" * 500, ()) == "a" * HEADER_PATH


CODE = "def login(user):\n    return user.token"


@pytest.mark.parametrize(
    "above",
    [
        "# Copyright (c) 2020 Someone\n# Licensed under MIT\n\n",
        "/*\n * Copyright 2020 Someone.\n * All rights * reserved.\n */\n",
        "// SPDX-License-Identifier: MIT\n",
        "<!-- Copyright © Someone -->\n",
        "-- Permission is hereby granted, free of charge\n",
    ],
)
def test_licenses_are_left_out(above: str) -> None:
    assert embedded_text("a.py", ("login",), above + CODE) == f"a.py :: login\n{CODE}"
    assert not is_worth_embedding(above.rstrip(), ())


def test_ornaments_are_left_out() -> None:
    assert embedded_text("a", (), "# ------\n# A === B\n#########\nx--") == "a\n# \n# A === B\n\nx--"


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("abc", (), False),
        ("import os", (), False),
        ("}\n" * 100, (), False),
        ("# " + "-" * 300, (), False),
        ("x = 1", ("x",), True),
        ("The daemon watches folders and reads what changed in them.", (), True),
        (CODE * 20, (), True),
    ],
)
def test_which_chunks_are_worth_embedding(text: str, names: tuple[str, ...], expected: bool) -> None:
    assert is_worth_embedding(text, names) == expected
