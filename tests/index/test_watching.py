"""What a watcher sees reaches the indexer's thread in order, and nothing does after the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.index.tree_changes import PENDING_PATHS, ProjectWatch
from foveal.daemon.project.records import WatchBatch


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[ProjectWatch]:
    with closing(ProjectWatch(str(tmp_path), lambda: None)) as one:
        yield one


def test_before_it_begins_there_is_no_watch(watch: ProjectWatch, tmp_path: Path) -> None:
    watch.add([str(tmp_path)])
    watch.replace([str(tmp_path)])
    assert (watch.active, watch.mode, watch.native, watch.problem) == (False, "off", False, "")
    assert watch.next_batch() is None


def test_batches_that_wait_become_one(watch: ProjectWatch) -> None:
    for number in (1, 2, 1):
        watch._hear(WatchBatch(frozenset({f"/p/{number}"}), lost_folders=frozenset({f"/l/{number}"})))
    paths, lost = frozenset({"/p/1", "/p/2"}), frozenset({"/l/1", "/l/2"})
    assert watch.next_batch() == WatchBatch(paths, lost_folders=lost)
    assert watch.next_batch() is None
    watch._hear(WatchBatch(frozenset({"/p/1"})))
    watch._hear(WatchBatch(frozenset(), overflow=True))
    assert watch.next_batch() == WatchBatch(frozenset(), overflow=True)


def test_changes_without_end_take_no_memory_without_end(watch: ProjectWatch) -> None:
    for number in range(3 * PENDING_PATHS):
        watch._hear(WatchBatch(frozenset({f"/p/{number}"})))
    assert len(watch._paths) <= PENDING_PATHS
    assert watch.next_batch() == WatchBatch(frozenset(), overflow=True)
    assert watch.next_batch() is None
