"""A side process reads what the indexer would read; when it dies, nothing but the process is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from foveal.daemon.index.lexical_files import FOLDER
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.messages import ProjectProgress
from foveal.daemon.index.reading_queue import AHEAD_FROM
from foveal.daemon.index.side_process import STARTS_MAX

from tests.ahead_cases import Started, content, index, opened, settle, write
from tests.indexer_cases import put

COUNT = AHEAD_FROM + 40


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, COUNT)


@pytest.mark.parametrize("dies", [False, True])
def test_reading_ahead_gives_the_indexers_contents_and_its_death_costs_nothing(
    root: Path, tmp_path: Path, dies: bool
) -> None:
    started = Started()
    if dies:
        started.on_start = lambda _, process: os.kill(process.pid, signal.SIGKILL)
    events = index(root, tmp_path / "ahead", started)
    index(root, tmp_path / "alone")
    assert {name for name, _ in started.made} == {"FileOpening"}
    assert 1 <= len(started.made) <= (STARTS_MAX if dies else 1)
    assert content(tmp_path / "ahead") == content(tmp_path / "alone")
    progress = [event for event in events if isinstance(event, ProjectProgress)][-1]
    assert (progress.state, progress.degraded) == ("ready", ())
    found = [
        sorted(hit.score for hit in LexicalReader(str(tmp_path / one / FOLDER)).search({"turn": 1.0}, 500))
        for one in ("ahead", "alone")
    ]
    assert len(found[0]) > COUNT
    assert found[0] == pytest.approx(found[1])


def test_a_small_project_starts_no_process(tmp_path: Path) -> None:
    started = Started()
    index(write(tmp_path, 5), tmp_path / "index", started)
    assert started.made == []


def test_a_file_that_changed_while_it_was_away_is_read_again(root: Path, tmp_path: Path) -> None:
    with opened(root, tmp_path / "ahead", Started()) as (indexer, _):
        reading = indexer._index.reading
        while reading._readers is None:
            indexer.step()
        away = [path for path in indexer._index.files.unread if path in reading._readers]
        assert away
        put(root, {away[-1]: "def written_later(): ...\n"})
        (root / away[-2]).unlink()
        indexer.sync()
        settle(indexer)
    index(root, tmp_path / "alone")
    assert content(tmp_path / "ahead") == content(tmp_path / "alone")
