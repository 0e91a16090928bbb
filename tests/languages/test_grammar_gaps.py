"""What a grammar can't read is written over in place, and what would stall its parser is refused."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.c import is_cpp
from foveal.daemon.languages.shared.language import LANGUAGES
from foveal.daemon.languages.shared.parse import MAX_OPEN, is_tangled, parse_source
from foveal.daemon.languages.shared.records import ParsedFile


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A {\n};\n", True),
        ("namespace a {\n", True),
        ("  template <typename T>\n", True),
        ("#include <vector>\n", True),
        ("std::string a;\n", True),
        ("#include <stdio.h>\nint class_of(int a) { return a; }\n", False),
        ("struct A { int public; };\n", False),
        ("", False),
    ],
)
def test_cpp_is_told_from_c(source: str, expected: bool) -> None:
    assert is_cpp(source.encode()) == expected


@pytest.mark.parametrize(
    ("piece", "language"),
    [("a<", "java"), ("a<", "csharp"), ("a<\n", "typescript"), ("%w[", "go"), ("a=>", "c"), ("`", "scala")],
)
def test_what_stalls_a_parser_is_refused(piece: str, language: str) -> None:
    tangled = (piece * 50_000).encode()
    assert is_tangled(tangled, LANGUAGES[language].stalling)
    assert parse_source(tangled, language) == ParsedFile(
        (), (), tangled.count(b"\n") + (piece[-1] != "\n"), True
    )
    assert not is_tangled((piece * (MAX_OPEN // 2)).encode(), LANGUAGES[language].stalling)


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("int[] a = {" + "1, " * 100_000 + "};", "java"),
        ("class A { List<B> b; int c = 1 << 2; }\n" * 10_000, "java"),
        ("x = [" + "a[1], " * 50_000 + "]", "python"),
        ("<p>" * 50_000, "markdown"),
        ("enum { " + "A = 1 << 2, " * 50_000 + "};", "c"),
    ],
)
def test_long_statements_alone_are_not_refused(source: str, language: str) -> None:
    assert not is_tangled(source.encode(), LANGUAGES[language].stalling)


def test_shell_functions_survive_what_only_another_shell_reads() -> None:
    source = """\
export ROOT="${${(%):-%x}:a:h}"

before() {
  names=(${(f)"$(list_of names)"})
  (( $+commands[jq] )) && echo "it's" ${names[(Ie)one]}
}
if (( $+commands[aura] )); then
  alias yay=aura
fi

function between {
  print ${(%):-"%F{yellow}%B text %b
}

after() {
  before "$1"
}
"""
    parsed = parse_source(source.encode(), "bash")
    found = [
        (each.name, each.start_line, each.end_line) for each in parsed.symbols if each.kind == "function"
    ]
    assert found == [("before", 3, 6), ("between", 11, 13), ("after", 15, 17)]
