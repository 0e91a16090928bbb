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


def test_imports_of_packages() -> None:
    java = "import a.b.C;\nimport static a.b.D.*;\nimport a.e.*;\n"
    assert imports(java, "java") == [("a.b", "C", 1, False), ("a.b.D", "", 2, True), ("a.e", "", 3, True)]
    assert imports("import a.B\nimport a.*\n", "kotlin") == [("a", "B", 1, False), ("a", "", 2, True)]
    assert imports("import a.{B, C => D}\n", "scala") == [("a", "B", 1, False), ("a", "C", 1, False)]
    assert imports("using A.B;\nusing F = A.C;\n", "csharp") == [("A.B", "", 1, True), ("A", "C", 2, False)]
    assert imports("import Auth\n", "swift") == [("Auth", "", 1, True)]
