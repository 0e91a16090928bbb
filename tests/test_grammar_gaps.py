"""What a grammar can't read is written over in place, and what would stall its parser is refused."""

from __future__ import annotations

import pytest
from foveal.daemon.project.grammar_gaps import MAX_OPEN, is_cpp, is_tangled, readable
from foveal.daemon.project.parse import parse_source
from foveal.daemon.project.tree import ParsedFile


@pytest.mark.parametrize(
    ("source", "language", "expected"),
    [
        ("class API_EXPORT A {", "cpp", "class            A {"),
        ("class LIB_API(1) A : public B {", "cpp", "class            A : public B {"),
        ("class NAME final {", "cpp", "class NAME final {"),
        ("struct NAME value = {1};", "c", "struct NAME value = {1};"),
        ("LIB_API int f(void);", "c", "        int f(void);"),
        ("int a GUARDED_BY(m);", "cpp", "int a              ;"),
        ("[[ $a == @(b|c)* ]]", "bash", "[[ $a == xxxxxx* ]]"),
        ("a=$(date)", "bash", "a=$(date)"),
        ("in1.close() in 2", "kotlin", "xx1.close() in 2"),
        ("@A(\n  1,\n)\nannotation class B", "kotlin", "@A \n    \n \n           class B"),
        ("class API_EXPORT A {", "java", "class API_EXPORT A {"),
    ],
)
def test_gaps_are_written_over_in_place(source: str, language: str, expected: str) -> None:
    found = readable(source.encode(), language).decode()
    assert found == expected
    assert len(found) == len(source)
    assert found.count("\n") == source.count("\n")


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
    assert is_tangled(tangled, language)
    assert parse_source(tangled, language) == ParsedFile(
        (), (), tangled.count(b"\n") + (piece[-1] != "\n"), True
    )
    assert not is_tangled((piece * (MAX_OPEN // 2)).encode(), language)


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
    assert not is_tangled(source.encode(), language)


def test_definitions_survive_what_the_grammar_cannot_read() -> None:
    source = b"""\
class API_EXPORT Store : public Base {
  int a_ GUARDED_BY(m_);
  void f() LOCKS_REQUIRED(m_) {}
};
"""
    parsed = parse_source(source, "cpp")
    assert [(each.name, each.signature) for each in parsed.symbols] == [
        ("Store", "class API_EXPORT Store : public Base"),
        ("Store.f", "void f() LOCKS_REQUIRED(m_)"),
    ]
    assert not parsed.broken
