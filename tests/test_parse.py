"""A source yields its definitions with unique names, heads and docs, its imports and its lines."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from foveal.daemon.project.languages import LANGUAGES
from foveal.daemon.project.parse import MAX_DOC, MAX_NAME, MAX_SIGNATURE, parse_source
from foveal.daemon.project.tree import Import, ParsedFile
from hypothesis import given, settings
from hypothesis import strategies as st

PARSED = [name for name, row in LANGUAGES.items() if row.grammar]


def outline(source: str, language: str) -> list[str]:
    """Return `depth kind name start-end` of each symbol."""
    return [
        f"{each.depth} {each.kind} {each.name} {each.start_line}-{each.end_line}"
        for each in parse_source(source.encode(), language).symbols
    ]


def check(source: str, language: str, expected: str) -> None:
    assert outline(source, language) == [line.strip() for line in expected.strip().splitlines()]


def heads(source: str, language: str) -> dict[str, str]:
    return {each.name: each.signature for each in parse_source(source.encode(), language).symbols}


def docs(source: str, language: str) -> dict[str, str]:
    return {each.name: each.doc for each in parse_source(source.encode(), language).symbols}


def imports(source: str, language: str) -> list[tuple[str, str, int, bool]]:
    found = parse_source(source.encode(), language).imports
    return [(each.module, each.name, each.line, each.required) for each in found]


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


def test_python_docs_are_the_first_sentence() -> None:
    found = docs(PYTHON, "python")
    assert found["load~2"] == "Load it from the disk."
    assert found["Session"] == "Hold one login"
    assert found["Session.user"] == "The user."
    assert found["load"] == found["LIMIT"] == ""
    assert docs('def f():\n    "E.g. this one. Not that."\n', "python") == {"f": "E.g. this one."}


def test_python_imports() -> None:
    source = """\
from __future__ import annotations
import os, a.b.c as d
from . import x, y as z
from ..pkg.mod import *
from a import (
    b as c,  # hi
    e,
)
try:
    import fast
except ImportError:
    fast = None
try:
    import sure
except ValueError:
    pass
def f():
    from lazy import thing
if TYPE_CHECKING:
    import typed
importlib.import_module("plug.in")
importlib.import_module(".relative", package)
import_module(name)
"""
    assert imports(source, "python") == [
        ("os", "", 2, True),
        ("a.b.c", "", 2, True),
        (".", "", 3, True),
        (".", "x", 3, False),
        (".", "y", 3, False),
        ("..pkg.mod", "", 4, True),
        ("a", "", 5, True),
        ("a", "b", 6, False),
        ("a", "e", 7, False),
        ("fast", "", 10, False),
        ("sure", "", 14, True),
        ("lazy", "", 18, True),
        ("lazy", "thing", 18, False),
        ("typed", "", 20, True),
        ("plug.in", "", 21, False),
    ]


def test_imports_in_nested_tries_are_optional() -> None:
    source = """\
try:
    try:
        import one
    except ImportError:
        import two
    import three
except (ModuleNotFoundError, OSError):
    import four
"""
    assert [(module, required) for module, _, _, required in imports(source, "python")] == [
        ("one", False),
        ("two", False),
        ("three", False),
        ("four", True),
    ]


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


def test_commonjs_and_prototype_definitions() -> None:
    source = """\
exports.a = function () {};
module.exports.b = () => 1;
exports.limit = 5;
exports.again = limit;
exports.passed = require('passed');
module.exports = function create() {};
Foo.prototype.bar = function () {};
app.use = function use(fn) {
  el.onclick = function () {};
  this.go = function () {};
};
var wrapped = (function inner() {
  function deep() {}
});
const View = () => <div onClick={() => 1}>a</div>;
export default { name: 1 };
"""
    check(
        source,
        "javascript",
        """
        0 function a 1-1
        0 function b 2-2
        0 constant limit 3-3
        0 function create 6-6
        1 method Foo.bar 7-7
        1 method app.use 8-11
        2 function app.use.go 10-10
        0 function wrapped 12-14
        1 function wrapped.deep 13-13
        0 function View 15-15
        0 constant default 16-16
        """,
    )
    assert heads(source, "javascript")["app.use"] == "app.use = function use(fn)"


def test_script_imports() -> None:
    source = """\
import a, { b } from "./a.js";
import type { T } from './t';
import "./side.css";
export * from "./z";
export { default as if } from "./if";
const c = require("./c");
const d = await import("./d");
const e = require(name), f = load("./f"), g = require(`./g${x}`);
import h = require("./h");
"""
    assert [module for module, *_ in imports(source, "typescript")] == [
        "./a.js", "./t", "./side.css", "./z", "./if", "./c", "./d", "./h",
    ]  # fmt: skip
    bundle = "({1:[function(require,module,exports){ require('./inside') }]})"
    assert imports(bundle, "javascript") == []


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


def test_markdown_sections() -> None:
    source = """\
---
title: x
# no: heading
---
# Guide `foo` #

Sub *title*
-----------

```py
# not a heading
```

> # Quoted

- # In a list

    # Indented code

#### [Deep](http://x)
## Sub title
text
# Guide foo
## Last
"""
    check(
        source,
        "markdown",
        """
        0 section Guide foo 5-22
        1 section Guide foo/Sub title 7-20
        3 section Guide foo/Sub title/Deep 20-20
        1 section Guide foo/Sub title~2 21-22
        0 section Guide foo~2 23-24
        1 section Guide foo~2/Last 24-24
        """,
    )
    assert heads(source, "markdown")["Guide foo"] == "# Guide `foo` #"
    assert parse_source(source.encode(), "markdown").imports == ()


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"a\r\nb\r\n", 2), (b"\x0c\x0b\x85\n", 1)],
)
@pytest.mark.parametrize("language", ["python", "markdown", "rust", "", "nonsense"])
def test_lines_end_at_line_feeds(data: bytes, lines: int, language: str) -> None:
    assert parse_source(data, language).lines == lines


def test_a_language_without_grammar_has_lines_only() -> None:
    assert parse_source(b"fn main() {}\n", "rust") == ParsedFile((), (), 1)


@pytest.mark.parametrize(
    "data",
    [
        "\ufeffdef caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode(),
        "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode("latin-1"),
        "def caf\u00e9():\r\n    '''D\u00e9j\u00e0 vu.'''\r\n".encode(),
        "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n\0    pass\n".encode(),
    ],
    ids=["byte order mark", "latin-1", "carriage returns", "NUL"],
)
def test_odd_encodings(data: bytes) -> None:
    parsed = parse_source(data, "python")
    assert not parsed.broken
    (symbol,) = parsed.symbols
    assert (symbol.name, symbol.signature, symbol.doc, symbol.start_line) == (
        "caf\u00e9",
        "def caf\u00e9():",
        "D\u00e9j\u00e0 vu.",
        1,
    )


@pytest.mark.parametrize(
    ("source", "language", "name"),
    [
        ("def good(): pass\ndef bad(:\n  x = (\n", "python", "good"),
        ("function good() {}\nclass {{{ ;\n", "javascript", "good"),
        ("export interface Good { a: 1 }\nlet = = ;\n", "typescript", "Good"),
        ("package x\nfunc good() {}\nfunc bad( {\n", "go", "good"),
    ],
)
def test_what_parsed_of_a_broken_file_is_kept(source: str, language: str, name: str) -> None:
    parsed = parse_source(source.encode(), language)
    assert parsed.broken
    assert name in {each.name for each in parsed.symbols}


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


MANY = 50_000
HOSTILE = {
    "open": b"(" * MANY,
    "nested": b"(" * MANY + b")" * MANY,
    "squares": b"[" * MANY + b"]" * MANY,
    "curly": b"{" * MANY + b"}" * MANY,
    "calls": b"f(" * MANY + b")" * MANY,
    "functions": b"function f(){" * 10_000 + b"}" * 10_000,
    "templates": b"`${" * MANY,
    "tags": b"<a>" * MANY,
    "less": b"a<" * MANY,
    "quotes": b">" * MANY + b" x",
    "lists": b"- " * MANY,
    "line": b'x = "' + b"a" * (1 << 20) + b'"\n',
    "zeros": bytes(1 << 20),
    "binary": bytes(range(256)) * 1000,
    "headings": b"# a\n" * 20_000,
    "generated": b"".join(b"def f%d(a, b):\n    return a + b\n\n" % number for number in range(5_000)),
    "decorators": b"@a/*" * 5_000,
    "tries": b"try:\n import a\nexcept ImportError:\n pass\n" * 5_000,
}


@pytest.mark.parametrize("language", PARSED)
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_sources_end(case: str, language: str) -> None:
    parsed = parse_source(HOSTILE[case], language)
    assert len({each.name for each in parsed.symbols}) == len(parsed.symbols)
    assert parsed.lines == HOSTILE[case].count(b"\n") + (not HOSTILE[case].endswith(b"\n"))


@pytest.mark.parametrize("language", ["python", "javascript", "typescript", "tsx"])
def test_a_tree_that_would_take_minutes_to_query_is_given_up(language: str) -> None:
    assert parse_source(b"(" * 1_000_000, language) == ParsedFile((), (), 1, broken=True)


def test_a_tree_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foveal.daemon.project.parse.PARSE_SECONDS", -1.0)
    assert parse_source(b"def f(): pass\n" * 1000, "python") == ParsedFile((), (), 1000, broken=True)


@given(st.binary(max_size=300), st.sampled_from(PARSED))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_bytes_give_an_ordered_answer(data: bytes, language: str) -> None:
    holds_invariants(parse_source(data, language))


FRAGMENTS = st.sampled_from(
    ["def f(", "):", "\n", "    ", "class A", "{", "}", "=>", "x = 1", "# a", "export ", "import a", "`",
     "/*", "*/", "@d", "func ", "type T struct", '"""', "'", "---", "===", "> ", "- ", ";", "(", ")",
     "from . import b", "//"]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=40).map("".join), st.sampled_from(PARSED))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_code_gives_an_ordered_answer(source: str, language: str) -> None:
    holds_invariants(parse_source(source.encode(), language))


def holds_invariants(parsed: ParsedFile) -> None:
    assert len({each.name for each in parsed.symbols}) == len(parsed.symbols)
    starts = [each.start_line for each in parsed.symbols]
    assert starts == sorted(starts)
    for symbol in parsed.symbols:
        assert 1 <= symbol.start_line <= symbol.end_line <= parsed.lines
        assert 0 < len(symbol.signature) <= MAX_SIGNATURE
        assert len(symbol.doc) <= MAX_DOC
        assert symbol.name
        assert symbol.depth >= 0
    for imported in parsed.imports:
        assert isinstance(imported, Import)
        assert imported.module
        assert 1 <= imported.line <= parsed.lines


def test_threads_do_not_disturb_each_other() -> None:
    sources = [f"class A{number}:\n    def m(self): pass\n" * 50 for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda source: parse_source(source.encode(), "python"), sources))
    assert together == [parse_source(source.encode(), "python") for source in sources]


def test_only_the_grammar_that_is_needed_is_loaded() -> None:
    code = (
        "import sys; from foveal.daemon.project.parse import parse_source; parse_source(b'x = 1', 'python');"
        "print(sorted(m for m in sys.modules if m.startswith('tree_sitter_') and '.' not in m))"
    )
    assert (
        subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "['tree_sitter_python']"
    )
