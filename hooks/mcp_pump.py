"""Owns `foveal mcp`: the bytes between a host's pipes and the MCP server, which the faces process hosts.

Imports the standard library and `ipc` only: an import of the SDK would cost each host a second. The pump
knows of MCP just enough to go on after a restart of the daemon: which requests wait for an answer, and what
the host said to open the conversation.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

from ..ipc.errors import DaemonUnavailable
from ..ipc.paths import PathError
from .mcp_lines import (
    INVALID_REQUEST,
    MAX_LINE_BYTES,
    UNAVAILABLE,
    McpLine,
    NoMessage,
    answered_id,
    encode,
    error_line,
    read_line,
)
from .upstream import Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import BinaryIO, Final

    from .mcp_lines import Id

DRAIN_S: Final = 1.0
"""After the end of the input, what is being answered gets this long. Hosts kill a server after about 2 s."""

REPLAY_ID: Final = "foveal-reconnect"
"""Under this id a new server gets the host's `initialize` again; the answer goes to nobody."""

READ_BYTES: Final = 64 * 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve MCP on standard input and output until the input ends."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="foveal mcp", description="Serve MCP on standard input and output, for an agent's host."
    )
    parser.add_argument("--project", metavar="DIR", help="the project (default: where the host started this)")
    parser.add_argument(
        "--session", metavar="ID", help="the session (default: $FOVEAL_SESSION, or a new one)"
    )
    parser.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's)")
    options = parser.parse_args(arguments)
    session = options.session or os.environ.get("FOVEAL_SESSION") or f"mcp-{os.urandom(8).hex()}"
    try:
        about = describe(options.project, session, os.environ)
    except OSError as error:
        parser.exit(1, f"foveal mcp: the folder that it was started in is gone ({error.strerror})\n")
    pump = Pump(Upstream("mcp", options.socket, os.environ, about), sys.stdout.fileno())
    pump.run(sys.stdin.buffer)
    sys.stdout.flush()


def describe(project: str | None, session: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the server is told of the host: folder and session, and whether the folder was `chosen`.

    A folder that the host names for its servers (Claude Code) goes before the one that it started in.
    """
    told = environ.get("CLAUDE_PROJECT_DIR", "")
    folder = project or (told if os.path.isabs(told) and os.path.isdir(told) else os.getcwd())
    about = {"cwd": os.path.abspath(folder), "session": session}
    return {**about, "chosen": "1"} if project else about


class Pump:
    """Carries lines between the host and the server; `output` is a descriptor that only this writes to."""

    def __init__(self, upstream: Upstream, output: int) -> None:
        self._upstream = upstream
        self._output = output
        self._writing = threading.RLock()
        """Taken before `_state`, and for as long as it takes to note an answer as given and to write it: so
        whoever has it after nothing waits any more knows that all is written."""
        self._state = threading.Condition()
        self._connection: socket.socket | None = None  # guarded by _state, as is _waiting
        self._waiting: set[Id] = set()
        self._opening: list[McpLine] = []  # of the main thread only

    def run(self, source: BinaryIO) -> None:
        """Carry lines until the source ends, then let what is being answered end."""
        self._try_connect(())  # at once: the server starts while the host is still starting
        while data := source.readline(MAX_LINE_BYTES + 1):
            if len(data) > MAX_LINE_BYTES:
                _skip_line(source, data)
                self._write(
                    error_line(None, INVALID_REQUEST, f"a line may take {MAX_LINE_BYTES} bytes; send less")
                )
                continue
            try:
                line = read_line(data)
            except NoMessage as no_message:
                self._write(no_message.reply)
                continue
            if line is not None:
                self._carry(line)
        self._drain()

    def _carry(self, line: McpLine) -> None:
        """Send a line on, over a new connection where the last one is gone."""
        request_id = line.request_id
        with self._state:
            if request_id is not None:
                self._waiting.add(request_id)
            if line.cancelled_id is not None:
                self._waiting.discard(line.cancelled_id)
            connection = self._connection
        if line.method == "initialize":
            self._opening = []
        if connection is not None and not _send(connection, line.data):
            self._lose(connection, keep=request_id)
            connection = None
        if connection is None and request_id is not None:
            with self._state:
                if request_id not in self._waiting:
                    return  # it was answered with an error when the connection ended
            if not self._try_connect((line,)):
                return
        self._note_opening(line)  # a notification needs no server: the next one is told what opens

    def _note_opening(self, line: McpLine) -> None:
        """Keep what opens a conversation with a handshake, to tell it to the next server."""
        if line.method == "initialize":
            self._opening = [line]
        elif line.method == "notifications/initialized" and self._opening:
            self._opening = [self._opening[0], line]

    def _try_connect(self, lines: Sequence[McpLine]) -> bool:
        """Connect and send lines behind what opens the conversation; on failure answer them with an error."""
        try:
            connection = self._upstream.connect()
        except (DaemonUnavailable, PathError, OSError) as error:
            asked = {line.request_id for line in lines}
            self._fail(lambda: asked, f"foveal's daemon can't be reached: {error}")
            return False
        with self._state:
            self._connection = connection
        threading.Thread(target=self._receive, args=(connection,), name="replies", daemon=True).start()
        return _send(connection, b"".join((*self._replayed(), *(line.data for line in lines))))

    def _replayed(self) -> list[bytes]:
        return [
            encode({**line.message, "id": REPLAY_ID}) if line.method == "initialize" else line.data
            for line in self._opening
        ]

    def _receive(self, connection: socket.socket) -> None:
        """Carry what the server says to the host until the connection ends; runs in a thread of its own."""
        with connection:
            try:
                with connection.makefile("rb") as stream:
                    for data in stream:
                        self._deliver(data)
            except (OSError, ValueError):
                pass  # a connection that broke, in the middle of a line perhaps, ends like any other
        self._lose(connection)

    def _lose(self, connection: socket.socket, keep: Id | None = None) -> None:
        """Answer what a connection took with it with an error, but for `keep`, which it never had whole."""

        def lost() -> AbstractSet[Id | None]:
            if self._connection is not connection:
                return set()  # noticed before
            self._connection = None
            return self._waiting - {keep}

        self._fail(lost, "foveal's daemon went away before it answered; ask again, which starts it")

    def _deliver(self, data: bytes) -> None:
        answered = answered_id(data)
        if answered == REPLAY_ID:
            return
        with self._writing:
            if answered is not None:
                with self._state:
                    if answered not in self._waiting:
                        return  # cancelled meanwhile
                    self._note_answered({answered})
            self._write(data)

    def _fail(self, choose: Callable[[], AbstractSet[Id | None]], message: str) -> None:
        """Answer with an error what is chosen, under `_state`, of what waits for an answer."""
        with self._writing:
            with self._state:
                failed = self._note_answered(choose())
            for request_id in failed:
                self._write(error_line(request_id, UNAVAILABLE, message))

    def _note_answered(self, ids: AbstractSet[Id | None]) -> list[Id]:
        """Return those of these ids that wait for an answer, which they do no longer; under `_state`."""
        taken = [one for one in self._waiting if one in ids]
        self._waiting.difference_update(taken)
        self._state.notify_all()
        return taken

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN_S
        with self._state:
            connection = self._connection
            if connection is not None:
                self._state.wait_for(lambda: not self._waiting, DRAIN_S)
            self._waiting.clear()  # nobody reads any more
        if self._writing.acquire(
            timeout=max(0.0, deadline - time.monotonic())
        ):  # the last answer may be on its way
            self._writing.release()
        if connection is not None:
            _shut(connection)

    def _write(self, data: bytes) -> None:
        """Write a whole line; where the host doesn't read any more, there is nothing left to do."""
        view = memoryview(data)
        try:
            with self._writing:
                while view:
                    view = view[os.write(self._output, view) :]
        except OSError:
            os._exit(0)


def _send(connection: socket.socket, data: bytes) -> bool:
    """Send all or nothing that counts: a line whose end didn't leave is none, and may be sent again."""
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


def _skip_line(source: BinaryIO, data: bytes) -> None:
    """Read on to the end of a line that is too long."""
    while data and not data.endswith(b"\n"):
        data = source.readline(READ_BYTES)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # gone already
