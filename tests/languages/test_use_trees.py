"""Rust's `use` and `mod` say which names come in, relative to the file whatever inline module they stand in."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.rust_imports import used_names
from foveal.daemon.languages.shared.language import UseItem
from foveal.daemon.languages.shared.reference_reader import UseBlock, inside_of


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
