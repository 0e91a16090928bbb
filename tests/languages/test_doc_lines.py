"""A docstring or the comment directly above is a symbol's doc, as far as its first sentence."""

from __future__ import annotations

from tests.parse_cases import docs

PYTHON = '''\
LIMIT: int = 3
@overload
def load(a: int) -> int: ...
@overload
# why
@other(
    1)
async def load(
    a: str,
    # which
    b={"x": 1},
) -> str:  # noqa
    # lead
    r"""
    Load it from
    the disk. Then more.
    """
    local = 1
    def inner(): pass
    class Deep:
        def method(self): pass

class Session(Base, metaclass=M):
    """Hold one login"""
    attribute = 1
    @property
    def user(self): "The user."
    @user.setter
    def user(self, value): ...
    class Meta:
        pass
'''


def test_python_docs_are_the_first_sentence() -> None:
    found = docs(PYTHON, "python")
    assert found["load~2"] == "Load it from the disk."
    assert found["Session"] == "Hold one login"
    assert found["Session.user"] == "The user."
    assert found["load"] == found["LIMIT"] == ""
    assert docs('def f():\n    "E.g. this one. Not that."\n', "python") == {"f": "E.g. this one."}


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


def test_the_mark_of_comments_is_the_languages() -> None:
    assert docs("#!/bin/sh\nf() { :; }\n", "bash") == {"f": ""}
    assert docs("# Runs.\n# @api private\ndef f; end\n", "ruby") == {"f": "Runs."}
    assert docs("---@param a number\nlocal function f(a) end\n", "lua") == {"f": ""}
    assert docs("--[[ Runs\nit. ]]\nlocal function f() end\n", "lua") == {"f": "Runs it."}
    assert docs("/// @brief Runs. More.\nvoid f() {}\n", "cpp") == {"f": "Runs."}
    assert docs("#define A 1\nvoid f(void) {}\n", "c")["f"] == ""
