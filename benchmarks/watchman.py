"""The peer watchman: a server of its own folder, asked in JSON over its socket."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_S = 10.0


class WatchmanMissing(Exception):
    """Watchman can't run here; the message says why and what would help."""


class Watchman:
    """One connection to a server that watches `root`."""

    def __init__(self, connection: socket.socket, root: Path) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._root = str(root)

    def watch(self) -> None:
        """Begin to watch, and wait until the tree is known."""
        self._ask(["watch", self._root])
        self._ask(["query", self._root, {"fields": ["name"], "limit": 1, "suffix": "never"}])

    def clock(self) -> str:
        """Return the clock of the tree as it is known."""
        return str(self._ask(["clock", self._root])["clock"])

    def changed_since(self, clock: str) -> list[str]:
        """Return the names of files that changed since a clock; it waits for what happened until now."""
        query = {"since": clock, "fields": ["name"], "expression": ["type", "f"]}
        return list(self._ask(["query", self._root, query])["files"])

    def _ask(self, command: list[Any]) -> dict[str, Any]:
        self._connection.sendall(json.dumps(command).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self._lines.readline() or b"{}")
        if "error" in answer or "version" not in answer:
            raise WatchmanMissing(f"it answered {answer.get('error', 'nothing')} to {command[0]}")
        return answer


@contextmanager
def watching(folder: Path, root: Path) -> Iterator[Watchman]:
    """Run a server whose files lie in `folder`, and watch a tree. Raises `WatchmanMissing`."""
    program = shutil.which("watchman")
    if program is None:
        raise WatchmanMissing("it isn't installed (Debian's package watchman)")
    path = folder / "watchman.sock"
    command = [
        program,
        "--foreground",
        "--no-save-state",
        f"--sockname={path}",
        f"--logfile={folder / 'log'}",
    ]
    command += [f"--pidfile={folder / 'pid'}", f"--statefile={folder / 'state'}", "--server-encoding=json"]
    quiet = subprocess.DEVNULL
    with (
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as process,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        try:
            _connect(connection, path, process)
            watchman = Watchman(connection, root)
            watchman.watch()
            yield watchman
        finally:
            process.terminate()


def _connect(connection: socket.socket, path: Path, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + START_S
    while True:
        try:
            return connection.connect(str(path))
        except OSError as error:
            if process.poll() is not None or time.monotonic() > limit:
                raise WatchmanMissing(f"its server can't be reached ({error})") from error
            time.sleep(0.02)
