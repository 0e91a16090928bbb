"""The pump of `foveal mcp`: carries JSON-RPC lines between a host and the MCP server in the faces process.

An import of the SDK would cost each host a second. The server silently drops lines that it can't read, and a
host would wait for their answers for ever, so the pump answers them with an error.
"""

from __future__ import annotations

import json
import os
import sys

from ..ipc.record import Record
from .pump import (
    DRAIN_S,
    INVALID_REQUEST,
    MAX_BYTES,
    PARSE_ERROR,
    REPLAY_ID,
    Pump,
    as_id,
    error_of,
    id_of,
    pack,
)
from .upstream import Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, BinaryIO, Final

    from .pump import Id

MAX_LINE_BYTES: Final = MAX_BYTES

UNAVAILABLE: Final = -32000
"""The daemon can't be reached or went away; the first code that JSON-RPC leaves to servers."""

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
    pump = McpPump(Upstream("mcp", options.socket, os.environ, about), sys.stdout.fileno())
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


class McpPump(Pump):
    """Carries lines between the host and the MCP server."""

    def __init__(self, upstream: Upstream, output: int) -> None:
        super().__init__(upstream, output)
        self._opening: list[McpLine] = []  # of the main thread only

    def run(self, source: BinaryIO) -> None:
        """Carry lines until the source ends, then let what is being answered end."""
        self.connect()  # the server starts while the host is still starting
        while data := source.readline(MAX_LINE_BYTES + 1):
            if len(data) > MAX_LINE_BYTES:
                while data and not data.endswith(b"\n"):
                    data = source.readline(READ_BYTES)
                text = f"a line may take {MAX_LINE_BYTES} bytes; send less"
                self.write(error_line(None, INVALID_REQUEST, text))
                continue
            try:
                line = read_line(data)
            except NoMessage as no_message:
                self.write(no_message.reply)
                continue
            if line is not None:
                self._take(line)
        self.close(DRAIN_S)

    def error(self, request_id: Id | None, message: str) -> bytes:
        """Return a line that answers a request with an error."""
        return error_line(request_id, UNAVAILABLE, message)

    def opening(self) -> list[bytes]:
        """Return the lines of the handshake."""
        return [
            encode({**line.message, "id": REPLAY_ID}) if line.method == "initialize" else line.data
            for line in self._opening
        ]

    def replies(self, stream: BinaryIO) -> Iterator[tuple[Id | None, bytes]]:
        """Yield the server's lines with the ids that they answer."""
        return ((answered_id(line), line) for line in stream)

    def _take(self, line: McpLine) -> None:
        """Send a line on, and keep the lines of the handshake for the next server."""
        with self.state:
            if line.cancelled_id is not None:
                self.waiting.discard(line.cancelled_id)
        if line.method == "initialize":
            self._opening = []
        if not self.carry(line.data, line.request_id) and line.request_id is not None:
            return
        if line.method == "initialize":
            self._opening = [line]
        elif line.method == "notifications/initialized" and self._opening:
            self._opening = [self._opening[0], line]


class McpLine(Record):
    """A line from the host: the message, and the bytes to send on, which end in a line break."""

    __slots__ = ("data", "message")

    def __init__(self, message: dict[str, Any], data: bytes) -> None:
        self.message = message
        self.data = data

    @property
    def method(self) -> str:
        """The method of a request or a notification, empty for a reply."""
        method: str = self.message.get("method", "")
        return method

    @property
    def request_id(self) -> Id | None:
        """The id of a request; None for a notification or a reply."""
        return id_of(self.message) if self.method else None

    @property
    def cancelled_id(self) -> Id | None:
        """The id of the request that this line cancels, None for none."""
        if self.method != "notifications/cancelled":
            return None
        return as_id((self.message.get("params") or {}).get("requestId"))


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
        raise NoMessage(error_line(id_of(message), INVALID_REQUEST, problem))
    if b"\\ud" in data.lower() or not data.endswith(b"\n"):
        data = encode(message)  # the server would drop a line with half of a surrogate pair
    return McpLine(message, data)


def answered_id(data: bytes) -> Id | None:
    """Return the id that a line of the server answers; None for its own requests and notifications."""
    message = json.loads(data)
    return None if "method" in message else id_of(message)


def error_line(request_id: Id | None, code: int, message: str) -> bytes:
    """Return an error reply as a whole line; `request_id` is None for a line without an id."""
    return encode(error_of(request_id, code, message))


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a whole line."""
    return pack(message) + b"\n"


def _problem(message: dict[str, Any]) -> str:
    """Return why a JSON object isn't a message, "" if it is one."""
    if message.get("jsonrpc") != "2.0":
        return 'a message must have "jsonrpc": "2.0"'
    if "method" not in message:
        if ("result" in message) == ("error" in message) or id_of(message) is None:
            return "a message must have a method, or else an id with a result or an error"
        return ""
    if type(message["method"]) is not str or not message["method"]:
        return "the method must be a text"
    if type(message.get("params", {})) is not dict:
        return "params must be an object"
    if "id" in message and id_of(message) is None:
        return "the id must be a text or a whole number"
    return ""
