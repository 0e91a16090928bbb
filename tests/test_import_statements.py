"""A source's imports are found as written, and which of them may fail."""

from __future__ import annotations

from tests.parse_cases import imports


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
