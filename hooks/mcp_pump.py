"""The pump of `foveal mcp`: carries JSON-RPC lines between a host and the MCP server in the faces process.

Imports the standard library and `ipc` only: an import of the SDK would cost each host a second. The pump
knows just enough of MCP to continue after a restart of the daemon: the requests that wait for an answer, and
the messages that opened the conversation. The server silently drops lines that it can't read, and a host
would wait for their answers for ever, so the pump answers them with an error.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time

from ..ipc.errors import DaemonUnavailable
from ..ipc.paths import PathError
from ..ipc.record import Record, set_field
from .upstream import Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Any, BinaryIO, Final

    Id = str | int

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of a line, as of a frame of the daemon's socket."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
"""Codes of JSON-RPC 2.0, section 5.1."""

UNAVAILABLE: Final = -32000
"""The daemon can't be reached or went away; the first code that JSON-RPC leaves to servers."""

DRAIN_S: Final = 1.0
"""Seconds for open answers after the end of the input. Hosts kill a server after about 2 s."""

REPLAY_ID: Final = "foveal-reconnect"
"""The id under which a new server gets the host's `initialize` again; its answer is dropped."""

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
        """Held while an answer is noted and written, and taken before `_state`: whoever gets it when no
        request waits knows that all answers are written."""
        self._state = threading.Condition()
        self._connection: socket.socket | None = None  # guarded by _state, as is _waiting
        self._waiting: set[Id] = set()
        self._opening: list[McpLine] = []  # of the main thread only

    def run(self, source: BinaryIO) -> None:
        """Carry lines until the source ends, then let what is being answered end."""
        self._try_connect(())  # the server starts while the host is still starting
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
        """Send a line on, over a new connection if the last one is gone."""
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
        self._note_opening(line)  # a notification needs no server: the next server gets the opening messages

    def _note_opening(self, line: McpLine) -> None:
        """Keep the messages of the handshake for the next server."""
        if line.method == "initialize":
            self._opening = [line]
        elif line.method == "notifications/initialized" and self._opening:
            self._opening = [self._opening[0], line]

    def _try_connect(self, lines: Sequence[McpLine]) -> bool:
        """Connect and send the opening messages and these lines; on failure answer them with an error."""
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
        """Carry the server's messages to the host until the connection ends; runs in a thread of its own."""
        with connection:
            try:
                with connection.makefile("rb") as stream:
                    for data in stream:
                        self._deliver(data)
            except (OSError, ValueError):
                pass  # a broken connection, perhaps in the middle of a line, ends like any other
        self._lose(connection)

    def _lose(self, connection: socket.socket, keep: Id | None = None) -> None:
        """Answer the requests of a lost connection with an error, except `keep`, which wasn't sent whole."""

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
        """Answer the waiting requests that `choose` returns with an error; it runs under `_state`."""
        with self._writing:
            with self._state:
                failed = self._note_answered(choose())
            for request_id in failed:
                self._write(error_line(request_id, UNAVAILABLE, message))

    def _note_answered(self, ids: AbstractSet[Id | None]) -> list[Id]:
        """Return those ids that wait for an answer, and stop waiting for them; under `_state`."""
        taken = [waiting for waiting in self._waiting if waiting in ids]
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
        """Write a whole line; ends the process if the host stopped reading."""
        view = memoryview(data)
        try:
            with self._writing:
                while view:
                    view = view[os.write(self._output, view) :]
        except OSError:
            os._exit(0)


def _send(connection: socket.socket, data: bytes) -> bool:
    """Send a whole line; False if its end wasn't sent, so that it may be sent again."""
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


class McpLine(Record):
    """A line from the host: the message, and the bytes to send on, which end in a line break."""

    __slots__ = ("message", "data")  # noqa: RUF023 - the order is the constructor's
    message: dict[str, Any]
    data: bytes

    def __init__(self, message: dict[str, Any], data: bytes) -> None:
        set_field(self, "message", message)
        set_field(self, "data", data)

    @property
    def method(self) -> str:
        """The method of a request or a notification, empty for a reply."""
        method: str = self.message.get("method", "")
        return method

    @property
    def request_id(self) -> Id | None:
        """The id of a request; None for a notification or a reply."""
        return _id_of(self.message) if self.method else None

    @property
    def cancelled_id(self) -> Id | None:
        """The id of the request that this line cancels, None for none."""
        if self.method != "notifications/cancelled":
            return None
        return _as_id((self.message.get("params") or {}).get("requestId"))


class NoMessage(Exception):
    """A line that isn't a JSON-RPC message; `reply` is the whole line to answer with."""

    def __init__(self, reply: bytes) -> None:
        super().__init__("no message of JSON-RPC")
        self.reply = reply


def read_line(data: bytes) -> McpLine | None:
    """Return a line from the host, None for an empty one. Raises `NoMessage`."""
    if not data.strip():
        return None
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise NoMessage(error_line(None, PARSE_ERROR, "the line is not JSON in UTF-8")) from None
    if type(message) is not dict:
        raise NoMessage(error_line(None, INVALID_REQUEST, "a line must hold one message, a JSON object"))
    problem = _problem(message)
    if problem:
        raise NoMessage(error_line(_id_of(message), INVALID_REQUEST, problem))
    if b"\\ud" in data.lower() or not data.endswith(b"\n"):
        data = encode(message)  # the server would drop a line with half of a surrogate pair
    return McpLine(message, data)


def answered_id(data: bytes) -> Id | None:
    """Return the id that a line of the server answers; None for its own requests and notifications."""
    message = json.loads(data)
    return None if "method" in message else _id_of(message)


def error_line(request_id: Id | None, code: int, message: str) -> bytes:
    """Return an error reply as a whole line; `request_id` is None for a line without an id."""
    return encode({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}})


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a whole line; halves of surrogate pairs become `?`."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _problem(message: dict[str, Any]) -> str:
    """Return why a JSON object isn't a message, "" if it is one."""
    if message.get("jsonrpc") != "2.0":
        return 'a message must have "jsonrpc": "2.0"'
    if "method" not in message:
        if ("result" in message) == ("error" in message) or _id_of(message) is None:
            return "a message must have a method, or else an id with a result or an error"
        return ""
    if type(message["method"]) is not str or not message["method"]:
        return "the method must be a text"
    if type(message.get("params", {})) is not dict:
        return "params must be an object"
    if "id" in message and _id_of(message) is None:
        return "the id must be a text or a whole number"
    return ""


def _id_of(message: dict[str, Any]) -> Id | None:
    return _as_id(message.get("id"))


def _as_id(value: Any) -> Id | None:
    return value if type(value) is str or type(value) is int else None
