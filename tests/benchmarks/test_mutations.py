"""The mutations: their rows fit the tree, name every promise, and a promise without a test is told."""

from __future__ import annotations

import re
import subprocess

import pytest
from foveal.benchmarks.mutations.__main__ import attempts
from foveal.benchmarks.mutations.mutation import ROOT, Mutation, mutations
from foveal.benchmarks.mutations.tree import Tree

ROWS = mutations()

FEWEST = 200
"""Minimum number of rows, so that an empty table is no success."""


def test_every_row_fits_the_tree() -> None:
    assert len(ROWS) >= FEWEST
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert not [f"{row.name}: {problem}" for row in ROWS for problem in row.staleness(ROOT)]


@pytest.mark.parametrize(
    ("document", "heading", "form", "fewest"),
    [
        ("ARCHITECTURE.md", "Invariants", r"- (.*)", 15),
        ("ARCHITECTURE.md", "Cross-cutting concerns", r"\*\*\w[^*]*\*\*\n(?:.+\n?)+", 9),
        ("docs/reliability.md", "The promises", r"\d+\. (?:.+\n?)+?(?= *Proof: )", 12),
        ("docs/reliability.md", "What grows, and its limit", r"\| (?!what \||-).*", 20),
        ("docs/reliability.md", "What becomes of a damaged file", r"\| (?!file \||-).*|- .*", 15),
    ],
)
def test_every_promise_is_broken_by_a_row(document: str, heading: str, form: str, fewest: int) -> None:
    page = (ROOT / document).read_text(encoding="utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    promises = [found[0] for found in re.finditer(rf"^(?:{form})", section, re.MULTILINE)]
    assert len(promises) >= fewest
    broken = [row.promise for row in ROWS if row.document == document]
    unbroken = [
        promise for promise in promises if not any(part in " ".join(promise.split()) for part in broken)
    ]
    assert unbroken == [promise for promise in unbroken if promise.startswith("**Tests.**")]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """Give a copy of a small tree: a package, and a test of half of what it does."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("copy")
    files = {
        ".src/foveal": None,
        "__init__.py": '__version__ = "0"\n',
        "sums.py": "def add(a: int, b: int) -> int:\n    return a + b\n",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n',
        "tests/test_sums.py": (
            "import subprocess, sys\n\nfrom foveal.sums import add\n\n\n"
            "def test_add() -> None:\n"
            "    code = 'from foveal.sums import add; print(add(2, 0))'\n"
            "    found = subprocess.run([sys.executable, '-I', '-c', code], capture_output=True, env={})\n"
            "    assert int(found.stdout) == 2\n"
        ),
    }
    for name, text in files.items():
        path = source / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to("..") if text is None else path.write_text(text)
    subprocess.run(["git", "init", "-q", str(source)], check=True)
    return Tree(source, folder)


def row(before: str, after: str) -> Mutation:
    return Mutation("sum", "README.md", "", "", "sums.py", before, after, ("tests/test_sums.py",))


CASES = (
    (row("a + b", "a + 3"), "tests/test_sums.py::test_add", ""),
    (row("a + b", "a - b"), "", "no test turns red"),
    (row("a * b", "a - b"), "", "the row is stale: its text occurs 0 times in sums.py"),
    (row("return", "retrun"), "", "its tests don't run with it (status 2)"),
)


def test_a_mutation_is_caught_or_its_problem_told(tree: Tree) -> None:
    """Also in a child process that ignores its environment."""
    former = (tree.root / "sums.py").read_text()
    outcomes = [outcome for outcome, _ in attempts(tree, [mutation for mutation, _, _ in CASES])]
    assert [(one.red, one.problem) for one in outcomes] == [(red, problem) for _, red, problem in CASES]
    assert (tree.root / "sums.py").read_text() == former


def test_each_change_has_a_date_of_its_own(tree: Tree) -> None:
    """Else Python would take the compiled code of one change for that of another of the same size."""
    seconds = []
    for mutation, *_ in CASES[:2]:
        with tree.mutated(mutation):
            seconds.append(int((tree.root / "sums.py").stat().st_mtime))
        seconds.append(int((tree.root / "sums.py").stat().st_mtime))
    assert len(set(seconds)) == 4
