"""The process that reads ahead ends with its socket, whatever it does."""

from __future__ import annotations

import socket
import subprocess
import sys

from foveal.daemon.core.pipe import encode
from foveal.daemon.index.reading import FileOpening

from tests.indexer_cases import GENEROUS_S


def test_it_ends_when_its_socket_does() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "foveal.daemon.index.reading_worker", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
        )
    ours.sendall(encode(FileOpening("/", 1_000)))
    ours.close()
    assert process.wait(GENEROUS_S) == 0


def test_it_imports_no_engine_and_no_watcher() -> None:
    code = "import sys, foveal.daemon.index.reading_worker; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"tantivy", "watchfiles", "numpy", "asyncio"} & set(done.stdout.split())
