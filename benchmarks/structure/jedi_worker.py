"""The peer for Python, run inside the environment that has jedi: positions in, definitions out, as JSON.

    python jedi_worker.py PROJECT < POSITIONS

Reads an array of [path, [[line, column], …]] and prints an array of arrays of [path, line, qualified name,
type], one for each position; the path is empty outside of the project.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer all positions on the standard input."""
    jedi = import_module("jedi")  # only this environment has it

    root = Path(sys.argv[1]).resolve()
    project = jedi.Project(str(root), added_sys_path=[str(root / "src"), str(root / "lib")])
    answers: list[list[list[object]]] = []
    for path, positions in json.load(sys.stdin):
        script = jedi.Script(path=str(root / path), project=project)
        answers += [_answer(script, root, line, column) for line, column in positions]
    json.dump(answers, sys.stdout)


def _answer(script: Any, root: Path, line: int, column: int) -> list[list[object]]:
    try:
        names = script.goto(line, column, follow_imports=True)
        return [_row(name, root) for name in names]
    except Exception:  # noqa: BLE001 - jedi raises whatever its inference meets; it has no answer then
        return []


def _row(name: Any, root: Path) -> list[object]:
    if name.module_path is None or not name.module_path.resolve().is_relative_to(root):
        return ["", 0, "", name.type]
    path = name.module_path.resolve().relative_to(root).as_posix()
    parts: list[str] = []
    at = name
    while at is not None and at.type != "module":
        parts.insert(0, at.name)
        at = at.parent()
    return [path, name.line, ".".join(parts), name.type]


if __name__ == "__main__":
    main()
