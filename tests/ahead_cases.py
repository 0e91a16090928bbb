"""Projects that are large enough for side processes, indexed with them and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from foveal.daemon.core.system import System
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.records import Event, OpenProject
from foveal.daemon.index.service import Reader
from foveal.daemon.index.side_process import Opening, SideProcess

from tests.indexer_cases import put


def many_files(count: int) -> dict[str, str | bytes]:
    """Return files that import each other, with some that aren't indexed among them."""
    files: dict[str, str | bytes] = {
        f"pack/m{n}.py": f"from pack.m{(n * 7 + 1) % count} import f{(n * 7 + 1) % count}\n\n\n"
        f"class C{n}:\n    def run(self):\n        return f{(n * 7 + 1) % count}(self)\n\n\n"
        f'def f{n}(given):\n    """Turn number {n} over."""\n    return C{n}().run()\n'
        for n in range(count)
    }
    return files | {"pack/__init__.py": "", "logo.png": b"\x89PNG\0", "readme.md": "# Numbers\n\nTurned.\n"}


class Started:
    """Starts side processes and keeps them for inspection."""

    def __init__(self) -> None:
        self.made: list[tuple[str, SideProcess]] = []
        """Processes with the names of their openings' types."""
        self.on_start: Callable[[str, SideProcess], object] = lambda opening, process: None

    def __call__(self, opening: Opening) -> SideProcess:
        process, name = SideProcess(opening), type(opening).__name__
        self.made.append((name, process))
        self.on_start(name, process)
        return process


@contextmanager
def opened(root: Path, folder: Path, make: Started | None) -> Iterator[tuple[ProjectIndexer, list[Event]]]:
    """Open a project's index."""
    command = OpenProject(str(root), str(folder), 100_000, (), (), 2_000, 60)
    events: list[Event] = []
    indexer = ProjectIndexer(command, System(), events.append, lambda: None, start_side_process=make)
    try:
        yield indexer, events
    finally:
        indexer.close()


def settle(indexer: ProjectIndexer) -> None:
    """Work until there is nothing to do."""
    while indexer.patience() == 0.0:
        indexer.step()


def index(root: Path, folder: Path, make: Started | None = None) -> list[Event]:
    """Index a project to the end."""
    with opened(root, folder, make) as (indexer, events):
        settle(indexer)
    return events


def content(folder: Path) -> dict[str, Any]:
    """Return all that an index says, by paths and names in the place of numbers."""
    queries = {
        "files": "SELECT path, digest, language, skipped, lines, symbols FROM files",
        "definitions": "SELECT f.path, d.ordinal, d.name, d.kind, d.start_line, d.end_line, d.signature, d.doc"
        " FROM definitions d JOIN files f ON f.id = d.file_id",
        "imports": "SELECT f.path, i.module, i.name, i.line, i.target, i.missing FROM imports i"
        " JOIN files f ON f.id = i.file_id",
        "chunks": "SELECT f.path, c.start_line, c.end_line, c.symbol, c.kind, c.names, c.digest, c.embed"
        " FROM chunks c JOIN files f ON f.id = c.file_id",
        "texts": "SELECT f.path, t.chunks FROM texts t JOIN files f ON f.id = t.file_id",
        "facts": "SELECT f.path, a.said, a.shown, a.interface, a.refs FROM facts a"
        " JOIN files f ON f.id = a.file_id",
        "links": "SELECT f.path, l.line, l.kind, n.name, s.name, o.path, t.name, l.state FROM links l"
        " JOIN files f ON f.id = l.file_id JOIN names n ON n.id = l.name"
        " LEFT JOIN definitions s ON s.id = l.scope LEFT JOIN definitions t ON t.id = l.target"
        " LEFT JOIN files o ON o.id = t.file_id",
        "consulted": "SELECT f.path, p.path FROM consulted c JOIN files f ON f.id = c.file_id"
        " JOIN places p ON p.id = c.place",
        "waiting": "SELECT COUNT(*) FROM unlinked",
        "unlexed": "SELECT COUNT(*) FROM unlexed",
    }
    with closing(Reader(str(folder))) as reader:
        return {
            name: sorted(reader._db.execute(query).fetchall(), key=repr) for name, query in queries.items()
        }


def write(base: Path, count: int) -> Path:
    """Write a project of `many_files`."""
    root = base.resolve() / "project"
    root.mkdir()
    put(root, many_files(count))
    return root
