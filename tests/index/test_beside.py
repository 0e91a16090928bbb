"""A process beside the indexer answers what it is asked, and its end is seen."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from foveal.daemon.index import beside as beside_file
from foveal.daemon.index.beside import Beside, Empty
from foveal.daemon.index.reading import FileOpening, FileToRead, Read

from tests.conftest import write_files
from tests.indexer_cases import GENEROUS_S


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    write_files(tmp_path, {"a.py": "def f(): ...\n"})
    with closing(Beside("foveal.daemon.index.reading_worker", FileOpening(str(tmp_path), 1_000))) as one:
        yield one


def test_a_message_is_answered_and_nothing_else_comes(beside: Beside) -> None:
    beside.send([FileToRead("a.py", "python")])
    read = beside.take(GENEROUS_S)
    assert isinstance(read, Read)
    assert read.look.path == "a.py"
    with pytest.raises(Empty):
        beside.take(0.0)


def test_a_process_that_ends_is_seen_and_takes_no_messages(beside: Beside) -> None:
    os.kill(beside.pid, signal.SIGKILL)
    assert beside.take(GENEROUS_S) is None
    beside.send([FileToRead("a.py", "python")])


def test_a_process_that_is_closed_is_gone(tmp_path: Path) -> None:
    one = Beside("foveal.daemon.index.reading_worker", FileOpening(str(tmp_path), 1_000))
    one.close()
    assert not psutil.pid_exists(one.pid)


def test_a_module_that_is_none_ends_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with closing(Beside("foveal.daemon.index.nothing", None)) as one:
        assert one.take(GENEROUS_S) is None
    assert "No module named" in capfd.readouterr().err


def test_without_a_thread_to_hear_it_no_process_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = psutil.Process().children()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(OSError, match="can't start new thread"):
        Beside("foveal.daemon.index.reading_worker", FileOpening(str(tmp_path), 1_000))
    assert psutil.Process().children() == before


@pytest.mark.parametrize("limit", ["SILENT_MAX_S", "STOPPED_MAX_S"])
def test_a_process_that_stands_still_is_ended(
    beside: Beside, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.kill(beside.pid, signal.SIGSTOP)
    beside.send([FileToRead("a.py", "python")])
    monkeypatch.setattr(beside_file, limit, 0.0)
    with pytest.raises(Empty):
        beside.take(0.01)
    assert beside.take(GENEROUS_S) is None
