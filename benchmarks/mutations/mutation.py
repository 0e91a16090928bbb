"""A mutation: a change of one line or a few that breaks a promise, and the tests that must notice it."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Mutation:
    """A row of a table.

    `promise` is a phrase that stands once in `document`. `breaks` says in one sentence what the change does.
    `before` stands exactly once in `file` and is replaced by `after`. `tests` are files of tests or tests.
    """

    name: str
    document: str
    promise: str
    breaks: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Change the file in a tree. Raises `ValueError` if the row is stale."""
        path = root / self.file
        path.write_text(self.changed(path.read_text(encoding="utf-8")), encoding="utf-8")

    def changed(self, text: str) -> str:
        """Return the text of the file with the change. Raises `ValueError` if the row is stale."""
        count = text.count(self.before)
        if count != 1 or self.before == self.after:
            raise ValueError(f"the row is stale: its text occurs {count} times in {self.file}")
        return text.replace(self.before, self.after)

    def staleness(self, root: Path) -> Iterator[str]:
        """Yield what the row names that a tree doesn't have."""
        try:
            text = self.changed((root / self.file).read_text(encoding="utf-8"))
            if self.file.endswith(".py"):
                ast.parse(text)
        except (OSError, ValueError, SyntaxError) as error:
            yield str(error)
        count = " ".join((root / self.document).read_text(encoding="utf-8").split()).count(self.promise)
        if count != 1:
            yield f"{self.document} promises {count} times: {self.promise}"
        for test in self.tests:
            path, _, name = test.partition("::")
            if not (root / path).is_file():
                yield f"{path} doesn't exist"
            elif name and name.partition("[")[0] not in _functions(root / path):
                yield f"{path} has no {name}"


def mutations() -> list[Mutation]:
    """Return the rows of all tables; each table or row names its document."""
    tables = [tomllib.loads(path.read_text("utf-8")) for path in sorted(Path(__file__).parent.glob("*.toml"))]
    return [
        Mutation(**{"document": table.get("document"), **row, "tests": tuple(row["tests"])})
        for table in tables
        for row in table["mutation"]
    ]


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
