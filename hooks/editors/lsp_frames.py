"""Frames of the Language Server Protocol: reads and writes the header and the JSON of a message."""

from __future__ import annotations

import json

from ..pump import MAX_BYTES, error_of, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Final

    from ..pump import Id

MAX_BODY_BYTES: Final = MAX_BYTES

MAX_HEAD_BYTES: Final = 4096
"""Maximum bytes of a header, which has at most two short lines."""

UNAVAILABLE: Final = -32803
"""RequestFailed: the request was fine, but the daemon can't be reached or went away."""

WARNING: Final = 2
"""The protocol's type of a warning in the log."""


class BadFrame(ValueError):
    """Bytes that aren't a frame. The start of the next frame is unknown, so the connection ends."""


class FrameTooLarge(ValueError):
    """A body above the limit, which was skipped; `size` is its length in bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a message of {size:,} bytes is above the limit of {MAX_BODY_BYTES:,}")
        self.size = size


def read_frame(source: BinaryIO) -> bytes | None:
    """Return the body of the next message, None at the end. Raises `BadFrame` and `FrameTooLarge`."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = source.readline(MAX_HEAD_BYTES)
        if not line and not head:
            return None
        head += line
        if not line.endswith(b"\n") or len(head) > MAX_HEAD_BYTES:
            raise BadFrame("the header of a message is incomplete or too long")
    left = size = body_size(head)
    if size > MAX_BODY_BYTES:
        while left:
            data = source.read(min(left, 64 * 1024))
            if not data:
                raise BadFrame("the input ends within a message")
            left -= len(data)
        raise FrameTooLarge(size)
    body = source.read(size)
    if len(body) < size:
        raise BadFrame("the input ends within a message")
    return body


def body_size(head: bytes) -> int:
    """Return the length of the body that a header gives, in bytes. Raises `BadFrame`."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        text = value.strip()
        if name.strip().lower() == b"content-length" and text.isdigit() and len(text) <= 15:
            return int(text)
    raise BadFrame("the header of a message has no Content-Length")


def frame(body: bytes) -> bytes:
    """Return a body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a frame."""
    return frame(pack(message))


def reply_frame(request_id: Id | None, result: Any) -> bytes:
    """Return the answer to a request."""
    return encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def error_frame(request_id: Id | None, code: int, message: str) -> bytes:
    """Return an error as the answer to a request; `None` is the id of a message without one."""
    return encode(error_of(request_id, code, message))


def log_frame(text: str) -> bytes:
    """Return a notification that puts a warning into the editor's log."""
    params = {"type": WARNING, "message": f"foveal: {text}"}
    return encode({"jsonrpc": "2.0", "method": "window/logMessage", "params": params})


def read_message(body: bytes) -> dict[str, Any] | None:
    """Return the message of a body; None if it isn't a JSON object.

    Halves of surrogate pairs, which no text of the daemon's wire can have, become `?`.
    """
    try:
        message = json.loads(body)
        if b"\\ud" in body.lower():
            message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if type(message) is dict else None


def method_of(message: dict[str, Any]) -> str:
    """Return the method of a request or notification, empty for a reply."""
    method = message.get("method")
    return method if type(method) is str else ""
