"""The neighbours of a node: who calls it, what it calls, what it inherits from and what from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from foveal.daemon.graph.code_graph import CodeGraph
from foveal.daemon.graph.usages import NEIGHBOURS_MAX, is_uncalled, neighbours

from tests.linked_cases import Given, linked
from tests.search_cases import Indexed

FILES: dict[str, str | bytes] = {
    "a.py": "class Base:\n    pass\n\n\nclass Sub(Base):\n    def go(self):\n        print(helper())\n",
    "b.py": "import a\n\n\ndef main():\n    a.Sub().go()\n",
    "c.py": "def helper():\n    pass\n",
}
LINKS: list[Given] = [
    ("a.py", 5, "inherit", "Base", "Sub", "a.py#Base"),
    ("a.py", 7, "call", "print", "Sub.go", "external"),
    ("a.py", 7, "call", "helper", "Sub.go", "c.py#helper"),
    ("b.py", 5, "call", "Sub", "main", "a.py#Sub"),
    ("b.py", 5, "call", "go", "main", "a.py#Sub.go"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    return linked(tmp_path_factory.mktemp("p"), FILES, LINKS)


def around(project: Indexed, path: str, name: str = "") -> dict[str, list[str]]:
    with project.reader() as reader:
        symbol = next((each for each in reader.symbols(path) if each.name == name), None)
        found, more = neighbours(CodeGraph(project.tree, reader), path, symbol)
    assert not more
    return {
        relation: [f"{one.node_id or one.name} {one.path}:{one.line} {one.certainty}" for one in each]
        for relation, each in found.items()
    }


def test_a_method(project: Indexed) -> None:
    assert around(project, "a.py", "Sub.go") == {
        "callers": ["b.py#main b.py:5 resolved"],
        "callees": ["c.py#helper a.py:7 resolved", "print a.py:7 name"],
    }


def test_a_class(project: Indexed) -> None:
    found = around(project, "a.py", "Sub")
    assert found["superclasses"] == ["a.py#Base a.py:5 resolved"]
    assert found["callers"] == ["b.py#main b.py:5 resolved"]
    assert around(project, "a.py", "Base")["subclasses"] == ["a.py#Sub a.py:5 resolved"]


def test_there_may_be_more(tmp_path: Path) -> None:
    count = NEIGHBOURS_MAX + 1
    calls = "".join(f"def f{number}():\n    g()\n\n\n" for number in range(count))
    links: list[Given] = [("a.py", 4 * n + 2, "call", "g", f"f{n}", "b.py#g") for n in range(count)]
    project = linked(tmp_path, {"a.py": calls, "b.py": "def g():\n    pass\n"}, links)
    with project.reader() as reader:
        (symbol,) = reader.symbols("b.py")
        found, more = neighbours(CodeGraph(project.tree, reader), "b.py", symbol)
    assert (len(found["callers"]), more) == (NEIGHBOURS_MAX, ["callers"])


def test_uncalled_definitions(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "src/a.py": (
            "def used():\n    pass\n\n\ndef tried():\n    return tried()\n\n\ndef named():\n    pass\n\n\n"
            "def _own():\n    pass\n\n\n@wrap\ndef routed():\n    pass\n\n\ndef main():\n    pass\n\n\n"
            "class Shown:\n    def save(self):\n        pass\n\n    def keep(self):\n        pass\n\n\n"
            "class Kept(Protocol):\n    def keep(self):\n        pass\n\n\nLIMIT = 1\n"
        ),
        "src/b.py": "used()\nx.named()\nkept.keep()\n",
        "tests/test_a.py": "def test():\n    tried()\n\n\ndef helper():\n    pass\n",
        "examples/a.py": "tried()\n",
    }
    links: list[Given] = [
        ("src/a.py", 6, "call", "tried", "tried", "src/a.py#tried"),
        ("src/a.py", 17, "decorate", "wrap", "routed", "external"),
        ("src/b.py", 1, "call", "used", "", "src/a.py#used"),
        ("src/b.py", 2, "call", "named", "", "name"),
        ("src/b.py", 3, "call", "keep", "", "src/a.py#Kept.keep"),
        ("tests/test_a.py", 2, "call", "tried", "test", "src/a.py#tried"),
        ("examples/a.py", 1, "call", "tried", "", "src/a.py#tried"),
    ]
    project = linked(tmp_path, files, links)
    with project.reader() as reader:
        graph = CodeGraph(project.tree, reader)
        found = [
            symbol.name
            for path in ("src/a.py", "tests/test_a.py")
            for symbol in reader.symbols(path)
            if is_uncalled(path, symbol, graph)
        ]
    assert found == ["tried", "Shown", "Shown.save", "Kept"]
