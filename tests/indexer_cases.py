"""A project with its index, driven by hand."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.records import (
    Event,
    FileActivity,
    OpenProject,
    ProjectProgress,
    Refreshed,
    TreeDelta,
)
from foveal.daemon.index.service import Reader
from foveal.daemon.project.records import WatchBatch
from foveal.daemon.project.service import Tree, Watcher
from foveal.daemon.project.watcher import WatchSettings

from tests.conftest import write_files

GENEROUS_S = 60.0
OLD_NS = 1_700_000_000 * 10**9
"""A time of modification long ago, so that a stamp proves the content."""


class Disk(System):
    """The real one, with a count of what is read, faults, and a clock that can be put forward."""

    def __init__(self) -> None:
        self.reads: list[str] = []
        self.before_read: dict[str, Callable[[], object]] = {}
        """What happens once, when a path is about to be read."""
        self.refused: dict[str, OSError] = {}
        self.skipped_s = 0.0

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        self.reads.append(path)
        self.before_read.pop(path, lambda: None)()
        if path in self.refused:
            raise self.refused[path]
        return super().read(path, limit)

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped_s


class Bench:
    """A project with its index, driven by hand: nothing happens but in `work`, `settle` and `until`."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.disk = Disk()
        self.deaf = False
        """The watcher's batches end in `lost`."""
        self.lost: queue.Queue[WatchBatch] = queue.Queue()
        self.watch_settings = WatchSettings()
        self.tell: Callable[[WatchBatch], None] = lambda batch: None
        """What the watcher calls with a batch."""
        self.events: list[Event] = []
        self.tree = Tree(str(self.root))
        self._woken = threading.Event()
        """The watcher has said something."""
        self._indexer: ProjectIndexer | None = None

    @property
    def indexer(self) -> ProjectIndexer:
        assert self._indexer is not None
        return self._indexer

    def open(self, **settings: Any) -> None:
        """Open the index as a new process would, and the tree as a daemon does."""
        self.close()
        defaults: dict[str, Any] = {
            "max_file_bytes": 10_000,
            "exclude": (),
            "skip_folders_extra": (),
            "poll_interval_ms": 2_000,
            "sweep_interval_s": 60,
        }
        command = OpenProject(root=str(self.root), folder=str(self.folder), **(defaults | settings))
        self.events.clear()
        self._indexer = ProjectIndexer(
            command, self.disk, self._announce, self._woken.set, make_watcher=self.watch
        )
        with self.reader() as reader:
            self.tree = Tree(str(self.root), self.indexer.generation, reader.load_files())

    def start(
        self, files: dict[str, str | bytes] | None = None, *, deaf: bool = False, **settings: Any
    ) -> None:
        """Write files, open the index, which may be deaf, and work until there is nothing to do."""
        self.deaf = self.deaf or deaf
        put(self.root, files or {})
        self.open(**settings)
        self.settle()

    def close(self) -> None:
        if self._indexer is not None:
            self._indexer.close()
            self._indexer = None
        self._woken.clear()

    def watch(
        self, folders: Iterable[str], on_batch: Callable[[WatchBatch], None], *, cookie_folder: str
    ) -> Watcher:
        """Stand in for the watcher's class."""
        self.tell = on_batch

        def hear(batch: WatchBatch) -> None:
            if self.deaf:
                self.lost.put(batch)
            else:
                on_batch(batch)

        return Watcher(folders, hear, cookie_folder=cookie_folder, settings=self.watch_settings)

    def work(self) -> bool:
        """Do one thing, as the worker's loop does; False if there is nothing to do now."""
        self._woken.clear()
        if self.indexer.patience() != 0.0:
            return False
        self.indexer.step()
        return True

    def settle(self) -> None:
        """Work until there is nothing to do."""
        while self.work():
            pass

    def until(self, known: Callable[[], bool]) -> None:
        """Work until something is known, waiting for the watcher where there is nothing to do."""
        while not known():
            if not self.work():
                assert self._woken.wait(GENEROUS_S)

    def sync(self) -> Refreshed:
        return self.indexer.sync()

    def skip(self, seconds: float) -> None:
        """Let time pass, and do what is due then."""
        self.disk.skipped_s += seconds
        self.settle()

    def reader(self) -> closing[Reader]:
        return closing(Reader(str(self.folder)))

    @property
    def deltas(self) -> list[TreeDelta]:
        return [event for event in self.events if isinstance(event, TreeDelta)]

    @property
    def progress(self) -> ProjectProgress:
        return [event for event in self.events if isinstance(event, ProjectProgress)][-1]

    @property
    def state(self) -> str:
        return self.progress.state

    @property
    def states(self) -> list[str]:
        """The states that were announced, each once in a row."""
        states = [event.state for event in self.events if isinstance(event, ProjectProgress)]
        return [state for before, state in zip([None, *states], states, strict=False) if state != before]

    def files_read(self) -> list[str]:
        """Return which of the project's files were read since the last call, sorted."""
        prefix = f"{self.root}/"
        found = sorted(path[len(prefix) :] for path in self.disk.reads if path.startswith(prefix))
        self.disk.reads.clear()
        return found

    def _announce(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, TreeDelta) and (event.upserted or event.removed):
            assert event.generation > self.tree.generation
            self.tree = self.tree.with_changes(event.generation, event.upserted, event.removed)


@contextmanager
def open_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Make an empty project with a bench for it, in a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = tmp_path.resolve() / "project"
    root.mkdir()
    bench = Bench(root, root.parent / "index")
    yield bench
    bench.close()


def put(root: Path, files: dict[str, str | bytes]) -> None:
    """Write files that were modified long ago."""
    write_files(root, files)
    for name in files:
        os.utime(root / name, ns=(OLD_NS, OLD_NS))


def _index_state(folder: Path) -> dict[str, Any]:
    """Return all that an index says of the files, but for what two writings of the same file differ in."""
    with closing(Reader(str(folder))) as reader:
        return {
            path: (
                (record.digest, record.language, record.skipped, record.lines, record.symbols),
                reader.symbols(path),
                sorted((one.imported.line, one.target, one.missing) for one in reader.imports(path)),
            )
            for path, record in reader.load_files().items()
        }


def check_true(bench: Bench) -> None:
    """Check that the index is what a first indexing makes of the files, and that it is what was announced."""
    tell = bench.tell
    fresh = Bench(bench.root, bench.folder.parent / f"fresh-{bench.indexer.generation}")
    fresh.open()
    fresh.settle()
    fresh.close()
    bench.tell = tell
    assert _index_state(bench.folder) == _index_state(fresh.folder)
    with bench.reader() as reader:
        assert reader.load_files() == dict(bench.tree.files)


def imports(bench: Bench, path: str) -> list[tuple[str, bool]]:
    with bench.reader() as reader:
        return [(one.target, one.missing) for one in reader.imports(path) if one.imported.required]


def symbols(bench: Bench, path: str) -> list[str]:
    with bench.reader() as reader:
        return [symbol.name for symbol in reader.symbols(path)]


def activity(bench: Bench) -> dict[str, FileActivity]:
    with bench.reader() as reader:
        return {one.path: one for one in reader.activity(1_000)}


def skipped(bench: Bench, path: str) -> str:
    return bench.tree.files[path].skipped


def lexical_files(bench: Bench, term: str) -> set[str]:
    """Return the files in which a term is found."""
    hits = LexicalReader(str(bench.folder / "lexical")).search({term: 1.0}, 1_000)
    with bench.reader() as reader:
        return set(reader.chunks.paths({hit.file_id for hit in hits}).values())
