"""A docstring or the comment directly above is a symbol's doc, as far as its first sentence."""

from __future__ import annotations

from tests.parse_cases import docs

TYPESCRIPT = """\
/** Holds things. All of them. */
@Component({a: 1})
export class Stack<T> extends Base {
  @Input() plain = 1;
  /** Handles it. */
  static handle = async (a: T) => { };
  get size(): number { return 1 }
  set size(v) {}
  // Pushes one
  @Host({
    a: 1
  })
  push(a: string,
    b: number): void {}
  #hidden() {}
  over(a: string): void;
  over(a: any) {}
}
export abstract class Shape { abstract area(): number; }
"""


def test_comments_directly_above_are_docs() -> None:
    found = docs(TYPESCRIPT, "typescript")
    assert found["Stack"] == "Holds things."
    assert found["Stack.handle"] == "Handles it."
    assert found["Stack.push"] == "Pushes one"
    assert found["Shape"] == ""
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
