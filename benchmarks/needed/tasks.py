"""The tasks: messages of commits as prompts, with the definitions that each commit edited and those it read.

A commit counts only where each definition that it edited was until then as it is in the pinned tree, so that
one tree and one index serve all tasks of a repository and every line number is exact.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Symbol

from ..retrieval import source_files
from ..retrieval.messages import question
from ..retrieval.repositories import Repository, git_command

FILES_MAX = 3
"""Maximum number of source files in a commit: one of more is about several things."""

LINES_MAX = 80
"""Maximum number of lines that a commit edits; more is a rewrite, of which no context could show all."""

READS_MAX = 12
"""Maximum number of definitions that a task counts as read."""

BEARERS_MAX = 2
"""A name with more definitions in the tree doesn't say which of them was read."""

_BOTS = ("[bot]", "dependabot", "renovate", "weblate", "transifex", "github-actions")
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_READABLE = frozenset(
    {"function", "method", "class", "struct", "enum", "trait", "interface", "constant", "variable", "type"}
)


@dataclass(frozen=True, slots=True)
class Place:
    """A definition in the pinned tree; lines count from 1, both inclusive."""

    path: str
    name: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Task:
    """One commit. `lines` are the edited lines within definitions by path, as the pinned tree counts them; of
    lines that were only added the two around them. `edits` are the innermost definitions around these,
    `reads` those that its changed lines name."""

    id: str
    project: str
    split: str
    language: str
    text: str
    lines: Mapping[str, tuple[int, ...]]
    edits: tuple[Place, ...]
    reads: tuple[Place, ...]

    @property
    def files(self) -> frozenset[str]:
        """The files that the commit edits or reads."""
        return frozenset(self.lines) | {place.path for place in self.reads}


def mine(clone: Path, repository: Repository, limit: int) -> list[Task]:
    """Return at most so many tasks from the commits after the pinned tree, the oldest first.

    Raises `subprocess.CalledProcessError` if the clone lacks a pinned commit.
    """
    tree = _Tree(clone, repository.revision)
    tasks: list[Task] = []
    seen: set[object] = set()
    for commit, author, message, changes in _commits(clone, repository):
        text = question(message)
        if not text or text in seen or any(bot in author.lower() for bot in _BOTS):
            continue
        task = _task(tree, repository, commit, text, changes)
        if task is None or task.edits in seen:
            continue
        seen |= {text, task.edits}
        tasks.append(task)
        if len(tasks) == limit:
            break
    return tasks


def told(path: Path, tasks: Iterable[Task]) -> list[Task]:
    """Return those tasks for which a file has a report, with this in place of the commit's message."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["report"]
    texts = {entry["task"]: entry["text"].strip() for entry in entries}
    return [replace(task, text=texts[task.id]) for task in tasks if task.id in texts]


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(task)) + "\n" for task in tasks), encoding="utf-8")


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a file that `write_tasks` wrote."""
    return [_read(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def edited_lines(difference: bytes) -> Iterator[tuple[int, int]]:
    """Yield the edited lines of the former version, each by itself, first and last; where lines were only
    added the two around them."""
    for match in _HUNK.finditer(difference):
        first, count = int(match[1]), int(match[2] or 1)
        if not count:
            yield first, first + 1
        yield from ((line, line) for line in range(first, first + count))


def innermost(symbols: Sequence[Symbol], first: int, last: int) -> Symbol | None:
    """Return the innermost definition around lines, None where they lie in none."""
    inside = [
        symbol
        for symbol in symbols
        if symbol.kind != "section" and symbol.start_line <= first and last <= symbol.end_line
    ]
    return max(inside, key=lambda one: (one.start_line, -one.end_line), default=None)


class _Tree:
    """The pinned tree: its files by content id, and its definitions by their last name."""

    def __init__(self, clone: Path, revision: str) -> None:
        self.clone = clone
        self.blobs: dict[str, str] = {}
        for entry in _git(clone, "ls-tree", "-r", "-z", revision).decode("utf-8", "replace").split("\0"):
            head, _, path = entry.partition("\t")
            if path and head.split()[1] == "blob":
                self.blobs[path] = head.split()[2]
        self.sources: dict[str, bytes] = {}
        self.symbols: dict[str, Sequence[Symbol]] = {}
        self.bearers: dict[str, list[Place]] = {}
        for path in sorted(self.blobs):
            if source_files.language_of(path):
                self._read(path)

    def lines(self, path: str) -> list[str]:
        """Return the lines of a source file."""
        return self.sources[path].decode("utf-8", "replace").split("\n")

    def _read(self, path: str) -> None:
        source = _git(self.clone, "cat-file", "blob", self.blobs[path])
        symbols = parse_source(source, language_of(path, source[:200])).symbols
        self.sources[path], self.symbols[path] = source, symbols
        for symbol in symbols:
            if symbol.kind in _READABLE:
                name = re.split(r"[.:#]", symbol.name)[-1]
                self.bearers.setdefault(name, []).append(_place(path, symbol))


def _task(
    tree: _Tree, repository: Repository, commit: str, text: str, changes: Sequence[tuple[str, str, str, str]]
) -> Task | None:
    sources = [change for change in changes if source_files.language_of(change[3])]
    if not 0 < len(sources) <= FILES_MAX or any(status != "M" for status, *_ in sources):
        return None
    lines: dict[str, tuple[int, ...]] = {}
    edits: dict[Place, None] = {}
    words: dict[str, None] = {}
    for _, old, new, path in sources:
        shown = ("--unified=0", "--no-ext-diff", "--no-textconv", "--no-color")
        difference = _git(tree.clone, "diff", *shown, old, new)
        edited = _edited(tree, path, _git(tree.clone, "cat-file", "blob", old), difference)
        if edited is None:
            return None
        if edited:
            lines[path] = tuple(sorted(edited))
        edits |= dict.fromkeys(edited.values())
        changed = [row[1:] for row in difference.decode("utf-8", "replace").split("\n") if row[:1] in "+-"]
        words |= dict.fromkeys(_NAME.findall("\n".join(changed)))
    if not edits or sum(map(len, lines.values())) > LINES_MAX:
        return None
    reads = [
        place
        for word in words
        if 0 < len(tree.bearers.get(word, ())) <= BEARERS_MAX
        for place in tree.bearers[word]
        if place not in edits
    ]
    return Task(
        f"{repository.name}-{commit[:12]}",
        repository.name,
        repository.split,
        source_files.language_of(sources[0][3]),
        text,
        lines,
        tuple(edits),
        tuple(reads[:READS_MAX]),
    )


def _edited(tree: _Tree, path: str, before: bytes, difference: bytes) -> dict[int, Place] | None:
    """Return the edited lines within definitions, as the pinned tree counts them, and whose they are.

    None where one of these definitions isn't in the pinned tree with the same text.
    """
    if path not in tree.sources:
        return None
    old, pinned = before.decode("utf-8", "replace").split("\n"), tree.lines(path)
    symbols = parse_source(before, language_of(path, before[:200])).symbols
    here = {symbol.name: symbol for symbol in tree.symbols[path]}
    edited: dict[int, Place] = {}
    for first, last in edited_lines(difference):
        symbol = innermost(symbols, first, last)
        if symbol is None:
            continue
        same = here.get(symbol.name)
        text = old[symbol.start_line - 1 : symbol.end_line]
        if same is None or pinned[same.start_line - 1 : same.end_line] != text:
            return None
        shift, place = same.start_line - symbol.start_line, _place(path, same)
        edited |= {n + shift: place for n in (first, last) if re.search(r"\w{2}", old[n - 1])}
    return edited


def _commits(
    clone: Path, repository: Repository
) -> Iterator[tuple[str, str, str, list[tuple[str, str, str, str]]]]:
    """Yield id, author, message and changes (status, old and new content, path) of each commit, the oldest
    first, without merges."""
    order = ("--reverse", "--topo-order", "--no-merges", "--no-renames")
    shown = ("--raw", "--no-abbrev", "-z", "--no-ext-diff", "--format=%x00%x1e%H%x00%an%x00%B%x00")
    span = f"{repository.revision}..{repository.until}"
    log = _git(clone, "log", *order, *shown, span).decode("utf-8", "replace")
    for record in log.split("\0\x1e")[1:]:
        commit, author, message, *fields = record.split("\0")
        names = [field.lstrip("\n") for field in fields if field.strip("\n")]
        changes = []
        for head, path in zip(names[::2], names[1::2], strict=True):
            _, _, old, new, status = head.split()
            changes.append((status, old, new, path))
        yield commit, author, message, changes


def _place(path: str, symbol: Symbol) -> Place:
    return Place(path, symbol.name, symbol.start_line, symbol.end_line)


def _read(row: dict[str, object]) -> Task:
    values = dict(row)
    for name in ("edits", "reads"):
        values[name] = tuple(Place(**place) for place in values[name])  # type: ignore[attr-defined]  # JSON
    values["lines"] = {path: tuple(lines) for path, lines in values["lines"].items()}  # type: ignore[attr-defined]  # JSON
    return Task(**values)  # type: ignore[arg-type]  # JSON


def _git(clone: Path, *arguments: str) -> bytes:
    environ = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    return subprocess.run(
        git_command(clone, *arguments), stdout=subprocess.PIPE, check=True, env=environ
    ).stdout
