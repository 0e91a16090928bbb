"""A side process reads what the indexer would read; when it dies, nothing but the process is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.core.system import stamp_of
from foveal.daemon.index import reading_queue
from foveal.daemon.index.lexical_files import FOLDER
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.messages import ProjectProgress
from foveal.daemon.index.reading import FileToRead
from foveal.daemon.index.reading_queue import AHEAD_FROM, FILES_MAX, READERS_MAX, Readers, count_for
from foveal.daemon.index.side_process import STARTS_MAX

from tests.ahead_cases import Started, content, index, opened, settle, write
from tests.indexer_cases import GENEROUS_S, put

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


# Several processes read a project's files, each a part of them; what they read is what one would.


PROCESSES = 3


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("many"), PROCESSES * FILES_MAX)


@pytest.fixture
def started() -> Started:
    return Started()


@pytest.fixture
def readers(many: Path, started: Started) -> Iterator[Readers]:
    with closing(Readers(started, str(many), 100_000, PROCESSES)) as all_of_them:
        yield all_of_them


def ask(readers: Readers, many: Path, count: int) -> list[str]:
    names = [f"pack/m{n}.py" for n in range(count)]
    readers.ask((FileToRead(name, "python"), stamp_of(os.stat(many / name))) for name in names)
    return names


def take_all(readers: Readers) -> list[str]:
    """Return the paths of what is read until none is away any more."""
    found: list[str] = []
    while readers.away:
        found += [read.look.path for read, _ in readers.take(32, GENEROUS_S)]
    return found


def test_remaining_readers_read_the_files_of_a_dead_reader(
    readers: Readers, many: Path, started: Started
) -> None:
    ask(readers, many, 30)
    _, victim = started.made[1]
    os.kill(victim.pid, signal.SIGSTOP)
    read = [one.look.path for _ in range(20) for one, _ in readers.take(1, 0.0)]
    os.kill(victim.pid, signal.SIGKILL)
    read += take_all(readers)
    (culprit,) = readers.take_culprits()
    assert culprit not in read
    assert readers.take_culprits() == []
    assert readers.room == PROCESSES * FILES_MAX, "it may be started again"


def test_the_index_is_the_same_with_many_processes(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "available_cores", lambda: 8)
    started = Started()
    index(many, tmp_path / "ahead", started)
    names = [name for name, _ in started.made]
    assert names.count("FileOpening") == PROCESSES
    index(many, tmp_path / "alone")
    assert content(tmp_path / "ahead") == content(tmp_path / "alone")


def test_no_more_processes_than_cores_and_files_are_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, files, expected in (
        (1, 100_000, 1),
        (2, 100_000, 1),
        (3, 100_000, 2),
        (64, 100_000, READERS_MAX),
        (64, FILES_MAX - 1, 1),
        (64, FILES_MAX, 2),
    ):
        monkeypatch.setattr(reading_queue, "available_cores", lambda cores=cores: cores)
        assert count_for(files) == expected, (cores, files)
