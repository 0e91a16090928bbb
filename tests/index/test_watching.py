"""What a watcher sees reaches the indexer's thread in order, and nothing does after the end."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.index.tree_changes import PENDING_PATHS, ProjectWatch
from foveal.daemon.project.records import WatchBatch
from foveal.daemon.project.service import Watcher
from foveal.daemon.project.watcher import WatchSettings

from tests.indexer_cases import GENEROUS_S


class Watched:
    """A folder with a watch of it, and what the watch told."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.root.mkdir()
        self.folder = base / "own"
        self.told: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.watch = ProjectWatch(str(self.folder), lambda: self.told.put(None))

    def wait_seen(self, name: str) -> None:
        """Take batches until one names a file."""
        while True:
            self.told.get(timeout=GENEROUS_S)
            batch = self.watch.next_batch()
            assert batch is not None
            if name in {Path(path).name for path in batch.paths}:
                return


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    one = Watched(tmp_path)
    with closing(one.watch):
        yield one


def test_before_it_begins_there_is_no_watch(watched: Watched) -> None:
    watch = watched.watch
    watch.add([str(watched.root)])
    watch.replace([str(watched.root)])
    assert (watch.active, watch.mode, watch.native, watch.problem) == (False, "off", False, "")
    assert watch.next_batch() is None


def test_events_are_taken_as_batches(watched: Watched) -> None:
    watched.watch.begin([str(watched.root)])
    assert (watched.watch.mode, watched.watch.native, watched.watch.problem) == ("native", True, "")
    (watched.root / "a.py").write_text("x = 1\n")
    watched.wait_seen("a.py")


def test_why_the_system_tells_of_nothing_is_said(tmp_path: Path) -> None:
    def poll(
        folders: Iterable[str], on_batch: Callable[[WatchBatch], None], *, cookie_folder: str
    ) -> Watcher:
        settings = WatchSettings(native=False)
        return Watcher(folders, on_batch, cookie_folder=cookie_folder, settings=settings)

    with closing(ProjectWatch(str(tmp_path), lambda: None, poll)) as watch:
        watch.begin([str(tmp_path)])
        assert (watch.active, watch.mode, watch.native) == (True, "polling", False)
        assert "native events are switched off" in watch.problem


def test_batches_that_wait_become_one(watched: Watched) -> None:
    for number in (1, 2, 1):
        watched.watch._hear(WatchBatch(frozenset({f"/p/{number}"}), lost_folders=frozenset({f"/l/{number}"})))
    paths, lost = frozenset({"/p/1", "/p/2"}), frozenset({"/l/1", "/l/2"})
    assert watched.watch.next_batch() == WatchBatch(paths, lost_folders=lost)
    assert watched.watch.next_batch() is None
    watched.watch._hear(WatchBatch(frozenset({"/p/1"})))
    watched.watch._hear(WatchBatch(frozenset(), overflow=True))
    assert watched.watch.next_batch() == WatchBatch(frozenset(), overflow=True)


def test_changes_without_end_take_no_memory_without_end(watched: Watched) -> None:
    for number in range(3 * PENDING_PATHS):
        watched.watch._hear(WatchBatch(frozenset({f"/p/{number}"})))
    assert len(watched.watch._paths) <= PENDING_PATHS
    assert watched.watch.next_batch() == WatchBatch(frozenset(), overflow=True)
    assert watched.watch.next_batch() is None
