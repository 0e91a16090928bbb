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
