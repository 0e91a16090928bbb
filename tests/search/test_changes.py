"""Which definitions a diff changes, and how: by their own lines, their heads and their names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import pytest
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.project.diff import ChangedFile
from foveal.daemon.search.changes import changed_definitions, parameter_changes

BEFORE = """\
LIMIT = 3


class Store:
    size = 0

    def load(self, key):
        return key

    def save(self, key, value):
        for each in value:
            print(key, each)
        return True


def helper():
    return Store()
"""


def changes(before: str, after: str) -> list[str]:
    symbols = [parse_source(text.encode(), "python").symbols for text in (before, after)]
    found, added = changed_definitions(ChangedFile("a.py", before, after), *symbols)
    shown = [
        f"{one.kind} {one.before.name if one.before else ''}"
        + (f" -> {one.after.name}" if one.kind == "renamed" and one.after else "")
        for one in found
    ]
    return [*sorted(shown), *(["added"] * added)]


def check(old: str, new: str, *expected: str) -> None:
    assert old in BEFORE
    assert changes(BEFORE, BEFORE.replace(old, new)) == list(expected), new


def test_changed_definitions() -> None:
    check("return key\n", "return key or None\n", "body Store.load")
    check("size = 0", "size = 1", "body Store")
    check("LIMIT = 3", "LIMIT = 4", "body LIMIT")
    check("(self, key):", "(self, key, more):", "signature Store.load")
    check("(self, key):", "(self,  key ):", "body Store.load")
    check("        return True\n", "\n        return True  \n")
    check("class Store:", "class Store(Base):", "signature Store")
    check("def load(", "def fetch(", "renamed Store.load -> Store.fetch")
    check("class Store:", "class Shop:", "renamed Store -> Shop")
    check("class Store:\n    size", "class Shop:\n    many", "renamed Store -> Shop")
    both = BEFORE.replace("class Store:", "class Shop:").replace("return key", "return None")
    assert changes(BEFORE, both.replace("def save(self", "def keep(self")) == [
        "body Store.load",
        "removed Store.save",
        "renamed Store -> Shop",
        "added",
    ]
    check("def helper():\n    return Store()\n", "", "removed helper")
    check("LIMIT = 3\n", "LIMIT = 3\n\n\ndef more():\n    pass\n", "added")


def test_moved_and_indented_code_is_unchanged() -> None:
    assert changes(BEFORE, f"# A comment\n\n{BEFORE}") == []
    inner = "def outer():\n    def inner():\n        if x:\n            return 1\n"
    deeper = "def outer():\n        def inner():\n            if x:\n                return 1\n"
    assert changes(inner, deeper) == []
    assert changes(inner, inner.replace("            return", "        return")) == ["body outer.inner"]
    assert changes("", BEFORE) == ["added"] * 5
    assert changes(BEFORE, "") == ["removed LIMIT", "removed Store", "removed helper"]


def test_work_on_renames_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    class Matcher(difflib.SequenceMatcher[str]):
        def set_seqs(self, a: Sequence[str], b: Sequence[str]) -> None:
            compared.append((len(a), len(b)))
            super().set_seqs(a, b)

    monkeypatch.setattr(difflib, "SequenceMatcher", Matcher)
    body = "".join(f"    x{number} = {number}\n" for number in range(999))
    long = f"def old():\n{body}"
    assert changes(long, long.replace("old", "new")) == ["renamed old -> new"]
    assert compared == [(200, 200)]
    assert changes(long, f"{long.replace('old', 'new')}{body.replace('x', 'y')}") == ["removed old", "added"]
    assert len(compared) == 1, "of so different lengths they aren't compared"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("def f(a, b=1):", "def f(a, c=1):", ["b→c"]),
        ("def f(a):", "def f(a, *, b: dict[str, int] = {}):", ["+b"]),
        ("def f(a, b, c):", "def f(c):", ["-a", "-b"]),
        ("def f(a, b):", "def f(b, a):", ["order"]),
        ("def f(a) -> int:", "def f(a) -> str:", []),
        ("func (s *Store) Load(ctx context.Context, key string) error", "func (s *Store) Load(ctx context.Context) error", ["-key"]),
        ("function f(cb: (a: number, b: string) => void, n = 1)", "function f(cb: (a: number) => void, m = 1)", ["n→m"]),
        ("public void f(Map<String, Integer> map, int x)", "public void f(Map<String, Integer> map)", ["-x"]),
        ("class A(B)", "class A(C)", ["B→C"]),
        ('def f(a, b="x, y")', 'def f(a, b="x, z)", c=\'u, "v\')', ["+c"]),
        ("fn f<F: Fn(i32)>(a: F)", "fn f<F: Fn(i64) -> Vec<u8>>(a: F, b: u8)", ["+b"]),
        ("pub fn f<'a>(a: &'a str, b: &'a str)", "pub fn f<'a>(a: &'a str)", ["-b"]),
        ("bool operator<(const A& a)", "bool operator<(const A& a, int b)", ["+b"]),
    ],
)  # fmt: skip
def test_changed_parameters(before: str, after: str, expected: list[str]) -> None:
    assert parameter_changes(before, after) == expected
