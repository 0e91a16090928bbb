"""A definition is shown with the values of constants that it names, heads of what it calls and its class."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.graph.usages import VALUE_LINES, needed_by

from tests.search_cases import Indexed, indexed

FILES: dict[str, str | bytes] = {
    "shop/limits.py": "LIMIT = 3\nTABLE = {\n" + "".join(f"    {n}: {n},\n" for n in range(9)) + "}\n",
    "shop/clock.py": "def now(\n    zone: str,\n) -> float:\n    return 0.0\n",
    "shop/auth.py": (
        "from .limits import LIMIT, TABLE\nfrom .clock import now\n\nTRIES = 5\n\n\n"
        "class Session(Base):\n    name = 'x'\n\n"
        "    def login(self, user):\n"
        "        def inner():\n            return TRIES\n\n"
        "        if inner() > LIMIT:\n            return TABLE[now('UTC')]\n"
        "        return self.end() and len(user)\n\n"
        "    def end(self):\n        return None\n"
    ),
    "pkg/a.go": (
        "package pkg\n\nconst maxTries = 4\n\n"
        "func Limit(n int) bool {\n\treturn check(n, maxTries)\n}\n\n"
        "func check(n, most int) bool {\n\treturn n < most\n}\n"
    ),
    "web/a.ts": (
        "import { MOST } from './b';\n\nexport function limit(n: number): boolean {\n"
        "  return n < MOST && fits(n);\n}\n\nfunction fits(n: number): boolean {\n  return n > 0;\n}\n"
    ),
    "web/b.ts": "export const MOST = 7;\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return indexed(tmp_path_factory.mktemp("p"), FILES)


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        (
            "shop/auth.py",
            "Session.login",
            [
                ("within", "shop/auth.py#Session", 7, 7),
                ("value", "shop/auth.py#TRIES", 4, 4),
                ("value", "shop/limits.py#LIMIT", 1, 1),
                ("value", "shop/limits.py#TABLE", 2, 1 + VALUE_LINES),
                ("call", "shop/clock.py#now", 1, 3),
                ("call", "shop/auth.py#Session.end", 18, 18),
            ],
        ),
        ("shop/auth.py", "Session.end", [("within", "shop/auth.py#Session", 7, 7)]),
        ("shop/limits.py", "LIMIT", []),
        ("pkg/a.go", "Limit", [("value", "pkg/a.go#maxTries", 3, 3), ("call", "pkg/a.go#check", 9, 9)]),
        ("web/a.ts", "limit", [("value", "web/b.ts#MOST", 1, 1), ("call", "web/a.ts#fits", 7, 7)]),
    ],
)
def test_needed_by_lists_class_values_and_callees(
    project: Indexed, path: str, name: str, expected: list[tuple[str, str, int, int]]
) -> None:
    with project.reader() as reader, reader.snapshot():
        symbol = next(each for each in reader.symbols(path) if each.name == name)
        found = needed_by(reader, path, symbol)
    shown = [(one.role, f"{one.path}#{one.symbol.name}", one.first, one.last) for one in found]
    assert sorted(shown) == sorted(expected)
    assert [one.role for one in found] == [role for role, *_ in expected]


def test_needed_by_knows_nothing_of_a_definition_that_changed(project: Indexed, tmp_path: Path) -> None:
    with project.reader() as reader, reader.snapshot():
        symbol = reader.symbols("shop/clock.py")[0]
        assert needed_by(reader, "shop/auth.py", symbol) == []
