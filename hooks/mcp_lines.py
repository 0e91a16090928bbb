"""Owns what the MCP pump knows of a line of JSON-RPC: whether it is a message, its ids, errors instead of it.

No I/O. The server behind the pump drops what it can't read without a word, and a host that waits for the
answer would wait for ever; so what is no message is told here.
"""

from __future__ import annotations

import json

from ..ipc.record import Record, set_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    Id = str | int

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""As a frame of the daemon's socket: a larger request couldn't be sent on."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
"""Codes of JSON-RPC 2.0, section 5.1."""

UNAVAILABLE: Final = -32000
"""The first of the codes that JSON-RPC leaves to servers: the daemon can't be reached, or went away."""


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
        """The id under which an answer is awaited; None for a notification or a reply."""
        return _id_of(self.message) if self.method else None

    @property
    def cancelled_id(self) -> Id | None:
        """The id of the request that the host doesn't want answered any more, if the line says so."""
        if self.method != "notifications/cancelled":
            return None
        return _as_id((self.message.get("params") or {}).get("requestId"))


class NoMessage(Exception):
    """A line that is no message of JSON-RPC; `reply` is what to tell the host, a whole line."""

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
        data = encode(message)  # half of a surrogate pair is no text, and the server would drop the line
    return McpLine(message, data)


def answered_id(data: bytes) -> Id | None:
    """Return the id that a line of the server answers; None for its own requests and notifications."""
    message = json.loads(data)
    return None if "method" in message else _id_of(message)


def error_line(request_id: Id | None, code: int, message: str) -> bytes:
    """Return an error reply as a whole line; without an id it is about a line that has none."""
    return encode({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}})


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a whole line; halves of surrogate pairs become `?`."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _problem(message: dict[str, Any]) -> str:
    """Say what keeps a JSON object from being a message; nothing where it is one."""
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
