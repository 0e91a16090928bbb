"""A process beside the indexer links as it would itself, and what it linked before a change is dropped."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.index.link_ahead import LinkAhead, LinkOpening, QueuedFile
from foveal.daemon.index.linking import AHEAD_FROM
from foveal.daemon.index.side_process import STARTS_MAX, SideProcess

from tests.ahead_cases import Started, content, index, opened, settle, write
from tests.indexer_cases import GENEROUS_S, put

COUNT = AHEAD_FROM + 60


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a project and what its index is without other processes; not to be changed."""
    folder = tmp_path_factory.mktemp("links").resolve()
    index(write(folder, COUNT), folder / "alone")
    return folder


@pytest.fixture
def ahead(base: Path) -> Iterator[LinkAhead]:
    opening = LinkOpening(str(base / "project"), str(base / "alone"), 100_000)
    with closing(LinkAhead(SideProcess, opening)) as one:
        yield one


@pytest.mark.parametrize("dies", [False, True])
def test_linking_ahead_gives_the_indexers_links(base: Path, tmp_path: Path, dies: bool) -> None:
    started = Started()
    if dies:
        started.on_start = lambda opening, process: (
            os.kill(process.pid, signal.SIGKILL) if opening == "LinkOpening" else None
        )
    index(base / "project", tmp_path / "ahead", started)
    names = [name for name, _ in started.made]
    assert names.count("FileOpening") == 1
    assert 1 <= names.count("LinkOpening") <= STARTS_MAX
    assert content(tmp_path / "ahead") == content(base / "alone")


def test_a_change_while_files_are_linked_ahead_is_seen(tmp_path: Path) -> None:
    root = write(tmp_path, COUNT)
    with opened(root, tmp_path / "ahead", Started()) as (indexer, _):
        while not indexer._index.linking._is_away():
            indexer.step()
        put(root, {"pack/m3.py": "class Other: ...\n", "pack/new.py": "def f3(): ...\n"})
        indexer.refresh(["pack/m3.py", "pack/new.py"])
        settle(indexer)
    index(root, tmp_path / "alone")
    assert content(tmp_path / "ahead") == content(tmp_path / "alone")


def test_files_that_can_not_be_linked_ahead_are_left_to_the_indexer(base: Path, ahead: LinkAhead) -> None:
    nothing = QueuedFile(9_999, "nowhere.py", "python")
    ahead.ask(1, [nothing])
    assert list(ahead.take(1, GENEROUS_S)) == []
    ahead.ask(1, [nothing])
    assert len(ahead) == 0
