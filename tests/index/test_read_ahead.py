"""A side process reads what the indexer would read; when it dies, nothing but the process is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.core.system import stamp_of
from foveal.daemon.index.lexical_files import FOLDER
from foveal.daemon.index.lexical_reader import LexicalReader
from foveal.daemon.index.messages import ProjectProgress
from foveal.daemon.index.reading import FileToRead
from foveal.daemon.index.reading_queue import AHEAD_FROM, FILES_MAX, ReadAhead
from foveal.daemon.index.side_process import STARTS_MAX, Opening, SideProcess

from tests.ahead_cases import Started, content, index, opened, settle, write
from tests.indexer_cases import GENEROUS_S, put

COUNT = AHEAD_FROM + 40


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, COUNT)


@pytest.fixture
def ahead(root: Path) -> Iterator[ReadAhead]:
    with closing(ReadAhead(SideProcess, str(root), 100_000)) as one:
        yield one


def ask(ahead: ReadAhead, root: Path, *names: str) -> None:
    ahead.ask((FileToRead(name, "python"), stamp_of(os.stat(root / name))) for name in names)


def test_what_is_read_ahead_is_what_the_indexer_reads(root: Path, tmp_path: Path) -> None:
    started = Started()
    index(root, tmp_path / "ahead", started)
    index(root, tmp_path / "alone")
    assert [name for name, _ in started.made] == ["FileOpening"]
    assert content(tmp_path / "ahead") == content(tmp_path / "alone")
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


def test_a_process_that_dies_costs_nothing_but_itself(root: Path, tmp_path: Path) -> None:
    started = Started()
    started.on_start = lambda _, process: os.kill(process.pid, signal.SIGKILL)
    events = index(root, tmp_path / "ahead", started)
    index(root, tmp_path / "alone")
    assert 1 <= len(started.made) <= STARTS_MAX
    assert content(tmp_path / "ahead") == content(tmp_path / "alone")
    progress = [event for event in events if isinstance(event, ProjectProgress)][-1]
    assert (progress.state, progress.degraded) == ("ready", ())


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


def test_files_come_back_in_order_with_what_they_were_asked_with(ahead: ReadAhead, root: Path) -> None:
    names = [f"pack/m{n}.py" for n in range(3)]
    ask(ahead, root, *names)
    assert (ahead.room, names[1] in ahead) == (FILES_MAX - 3, True)
    found = [one for _ in names for one in ahead.take(1, GENEROUS_S)]
    assert [read.look.path for read, _ in found] == names
    assert [stamp for _, stamp in found] == [stamp_of(os.stat(root / name)) for name in names]
    assert all(read.contents is not None for read, _ in found)
    assert (ahead.room, list(ahead.take(1, 0.0))) == (FILES_MAX, [])


def test_the_file_that_was_being_read_is_the_culprit(ahead: ReadAhead, root: Path) -> None:
    os.mkfifo(root / "pipe.py")  # has no stamp of its own, and is none that is read
    ask(ahead, root, "pipe.py", "pack/m0.py")
    (read, _), *_ = ahead.take(1, GENEROUS_S)
    assert (read.look.skipped, read.contents) == ("unreadable", None)
    assert "not a regular file" in read.problem
    process = ahead._process
    assert process is not None
    list(ahead.take(1, GENEROUS_S))
    os.kill(process.pid, signal.SIGKILL)
    ask(ahead, root, "pack/m1.py", "pack/m2.py")
    assert list(ahead.take(2, GENEROUS_S)) == []
    assert (ahead.culprit, "pack/m2.py" in ahead, ahead.room) == ("pack/m1.py", False, FILES_MAX)


def test_without_room_for_a_process_nothing_is_away(root: Path) -> None:
    def refuse(opening: Opening) -> SideProcess:
        raise OSError(11, "Resource temporarily unavailable")

    ahead = ReadAhead(refuse, str(root), 1_000)
    for _ in range(STARTS_MAX + 1):
        ask(ahead, root, "pack/m0.py")
    assert (list(ahead.take(1, 0.0)), "pack/m0.py" in ahead, ahead.room) == ([], False, 0)
