"""A side process answers its requests, its end is noticed, and it ends with its socket."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Empty
from typing import cast

import pytest
from foveal.daemon.core.pipe import encode
from foveal.daemon.index import side_process
from foveal.daemon.index.reading import FileOpening, FileToRead
from foveal.daemon.index.side_process import Opening, SideProcess

from tests.conftest import write_files
from tests.indexer_cases import GENEROUS_S


@pytest.fixture
def process(tmp_path: Path) -> Iterator[SideProcess]:
    write_files(tmp_path, {"a.py": "def f(): ...\n"})
    with closing(SideProcess(FileOpening(str(tmp_path), 1_000))) as process:
        yield process


def test_an_opening_that_cant_begin_ends_the_process(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(SideProcess(cast("Opening", None))) as process:
        assert process.take(GENEROUS_S) is None
    assert "has no attribute 'begin'" in capfd.readouterr().err


def test_a_process_that_stands_still_is_ended(process: SideProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    process.ask(None, [FileToRead("a.py", "python")])
    monkeypatch.setattr(side_process, "SILENT_MAX_S", 0.0)
    with pytest.raises(Empty):
        process.take(0.01)
    assert process.take(GENEROUS_S) is None


@pytest.mark.parametrize("opening", [FileOpening("/", 1_000), None])
def test_a_side_process_ends_with_its_socket(opening: FileOpening | None) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", side_process.MODULE, str(theirs.fileno())], pass_fds=(theirs.fileno(),)
        )
    if opening is not None:
        ours.sendall(encode(opening))
    ours.close()
    assert process.wait(GENEROUS_S) == 0


def test_reading_imports_no_engine_and_no_watcher() -> None:
    code = f"import sys, {side_process.MODULE}, foveal.daemon.index.reading; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"tantivy", "watchfiles", "numpy", "asyncio"} & set(done.stdout.split())
