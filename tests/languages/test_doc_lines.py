"""A docstring or the comment directly above is a symbol's doc, as far as its first sentence."""

from __future__ import annotations

from tests.parse_cases import docs


def test_comments_directly_above_are_docs() -> None:
    source = """\
/*! License. */

function a() {}
/**
 * Old style.
 * @param x
 */

function b(x) {}
/** @type {number} */
function c() {}
// Real.
// eslint-disable-next-line
function d() {}
// const old = 1;
function e() {}
/** @description Tagged. */
function f() {}
foo(); // not about g
function g() {}
"""
    expected = {"a": "", "b": "Old style.", "c": "", "d": "Real.", "e": "", "f": "Tagged.", "g": ""}
    assert docs(source, "javascript") == expected


def test_markup_is_left_out_of_docs() -> None:
    source = """\
class Store {
  /**
   * Returns the {@code size} of a {@link Store}, or <code>null</code>. More.
   * @return it
   */
  int size() { return 1; }
  /** <p>Drops it. */
  void drop() {}
  /** Holds a List<String> */
  void hold() {}
}
"""
    found = docs(source, "java")
    assert found["Store.size"] == "Returns the size of a Store, or null."
    assert found["Store.drop"] == "Drops it."
    assert found["Store.hold"] == "Holds a List<String>"
    source = """\
/// <summary>One <paramref name="a"/> to <c>b</c></summary>
/// <param name="a">Not this.</param>
class A { }
/// <inheritdoc/>
class B { }
"""
    assert docs(source, "csharp") == {"A": "One a to b", "B": ""}
