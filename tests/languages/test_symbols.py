"""Definitions become symbols with unique names, their lines, and heads as they are written."""

from __future__ import annotations

from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.source_text import MAX_NAME, MAX_SIGNATURE
from foveal.daemon.languages.shared.symbols import MAX_DOC

from tests.parse_cases import check, docs, heads, imports

PYTHON = '''\
"""Module."""
import os
LIMIT: int = 3
names, others = [], {}
LIMIT = 4
type Pair[T] = tuple[T, T]
try:
    import fast
except ImportError:
    fast = None
if os.name == "nt":
    SEP = "a"
else:
    SEP = "b"

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


def test_python_definitions() -> None:
    check(
        PYTHON,
        "python",
        """
        0 constant LIMIT 3-3
        0 variable names 4-4
        0 variable others 4-4
        0 type Pair 6-6
        0 variable fast 10-10
        0 constant SEP 12-12
        0 function load 16-17
        0 function load~2 18-35
        1 function load~2.inner 33-33
        1 class load~2.Deep 34-35
        2 method load~2.Deep.method 35-35
        0 class Session 37-45
        1 method Session.user 40-41
        1 method Session.user~2 42-43
        1 class Session.Meta 44-45
        """,
    )


def test_python_heads_are_as_written_without_decorators_and_body() -> None:
    found = heads(PYTHON, "python")
    assert found["load"] == "def load(a: int) -> int:"
    assert found["load~2"] == 'async def load(\n    a: str,\n    # which\n    b={"x": 1},\n) -> str:'
    assert found["Session"] == "class Session(Base, metaclass=M):"
    assert found["Session.user~2"] == "def user(self, value):"
    assert found["LIMIT"] == "LIMIT: int = 3"
    assert found["Pair"] == "type Pair[T] = tuple[T, T]"
    nested = "class A:\n    def f(\n        self,\n    ):\n        pass\n"
    assert heads(nested, "python")["A.f"] == "def f(\n    self,\n):"


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
export interface Named extends Other { a: string }
declare module "foo" { export function z(): void; }
namespace N.M { export const q = 1; function f() {} }
export default function () {}
export enum E { A }
declare function outside(a: number): string;
export const a = 1, b = async (x: number) => 2;
type Q =
  | import("./imp").Foo
  | "b";
let v: number;
function* generate() {}
export const { g, h: i } = slice.actions;
const r = require("./r"), s = 1;
function over(a: string): void;
function over(a) { const inner = () => { class Deep {} }; const local = 1; }
const C = class { m() {} };
"""


def test_typescript_definitions() -> None:
    expected = """
        0 class Stack 2-18
        1 method Stack.handle 6-6
        1 method Stack.size 7-7
        1 method Stack.size~2 8-8
        1 method Stack.push 10-14
        1 method Stack.#hidden 15-15
        1 method Stack.over 16-16
        1 method Stack.over~2 17-17
        0 class Shape 19-19
        1 method Shape.area 19-19
        0 interface Named 20-20
        0 namespace foo 21-21
        1 function foo.z 21-21
        0 namespace N.M 22-22
        1 constant N.M.q 22-22
        1 function N.M.f 22-22
        0 function default 23-23
        0 enum E 24-24
        0 function outside 25-25
        0 constant a 26-26
        0 function b 26-26
        0 type Q 27-29
        0 variable v 30-30
        0 function generate 31-31
        0 constant g 32-32
        0 constant i 32-32
        0 variable s 33-33
        0 function over 34-34
        0 function over~2 35-35
        1 function over~2.inner 35-35
        2 class over~2.inner.Deep 35-35
        0 class C 36-36
        1 method C.m 36-36
        """
    check(TYPESCRIPT, "typescript", expected)
    check(TYPESCRIPT, "tsx", expected)


def test_typescript_heads() -> None:
    found = heads(TYPESCRIPT, "typescript")
    assert found["Stack"] == "export class Stack<T> extends Base"
    assert found["Stack.push"] == "push(a: string,\n  b: number): void"
    assert found["Stack.handle"] == "static handle = async (a: T) =>"
    assert found["Shape"] == "export abstract class Shape"
    assert found["N.M.q"] == "export const q = 1"
    assert found["default"] == "export default function ()"
    assert found["outside"] == "declare function outside(a: number): string;"
    assert found["a"] == "export const a = 1"
    assert found["Q"] == 'type Q =\n  | import("./imp").Foo\n  | "b";'
    assert found["foo"] == 'declare module "foo"'


GO = """\
package x

import (
\ta "fmt"
\t_ `raw/path`
)
import "example.com/y"

// Stack holds things. It grows.
//
// More.
type Stack[T any] struct {
\titems []T
}

//go:noinline
func (s *Stack[T]) Push(x T) error { return nil }

func (Foo) Bar()
func F[T any](a int,
\tb int) (int, error) {
\ttype Local struct{}
\tvar z int
}
type (
\t// A is first.
\tA struct { x int }
\tB interface { M() }
\tC = int
)
const (
\t// X and Y.
\tX, Y = iota, 2
\tZ
)
var V, W int
var (
\tErrA = errors.New("a")
\t_ B = (*A)(nil)
)
"""


def test_go_definitions() -> None:
    check(
        GO,
        "go",
        """
        0 struct Stack 12-14
        1 method Stack.Push 17-17
        1 method Foo.Bar 19-19
        0 function F 20-24
        1 struct F.Local 22-22
        0 struct A 27-27
        0 interface B 28-28
        1 method B.M 28-28
        0 type C 29-29
        0 constant X 33-33
        0 constant Y 33-33
        0 constant Z 34-34
        0 variable V 36-36
        0 variable W 36-36
        0 variable ErrA 38-38
        """,
    )
    found = heads(GO, "go")
    assert found["Stack"] == "type Stack[T any] struct"
    assert found["Stack.Push"] == "func (s *Stack[T]) Push(x T) error"
    assert found["F"] == "func F[T any](a int,\n\tb int) (int, error)"
    assert found["B"] == "B interface"
    assert found["V"] == "var V, W int"
    said = docs(GO, "go")
    assert (said["Stack"], said["Stack.Push"], said["A"], said["X"]) == (
        "Stack holds things.",
        "",
        "A is first.",
        "X and Y.",
    )
    assert [module for module, *_ in imports(GO, "go")] == ["fmt", "raw/path", "example.com/y"]


def test_signatures_docs_and_names_are_bounded() -> None:
    long = "a" * 5000
    source = f"def f(x='{long}'):\n    '''{long}'''\ndef {long}(): pass\n{long} = 1\nX = '{long}'\n"
    first, last = parse_source(source.encode(), "python").symbols
    assert (first.name, last.name) == ("f", "X")
    assert len(first.signature) == len(last.signature) == MAX_SIGNATURE
    assert len(first.doc) == MAX_DOC
    nested = "".join(" " * depth + f"def function_{depth}():\n" for depth in range(90)) + " " * 90 + "pass\n"
    names = [each.name for each in parse_source(nested.encode(), "python").symbols]
    assert 15 < len(names) < 90
    assert max(map(len, names)) <= MAX_NAME
    assert parse_source(("#" + " x" * 5000).encode(), "markdown").symbols == ()
