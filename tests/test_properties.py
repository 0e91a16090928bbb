"""Property tests repeat their examples, whatever ran before them; only the fuzz draws others each time."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.properties import FEW, MANY, RANDOM, REPEATED, USUAL

TESTS = Path(__file__).resolve().parent

SOME_MODULES = "import foveal.daemon.search.pipeline, foveal.daemon.context.service\n"

PROGRAM = """
from hypothesis import given, settings, strategies as st
from tests import properties

properties.register()
settings.load_profile({profile!r})
drawn = []


@given(st.text(max_size=9), st.integers())
def draws(text, number):
    drawn.append((text, number))


draws()
print(len(drawn), drawn)
"""


def drawn(profile: str, hash_seed: int, before: str = "") -> tuple[int, str]:
    """Return how many examples a test drew in a process of its own, and which."""
    printed = subprocess.run(
        [sys.executable, "-c", before + PROGRAM.format(profile=profile)],
        cwd=TESTS.parent,
        env={"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(TESTS.parent)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    count, _, shown = printed.partition(" ")
    return int(count), shown


def test_repeated_examples_depend_on_the_test_alone() -> None:
    count, first = drawn(REPEATED, 1)
    assert FEW <= count < USUAL
    assert drawn(REPEATED, 2, SOME_MODULES) == (count, first)


def test_the_fuzz_draws_more_and_others_each_time() -> None:
    count, first = drawn(RANDOM, 1)
    assert count >= MANY
    assert drawn(RANDOM, 1)[1] != first


@cache
def decorators() -> list[tuple[str, ast.Call]]:
    """Return each `settings(…)` or `seed(…)` above a test, with its place."""
    return [
        (f"{path.relative_to(TESTS)}:{one.lineno}", one)
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        for one in (node.decorator_list if isinstance(node, ast.FunctionDef) else ())
        if isinstance(one, ast.Call) and ast.unparse(one.func) in {"settings", "seed"}
    ]


@pytest.mark.parametrize("setting", ["derandomize", "database", "print_blob", "deadline"])
def test_no_test_chooses_what_its_profile_says(setting: str) -> None:
    assert len(decorators()) > 20
    named = [where for where, one in decorators() if setting in {each.arg for each in one.keywords}]
    assert named == []


def test_each_number_of_examples_grows_in_the_fuzz() -> None:
    numbers = [
        (where, ast.unparse(keyword.value))
        for where, one in decorators()
        for keyword in one.keywords
        if keyword.arg == "max_examples"
    ]
    assert len(numbers) > 20
    assert [found for found in numbers if not found[1].startswith("examples(")] == []
