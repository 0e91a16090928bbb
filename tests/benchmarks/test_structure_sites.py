"""The structure benchmark reads sources by itself: every call with its place and form, every definition."""

from __future__ import annotations

from foveal.benchmarks.structure.python_sites import PythonFile, read_file


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
