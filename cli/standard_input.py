"""Owns the reading of the standard input for commands that take a text of `-` from there."""

from __future__ import annotations

import sys

from ..ipc.protocol import MAX_FRAME_BYTES
from .errors import CliError


def read_text(what: str) -> str:
    """Return all of the standard input as text; bytes that are no UTF-8 are replaced.

    `what` names the text in the message of the `CliError` for an input that is closed or too large for a
    request.
    """
    if sys.stdin is None:
        raise CliError(f"the standard input is closed, and the {what} - means to read it")
    stream = getattr(sys.stdin, "buffer", None)
    data: bytes = b"" if stream is None else stream.read(MAX_FRAME_BYTES + 1)
    if len(data) > MAX_FRAME_BYTES:
        raise CliError(f"the {what} is larger than {MAX_FRAME_BYTES:,} bytes", "send the part that matters")
    return data.decode("utf-8", "replace")
