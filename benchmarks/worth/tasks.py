"""The tasks of one code base: prompts as users write them, and keys that were written from the code."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..needed.projects import CodeBase
from ..retrieval.repositories import Repository

DATA = Path(__file__).parent / "data"
KINDS = ("where", "why", "bug", "feature", "breaks", "flow")
POINTS = 10
"""Points of a whole answer."""

_TWIN = re.compile(r"~\d+$")


@dataclass(frozen=True, slots=True)
class Fact:
    """What an answer must say, and the points for it."""

    text: str
    points: int


@dataclass(frozen=True, slots=True)
class WorthTask:
    """A prompt, its key, and the definitions (`path#name`) that one must have read to answer it."""

    id: str
    kind: str
    prompt: str
    key: tuple[Fact, ...]
    needed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A code base at its revision, with its tasks."""

    repository: Repository
    tasks: tuple[WorthTask, ...]

    @property
    def name(self) -> str:
        """The name of the code base."""
        return self.repository.name


@dataclass(frozen=True, slots=True)
class NeededDefinition:
    """A needed definition in its tree; lines count from 1, both inclusive. `head` lines are its signature."""

    path: str
    name: str
    first: int
    last: int
    head: int


def read_task_sets(folder: Path = DATA, only: Sequence[str] = ()) -> list[TaskSet]:
    """Return what the TOML files of a folder hold, by their names.

    Raises `ValueError` naming the task that is wrong.
    """
    paths = sorted(folder.glob("*.toml"))
    return [_task_set(path) for path in paths if not only or path.stem in only]


def locate(code: CodeBase, needed: str) -> NeededDefinition:
    """Return where a needed definition is: the longest of its name, of its class or type if that is written.

    A name that the parser doesn't know (SQL, templates, settings) has the lines from the shortest one with
    it, which says the least else, to the next blank line. Raises `ValueError` for one that isn't there.
    """
    path, _, name = needed.partition("#")
    wanted = re.findall(r"\w+", name)
    if path not in code.paths or not wanted:
        raise ValueError(f"{code.name} has no {needed}")
    file = code.file(path)
    parts = {
        symbol: re.findall(r"\w+", _TWIN.sub("", symbol.name))
        for symbol in file.symbols
        if symbol.kind != "section"
    }
    named = [symbol for symbol, words in parts.items() if words[-1:] == wanted[-1:]]
    exact = [symbol for symbol in named if set(wanted) <= set(parts[symbol])]
    if named:
        symbol = max(exact or named, key=lambda one: one.end_line - one.start_line)
        head = symbol.signature.count("\n") + 1
        return NeededDefinition(path, name, symbol.start_line, symbol.end_line, head)
    text = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    found = [number for number, line in enumerate(file.lines, 1) if text.search(line)]
    if not found:
        raise ValueError(f"{code.name} has no {needed}")
    first = min(found, key=lambda number: len(file.lines[number - 1]))
    rest = enumerate(file.lines[first:], first)
    return NeededDefinition(path, name, first, next((n for n, line in rest if not line.strip()), first), 1)


def _task_set(path: Path) -> TaskSet:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    revision = data["revision"]
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise ValueError(f"{path.name}: revision must be a full commit id, not {revision!r}")
    owner_and_name = data["repository"]
    repository = Repository(owner_and_name.partition("/")[2], owner_and_name, revision, revision, (), "worth")
    tasks = tuple(_tasks(data["task"]))
    if len({task.id for task in tasks}) < len(tasks):
        raise ValueError(f"{path.name}: an id stands twice")
    return TaskSet(repository, tasks)


def _tasks(entries: Sequence[dict[str, object]]) -> Iterator[WorthTask]:
    for entry in entries:
        key: list[dict[str, object]] = entry["key"]  # type: ignore[assignment]  # TOML
        facts = tuple(Fact(str(fact["fact"]), int(str(fact["points"]))) for fact in key)
        needed: list[str] = entry["needed"]  # type: ignore[assignment]  # TOML
        task = WorthTask(
            str(entry["id"]), str(entry["kind"]), str(entry["prompt"]).strip(), facts, tuple(needed)
        )
        if task.kind not in KINDS:
            raise ValueError(f"{task.id}: kind must be one of {', '.join(KINDS)}, not {task.kind!r}")
        if sum(fact.points for fact in task.key) != POINTS:
            raise ValueError(f"{task.id}: the points of its key don't add up to {POINTS}")
        if not task.needed or not all("#" in each for each in task.needed):
            raise ValueError(f"{task.id}: needed must name definitions as path#name")
        yield task
