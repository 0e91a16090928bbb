"""Definitions become symbols with unique names, their lines, and heads as they are written."""

from __future__ import annotations

from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.source_text import MAX_NAME, MAX_SIGNATURE
from foveal.daemon.languages.shared.symbols import MAX_DOC

from tests.parse_cases import check, docs, heads, imports, plain

PYTHON = '''\
"""Module."""
import os
LIMIT: int = 3  #= 0 constant LIMIT
names, others = [], {}  #= 0 variable names; 0 variable others
LIMIT = 4
type Pair[T] = tuple[T, T]  #= 0 type Pair
try:
    import fast
except ImportError:
    fast = None  #= 0 variable fast
if os.name == "nt":
    SEP = "a"  #= 0 constant SEP
else:
    SEP = "b"

@overload  #= 0 function load to 17
def load(a: int) -> int: ...
@overload  #= 0 function load~2 to 35
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
    def inner(): pass  #= 1 function load~2.inner
    class Deep:  #= 1 class load~2.Deep to 35
        def method(self): pass  #= 2 method load~2.Deep.method

class Session(Base, metaclass=M):  #= 0 class Session to 45
    """Hold one login"""
    attribute = 1
    @property  #= 1 method Session.user to 41
    def user(self): "The user."
    @user.setter  #= 1 method Session.user~2 to 43
    def user(self, value): ...
    class Meta:  #= 1 class Session.Meta to 45
        pass
'''


def test_python_definitions() -> None:
    check(PYTHON, "python")


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
@Component({a: 1})  #= 0 class Stack to 18
export class Stack<T> extends Base {
  @Input() plain = 1;
  /** Handles it. */
  static handle = async (a: T) => { };  #= 1 method Stack.handle
  get size(): number { return 1 }  #= 1 method Stack.size
  set size(v) {}  #= 1 method Stack.size~2
  // Pushes one
  @Host({  #= 1 method Stack.push to 14
    a: 1
  })
  push(a: string,
    b: number): void {}
  #hidden() {}  #= 1 method Stack.#hidden
  over(a: string): void;  #= 1 method Stack.over
  over(a: any) {}  #= 1 method Stack.over~2
}
export abstract class Shape { abstract area(): number; }  #= 0 class Shape; 1 method Shape.area
export interface Named extends Other { a: string }  #= 0 interface Named
declare module "foo" { export function z(): void; }  #= 0 namespace foo; 1 function foo.z
namespace N.M { export const q = 1; function f() {} }  #= 0 namespace N.M; 1 constant N.M.q; 1 function N.M.f
export default function () {}  #= 0 function default
export enum E { A }  #= 0 enum E
declare function outside(a: number): string;  #= 0 function outside
export const a = 1, b = async (x: number) => 2;  #= 0 constant a; 0 function b
type Q =  #= 0 type Q to 29
  | import("./imp").Foo
  | "b";
let v: number;  #= 0 variable v
function* generate() {}  #= 0 function generate
export const { g, h: i } = slice.actions;  #= 0 constant g; 0 constant i
const r = require("./r"), s = 1;  #= 0 variable s
function over(a: string): void;  #= 0 function over
function over(a) { const inner = () => { class Deep {} }; const local = 1; }  #= 0 function over~2; 1 function over~2.inner; 2 class over~2.inner.Deep
const C = class { m() {} };  #= 0 class C; 1 method C.m
"""


def test_typescript_definitions() -> None:
    check(TYPESCRIPT, "typescript")
    check(TYPESCRIPT, "tsx")


def test_typescript_heads_and_docs() -> None:
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
    said = docs(TYPESCRIPT, "typescript")
    assert [said[name] for name in ("Stack", "Stack.handle", "Stack.push", "Shape")] == [
        "Holds things.", "Handles it.", "Pushes one", "",
    ]  # fmt: skip


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
type Stack[T any] struct {  #= 0 struct Stack to 14
\titems []T
}

//go:noinline
func (s *Stack[T]) Push(x T) error { return nil }  #= 1 method Stack.Push

func (Foo) Bar()  #= 1 method Foo.Bar
func F[T any](a int,  #= 0 function F to 24
\tb int) (int, error) {
\ttype Local struct{}  #= 1 struct F.Local
\tvar z int
}
type (
\t// A is first.
\tA struct { x int }  #= 0 struct A
\tB interface { M() }  #= 0 interface B; 1 method B.M
\tC = int  #= 0 type C
)
const (
\t// X and Y.
\tX, Y = iota, 2  #= 0 constant X; 0 constant Y
\tZ  #= 0 constant Z
)
var V, W int  #= 0 variable V; 0 variable W
var (
\tErrA = errors.New("a")  #= 0 variable ErrA
\t_ B = (*A)(nil)
)
"""


def test_go_definitions() -> None:
    check(GO, "go")
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


def test_commonjs_and_prototype_definitions() -> None:
    source = """\
exports.a = function () {};  #= 0 function a
module.exports.b = () => 1;  #= 0 function b
exports.limit = 5;  #= 0 constant limit
exports.again = limit;
exports.passed = require('passed');
module.exports = function create() {};  #= 0 function create
Foo.prototype.bar = function () {};  #= 1 method Foo.bar
app.use = function use(fn) {  #= 1 method app.use to 11
  el.onclick = function () {};
  this.go = function () {};  #= 2 function app.use.go
};
var wrapped = (function inner() {  #= 0 function wrapped to 14
  function deep() {}  #= 1 function wrapped.deep
});
const View = () => <div onClick={() => 1}>a</div>;  #= 0 function View
export default { name: 1 };  #= 0 constant default
"""
    check(source, "javascript")
    assert heads(source, "javascript")["app.use"] == "app.use = function use(fn)"


def test_markdown_sections() -> None:
    source = """\
---
title: x
# no: heading
---
# Guide `foo` #  #= 0 section Guide foo to 22

Sub *title*  #= 1 section Guide foo/Sub title to 20
-----------

```py
# not a heading
```

> # Quoted

- # In a list

    # Indented code

#### [Deep](http://x)  #= 3 section Guide foo/Sub title/Deep
## Sub title  #= 1 section Guide foo/Sub title~2 to 22
text
# Guide foo  #= 0 section Guide foo~2 to 24
## Last  #= 1 section Guide foo~2/Last
"""
    check(source, "markdown")
    assert heads(source, "markdown")["Guide foo"] == "# Guide `foo` #"
    assert parse_source(plain(source), "markdown").imports == ()
