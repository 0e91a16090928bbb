"""The questions that a code base is asked: names and prompts, seeded, so that each run asks the same."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path

SEED = 4
FORMS = (
    "How does {one} work, and what happens when {other} fails?",
    "Add a parameter to {one} so that callers can skip {other}.",
    "Where do we decide that {words} is needed?",
    "{one} raises an error since the last change, find out why {words} is involved.",
    "Refactor {one}: it shouldn't know anything about {words}.",
    "Write tests for the case that {words} is empty.",
)


def definitions(root: Path) -> list[str]:
    """Return the distinct names of the functions and classes of a project, sorted."""
    return sorted({name for path in sorted(root.rglob("*.py")) for name in _names(path)})


def prompts(root: Path, count: int) -> list[str]:
    """Return so many different prompts about what a project defines."""
    names = definitions(root)
    chooser = random.Random(SEED)
    made: dict[str, None] = {}
    while len(made) < count:
        one, other = chooser.choice(names), chooser.choice(names)
        words = chooser.choice(names).strip("_").replace("_", " ")
        made[chooser.choice(FORMS).format(one=one, other=other, words=words)] = None
    return list(made)


def _names(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and len(node.name) > 3:
            yield node.name
