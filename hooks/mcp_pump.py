"""The pump of `foveal mcp`: carries JSON-RPC lines between a host and the MCP server in the web process.

An import of the SDK would cost each host a second. The server silently drops lines that it can't read, and a
host would wait for their answers for ever, so the pump answers them with an error.
"""

from __future__ import annotations

import json
import os
import sys

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

NEW_SESSION: Final = "mcp-"
"""The beginning of the id of a session that no host named."""

SESSION_VARIABLES: Final = ("FOVEAL_SESSION", "COPILOT_AGENT_SESSION_ID")
"""Variables that name the session: the user's own, and Copilot's, whose hooks have the same id."""

READ_BYTES: Final = 64 * 1024


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve MCP on standard input and output until the input ends."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="foveal mcp", description="Serve MCP on standard input and output, for an agent's host."
    )
    parser.add_argument(
        *("--cwd", "--project"),
        dest="project",
        metavar="DIR",
        help="a folder of the project (default: where the host started this)",
    )
    parser.add_argument(
        "--session", metavar="ID", help="the session (default: $FOVEAL_SESSION, the host's, or a new one)"
    )
    parser.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's)")
    options = parser.parse_args(arguments)
    if options.project and not os.path.isdir(options.project):
        parser.error(f"{options.project} is not a folder")
    session = options.session or next(filter(None, map(os.environ.get, SESSION_VARIABLES)), None)
    session = session or f"{NEW_SESSION}{os.urandom(8).hex()}"
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
        self._opening: list[bytes] = []  # of the main thread only

    def run(self, source: BinaryIO) -> None:
        """Carry lines until the source ends, then let what is being answered end."""
        self.connect()  # the server starts while the host is still starting
        while data := source.readline(MAX_LINE_BYTES + 1):
            if len(data) > MAX_LINE_BYTES:
                while data and not data.endswith(b"\n"):
                    data = source.readline(READ_BYTES)
                self._refuse(None, INVALID_REQUEST, f"a line may take {MAX_LINE_BYTES} bytes; send less")
            elif data.strip():
                self._take(data)
        self.close(DRAIN_S)

    def error(self, request_id: Id | None, message: str) -> bytes:
        """Return a line that answers a request with an error."""
        return _line(error_of(request_id, UNAVAILABLE, message))

    def opening(self) -> list[bytes]:
        """Return the lines of the handshake."""
        return self._opening

    def replies(self, stream: BinaryIO) -> Iterator[tuple[Id | None, bytes]]:
        """Yield the server's lines with the ids that they answer; its own requests answer none."""
        for line in stream:
            message = json.loads(line)
            yield None if "method" in message else id_of(message), line

    def _take(self, data: bytes) -> None:
        """Send a line on, and keep the lines of the handshake for the next server."""
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            self._refuse(None, PARSE_ERROR, "the line is not JSON in UTF-8")
            return
        if problem := _problem(message):
            self._refuse(id_of(message) if type(message) is dict else None, INVALID_REQUEST, problem)
            return
        if b"\\ud" in data.lower() or not data.endswith(b"\n"):
            data = _line(message)  # the server would drop a line with half of a surrogate pair
        method = message.get("method", "")
        request_id = id_of(message) if method else None
        if method == "notifications/cancelled":
            cancelled = as_id((message.get("params") or {}).get("requestId"))
            with self.state:
                self.waiting -= {cancelled}
        if method == "initialize":
            self._opening = []
        if not self.carry(data, request_id) and request_id is not None:
            return
        if method == "initialize":
            self._opening = [_line({**message, "id": REPLAY_ID})]
        elif method == "notifications/initialized" and self._opening:
            self._opening = [self._opening[0], data]

    def _refuse(self, request_id: Id | None, code: int, message: str) -> None:
        self.write(_line(error_of(request_id, code, message)))


def _line(message: dict[str, Any]) -> bytes:
    return pack(message) + b"\n"


def _problem(message: Any) -> str:
    """Return why a value isn't a message of JSON-RPC, "" if it is one."""
    if type(message) is not dict:
        return "a line must hold one message, a JSON object"
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
