"""The structure benchmark reads sources by itself: every call with its place and form, every definition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from foveal.benchmarks.structure.python_sites import PythonFile, read_file
from foveal.benchmarks.structure.sites import Site, Target, Verdict
from foveal.benchmarks.structure.typescript import OracleFailed, ask_typescript


def project(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def tool(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def parsed(text: str) -> PythonFile:
    file = read_file("a.py", text.encode())
    assert file is not None
    return file


def test_each_call_is_found_with_what_stands_before_its_name() -> None:
    def check(text: str, expected: list[tuple[str, str]]) -> None:
        assert [(site.name, site.form) for site in parsed(text).sites] == expected

    check("f()", [("f", "name: builtin or star import")])
    check("def f(): ...\nf()", [("f", "name: function of the file")])
    check("from x import f as g\ng()", [("g", "name: imported name")])
    check("import x.y\nx.y.f()", [("f", "attribute of imported module.")])
    check("import x as z\nz.f()", [("f", "imported module.")])
    check(
        "def f(a, b: int):\n    a.x()\n    b.x()", [("x", "bare parameter."), ("x", "annotated parameter.")]
    )
    check("class C:\n    def m(self):\n        self.n()", [("n", "self.")])
    check("class C:\n    def m(self):\n        self.a.n()", [("n", "self.attribute.")])
    check("class C:\n    @classmethod\n    def m(cls):\n        cls()", [
        ("classmethod", "name: builtin or star import"), ("cls", "name: cls")])  # fmt: skip
    check("super().f()", [("super", "name: builtin or star import"), ("f", "super().")])
    check("x = [1]\nx[0].f()", [("f", "element[].")])
    check("for x in []:\n    x.f()", [("f", "loop variable.")])
    check("[x.f() for x in []]", [("f", "loop variable.")])
    check("a, b = c\na.f()", [("f", "unpacked variable.")])
    check("x = y[0]\nx.f()", [("f", "variable = element.")])
    check("''.join([])", [("join", "literal.")])
    check("(lambda: 1)()\nx[0]()\nf()()", [("f", "name: builtin or star import")])


def test_definitions_are_qualified_and_variables_know_their_value() -> None:
    file = parsed(
        "class A:\n    x = 1\n    def m(self):\n        def inner(): ...\n        y = 2\n\n\nalias = A.m\n"
        "async def run(): ...\n"
    )
    assert {(one.line, one.name, one.kind) for one in file.definitions.values()} == {
        (1, "A", "class"), (2, "A.x", "variable"), (3, "A.m", "function"), (4, "A.m.inner", "function"),
        (8, "alias", "variable"), (9, "run", "function"),
    }  # fmt: skip
    assert file.values == {(8, "alias"): (8, 10)}


def test_a_verdict_accepts_what_the_tool_named_and_what_its_variables_lead_to() -> None:
    def check(verdict: Verdict, name: str, expected: bool) -> None:
        assert verdict.accepts(Target("a.py", 9, name, "function")) is expected

    made = Target("a.py", 1, "A", "class")
    check(Verdict("project", (made,)), "A.__init__", True)
    check(Verdict("project", (made,)), "A.m", False)
    check(Verdict("variable", (), (made,)), "A.__call__", True)
    check(Verdict("variable", (), ()), "A", False)
    check(Verdict("external", (made,)), "A", False)
    assert not Verdict("project", (made,)).accepts(Target("b.py", 1, "A", "class"))


def test_typescript_is_read_as_its_script_prints_it(tmp_path: Path) -> None:
    row = ["a.ts", 1, 2, "f", "call", "this.", "this.f", "project", [["b.ts", 3, "C.f", "function"]]]
    node = tool(tmp_path / "node", f"#!/bin/sh\ncat <<'END'\n{json.dumps([row])}\nEND\n")
    found = ask_typescript(tmp_path, str(node), tmp_path)
    site = Site("a.ts", 1, 2, "f", "call", "this.", "this.f")
    assert found == {site: Verdict("project", (Target("b.ts", 3, "C.f", "function"),))}
    tool(node, "#!/bin/sh\necho broken >&2\nexit 1\n")
    with pytest.raises(OracleFailed, match="broken"):
        ask_typescript(tmp_path, str(node), tmp_path)
