"""Several processes read a project's files, each a part of them; what they read is what one would."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.core.system import stamp_of
from foveal.daemon.index import reading_queue
from foveal.daemon.index.reading import FileToRead
from foveal.daemon.index.reading_queue import FILES_MAX, READERS_MAX, Readers, count_for

from tests.ahead_cases import Started, content, index, write
from tests.indexer_cases import GENEROUS_S

PROCESSES = 3


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("many"), PROCESSES * FILES_MAX)


@pytest.fixture
def started() -> Started:
    return Started()


@pytest.fixture
def readers(root: Path, started: Started) -> Iterator[Readers]:
    with closing(Readers(started, str(root), 100_000, PROCESSES)) as all_of_them:
        yield all_of_them


def ask(readers: Readers, root: Path, count: int) -> list[str]:
    names = [f"pack/m{n}.py" for n in range(count)]
    readers.ask((FileToRead(name, "python"), stamp_of(os.stat(root / name))) for name in names)
    return names


def take_all(readers: Readers) -> list[str]:
    """Return the paths of what is read until none is away any more."""
    found: list[str] = []
    while readers.away:
        found += [read.look.path for read, _ in readers.take(32, GENEROUS_S)]
    return found


def test_remaining_readers_read_the_files_of_a_dead_reader(
    readers: Readers, root: Path, started: Started
) -> None:
    ask(readers, root, 30)
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
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "available_cores", lambda: 8)
    started = Started()
    index(root, tmp_path / "ahead", started)
    names = [name for name, _ in started.made]
    assert names.count("FileOpening") == PROCESSES
    index(root, tmp_path / "alone")
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
