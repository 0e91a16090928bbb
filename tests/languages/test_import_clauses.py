"""The text of an import says what it brings in: names of a package or module, members of a class, an alias."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.rust_imports import used_names
from foveal.daemon.languages.shared.language import LANGUAGES, UseItem
from foveal.daemon.languages.shared.reference_reader import UseBlock, inside_of


def brought_in(language: str, clause: str) -> list[UseItem]:
    """Return what a language reads in an import clause."""
    read = LANGUAGES[language].clause
    assert read is not None
    return read(clause, ())


def check(language: str, clause: str, *expected: str) -> None:
    """Check `name: imported from module` of each name that a clause brings in."""
    found = [f"{use.name}: {use.imported} from {use.module}" for use in brought_in(language, clause)]
    assert found == list(expected), found


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("import a.b.C", ["C: C from a.b"]),
        ("import a.b._", ["*: * from a.b"]),
        ("import a.b.*", ["*: * from a.b"]),
        ("import a.b.{C, D => E, F as G, H => _, _}", ["C: C from a.b", "E: D from a.b", "G: F from a.b"]),
        ("import a.B, c.D", ["B: B from a", "D: D from c"]),
        ("import a.b.given", ["*: * from a.b"]),
        ("import a.b as c", ["c: b from a"]),
    ],
)
def test_scala(clause: str, expected: list[str]) -> None:
    wildcard = ["*: * from a.b"] if clause.endswith(", _}") else []
    check("scala", clause, *expected, *wildcard)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("import Auth", ["*: * from Auth"]),
        ("import Auth.Deep", ["*: * from Auth"]),
        ("@testable import Auth", ["*: * from Auth"]),
        ("@_spi(X) public import Auth", ["*: * from Auth"]),
        ("import struct Auth.Session", ["Session: Session from Auth"]),
    ],
)
def test_swift(clause: str, expected: list[str]) -> None:
    check("swift", clause, *expected)


@pytest.mark.parametrize("language", ["java", "kotlin", "scala", "csharp", "swift", "rust"])
@pytest.mark.parametrize(
    "clause", ["import " + "a." * 50_000, "import a.{" + "b," * 50_000, "using " + " " * 50_000, "{" * 50_000]
)
def test_hostile_clauses_end(language: str, clause: str) -> None:
    assert len(brought_in(language, clause)) <= len(clause)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ("foo", [("foo", "*", "foo")]),
        ("foo as bar", [("foo", "*", "bar")]),
        ("::foo::Bar", [("foo", "Bar", "Bar")]),
        ("crate::a::b", [("crate::a", "b", "b")]),
        ("crate::a::*", [("crate::a", "*", "*")]),
        ("crate::a::{self, b as c}", [("crate::a", "*", "a"), ("crate::a", "b", "c")]),
        ("a::{b::{c, d::*}, e,}", [("a::b", "c", "c"), ("a::b::d", "*", "*"), ("a", "e", "e")]),
        ("{a::b, c::d}", [("a", "b", "b"), ("c", "d", "d")]),
        ("std::fmt::Write as _", [("std::fmt", "Write", "_")]),
        ("r#type::r#match", [("type", "match", "match")]),
        ("a::{ // why\n b, /* c, */ d }", [("a", "b", "b"), ("a", "d", "d")]),
        ("super::super::x", [("super::super", "x", "x")]),
        ("self::a::B", [("self::a", "B", "B")]),
        ("self", []),
        ("crate", []),
        ("", []),
        ("a::{", []),
        ("}", []),
        ("*", []),
    ],
)
def test_trees(tree: str, expected: list[tuple[str, str, str]]) -> None:
    assert used_names(tree) == [UseItem(*each) for each in expected]


def test_what_stands_inside_of_what() -> None:
    blocks = [UseBlock(10, 100, "a"), UseBlock(20, 40, "b"), UseBlock(60, 80, "c"), UseBlock(200, 210, "d")]
    assert dict(inside_of([300, 5, 15, 30, 50, 70, 90, 205], blocks)) == {
        5: (),
        15: ("a",),
        30: ("a", "b"),
        50: ("a",),
        70: ("a", "c"),
        90: ("a",),
        205: ("d",),
        300: (),
    }
