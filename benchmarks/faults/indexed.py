"""An index that is driven by hand, and what an index says, in a form in which two of the same files are
equal: so that what came of many changes can be held against a first indexing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from foveal.daemon.core.errors import FovealError
from foveal.daemon.core.system import System
from foveal.daemon.index.indexer import ProjectIndexer
from foveal.daemon.index.lexical_files import FOLDER
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.link_table import STATES
from foveal.daemon.index.records import Event, OpenProject, ProjectProgress, TreeDelta
from foveal.daemon.index.service import Reader
from foveal.daemon.project.records import FileRecord, WatchBatch
from foveal.daemon.project.service import Tree, Watcher
from foveal.daemon.project.watcher import WatchSettings

TICK_NS = 30_000_000
"""Times of files advance so far at a time: more than on any kernel, so that many changes fall into one."""

HITS_MAX = 10_000

Image = dict[str, tuple[Any, ...]]


class TickingSystem(System):
    """The real file system as on a kernel with a coarse clock for the times of files, which the newest hide;
    and a steady clock that can be put forward."""

    def __init__(self) -> None:
        self.skipped_s = 0.0

    def time_ns(self) -> int:
        """Return the clock by which files get their times, in its ticks."""
        # No file that changes later has an earlier time than one that changes now. The clocks that can be
        # asked run a tick behind it, or ahead.
        os.utime(_clock_file())
        return _tick(os.fstat(_clock_file()).st_ctime_ns)

    def monotonic(self) -> float:
        """Return seconds, those that were skipped too."""
        return super().monotonic() + self.skipped_s

    def stat(self, path: str) -> os.stat_result:
        """Stat a path."""
        return _ticking(super().stat(path))

    def lstat(self, path: str) -> os.stat_result:
        """Stat a path itself."""
        return _ticking(super().lstat(path))

    def read(self, path: str, limit: int | None = None) -> tuple[bytes, os.stat_result]:
        """Read a file, with its stat before."""
        data, status = super().read(path, limit)
        return data, _ticking(status)


class IndexedProject:
    """A project with its index, as the indexer's process has it; all happens in `work`, on one's own thread.

    While `deaf` is set what the watcher tells is lost.
    """

    def __init__(
        self,
        root: Path,
        folder: Path,
        system: TickingSystem | None = None,
        exclude: tuple[str, ...] = (),
    ) -> None:
        self.root = root
        self.folder = folder
        self._exclude = exclude
        self.system = system or TickingSystem()
        self.deaf = False
        self.native = True
        self.tree = Tree(str(root))
        self.progress: ProjectProgress | None = None
        self._indexer: ProjectIndexer | None = None

    @property
    def indexer(self) -> ProjectIndexer:
        """The indexer; `open` makes one."""
        assert self._indexer is not None
        return self._indexer

    def open(self) -> None:
        """Open the index as a new process does, and the tree as a daemon does."""
        self.close()
        command = OpenProject(
            root=str(self.root),
            folder=str(self.folder),
            max_file_bytes=10_000,
            exclude=self._exclude,
            skip_folders_extra=(),
            poll_interval_ms=2_000,
            sweep_interval_s=60,
        )
        self._indexer = ProjectIndexer(
            command, self.system, self._take, lambda: None, make_watcher=self._watch
        )
        with closing(Reader(str(self.folder))) as reader:
            self.tree = Tree(str(self.root), self._indexer.generation, reader.load_files())

    def close(self) -> None:
        """Close the index."""
        if self._indexer is not None:
            self._indexer.close()
            self._indexer = None

    def work(self) -> bool:
        """Do one thing as the worker does; False if there is nothing to do now."""
        if self.indexer.patience() != 0.0:
            return False
        self.indexer.step()
        return True

    def settle(self) -> None:
        """Work until there is nothing to do."""
        while self.work():
            pass

    def image(self, words: Iterable[str]) -> Image:
        """Return what the index says; see `image_of`."""
        return image_of(self.folder, words)

    def told(self) -> dict[str, FileRecord]:
        """Return the tree as the daemon has it, by what it was told."""
        return dict(self.tree.files)

    def _take(self, event: Event) -> None:
        if isinstance(event, ProjectProgress):
            self.progress = event
        elif isinstance(event, TreeDelta) and (event.upserted or event.removed):
            self.tree = self.tree.with_changes(event.generation, event.upserted, event.removed)

    def _watch(
        self, folders: Iterable[str], on_batch: Callable[[WatchBatch], None], *, cookie_folder: str
    ) -> Watcher:
        def hear(batch: WatchBatch) -> None:
            if not self.deaf:
                on_batch(batch)

        return Watcher(folders, hear, cookie_folder=cookie_folder, settings=WatchSettings(native=self.native))


def first_indexing(root: Path, folder: Path, words: Iterable[str], exclude: tuple[str, ...] = ()) -> Image:
    """Return what an index says that is made of the files as they are now, without those that patterns
    exclude. Raises `FovealError` where that doesn't come to an end."""
    fresh = IndexedProject(root, folder, exclude=exclude)
    fresh.native = False
    fresh.open()
    try:
        fresh.settle()
        if fresh.progress is None or fresh.progress.state != "ready":
            raise FovealError(f"a first indexing of {root} ended as {fresh.progress}")
        return fresh.image(words)
    finally:
        fresh.close()


def image_of(folder: Path, words: Iterable[str]) -> Image:
    """Return what an index says of each file: its record without the stamp, its definitions and imports, what
    its references of some names mean, its chunks, and which of these words lead to it."""
    words = tuple(words)
    with closing(Reader(str(folder))) as reader:
        links = _links(reader, words)
        found = _found(reader, folder, words)
        records = reader.load_files()
        chunks: dict[str, list[tuple[bytes, str, str]]] = {}
        for chunk in reader.chunks.of_paths(records):
            chunks.setdefault(chunk.path, []).append((chunk.digest, chunk.kind, chunk.symbol))
        return {
            path: (
                (record.digest, record.language, record.skipped, record.lines, record.symbols),
                reader.symbols(path),
                sorted((one.imported.line, one.target, one.missing) for one in reader.imports(path)),
                links.get(path, []),
                chunks.get(path, []),
                found.get(path, []),
            )
            for path, record in records.items()
        }


def differences(image: Image, truth: Image) -> list[str]:
    """Return in words where an index isn't what it should be."""
    wrong = [f"{path} is missing" for path in sorted(truth.keys() - image.keys())]
    wrong += [f"{path} doesn't exist" for path in sorted(image.keys() - truth.keys())]
    parts = ("record", "definitions", "imports", "links", "chunks", "words")
    for path in sorted(truth.keys() & image.keys()):
        for part, is_now, should in zip(parts, image[path], truth[path], strict=True):
            if is_now != should:
                wrong.append(f"the {part} of {path}: {is_now!r:.200}, not {should!r:.200}")
    return wrong


def _links(reader: Reader, words: Iterable[str]) -> dict[str, list[tuple[object, ...]]]:
    """Return by file what its references mean, without ids of definitions, which differ."""
    links = [link for word in words for link in reader.links.named(word, states=STATES)]
    ids = {number for link in links for number in (link.scope, link.target) if number}
    names = {
        definition.id: f"{definition.path}#{definition.symbol.name}"
        for definition in reader.links.definitions(ids).values()
    }
    by_file: dict[str, list[tuple[object, ...]]] = {}
    for link in links:
        ends = [names.get(number, f"{number} dangles") if number else "" for number in link[4:6]]
        by_file.setdefault(link.path, []).append((link.line, link.kind, link.name, link.state, *ends))
    return {path: sorted(rows, key=repr) for path, rows in by_file.items()}


def _found(reader: Reader, folder: Path, words: Iterable[str]) -> dict[str, list[tuple[str, int]]]:
    """Return by file which words are found in it, and in how many of its chunks."""
    lexical = LexicalReader(str(folder / FOLDER))
    found: dict[str, list[tuple[str, int]]] = {}
    for word in words:
        counts = Counter(hit.file_id for hit in lexical.search({word: 1.0}, HITS_MAX))
        paths = reader.chunks.paths(counts)
        for file_id, count in counts.items():
            found.setdefault(paths.get(file_id, f"{file_id} is gone"), []).append((word, count))
    return found


def _ticking(status: os.stat_result) -> os.stat_result:
    """Return a stat as a clock with ticks makes it."""
    fields = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
    for name in ("st_mtime_ns", "st_ctime_ns"):
        fields[name] = _tick(fields[name])
    return cast("os.stat_result", SimpleNamespace(**fields))


def _tick(nanoseconds: int) -> int:
    return nanoseconds - nanoseconds % TICK_NS


@cache
def _clock_file() -> int:
    return os.memfd_create("clock")
