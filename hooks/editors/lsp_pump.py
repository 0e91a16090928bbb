"""The pump of `foveal lsp`: carries messages between an editor and the language server in the web process.

The pump knows just enough of the protocol to end as an editor expects and to continue with a new server: it
keeps the messages that opened the conversation and the text of each open document. The server asks for whole
texts, so the last change has it.
"""

from __future__ import annotations

import os
import sys
import time

from ..pump import DRAIN_S, INVALID_REQUEST, PARSE_ERROR, REPLAY_ID, Pump, id_of
from ..upstream import Upstream
from .lsp_frames import (
    UNAVAILABLE,
    BadFrame,
    FrameTooLarge,
    encode,
    error_frame,
    frame,
    log_frame,
    method_of,
    read_frame,
    read_message,
    reply_frame,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, BinaryIO, Final

    from ..pump import Id

WAKING: Final = frozenset({"textDocument/didOpen", "textDocument/didSave"})
"""Notifications that reopen a lost connection, after a pause."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the Language Server Protocol on standard input and output until the editor ends it."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="foveal lsp", description="Serve the Language Server Protocol on standard input and output."
    )
    parser.add_argument("--socket", metavar="PATH", help="the daemon's socket (default: the user's)")
    parser.add_argument("--stdio", action="store_true", help="accepted, since some editors say it")
    options = parser.parse_args(arguments)
    try:
        cwd = os.getcwd()
    except OSError as error:
        parser.exit(1, f"foveal lsp: the folder that it was started in is gone ({error.strerror})\n")
    pump = LspPump(Upstream("lsp", options.socket, os.environ, {"cwd": cwd}), sys.stdout.fileno())
    try:
        code = pump.run(sys.stdin.buffer)
    except BadFrame as error:
        parser.exit(1, f"foveal lsp: {error}\n")
    sys.stdout.flush()
    sys.exit(code)


class LspPump(Pump):
    """Carries messages between the editor and the language server."""

    def __init__(self, upstream: Upstream, output: int) -> None:
        super().__init__(upstream, output)
        self._opening = LspOpening()  # of the main thread only, as is what follows
        self._is_shut = False

    def run(self, source: BinaryIO) -> int:
        """Carry messages until `exit` or the end of the source; return the exit code.

        Raises `BadFrame`, after which the rest can't be read.
        """
        self.connect()  # the server starts while the editor is still starting
        while True:
            try:
                body = read_frame(source)
            except FrameTooLarge as error:
                self.write(log_frame(f"{error}; it was left out"))
                continue
            if body is None:
                break
            message = read_message(body)
            if message is None:
                self.write(error_frame(None, PARSE_ERROR, "the message is no JSON object in UTF-8"))
            elif method_of(message) == "exit":
                break
            else:
                self._take(message, body)
        self.close(0)
        return 0 if self._is_shut else 1

    def error(self, request_id: Id | None, message: str) -> bytes:
        """Return a frame that answers a request with an error."""
        return error_frame(request_id, UNAVAILABLE, message)

    def opening(self) -> list[bytes]:
        """Return the frames that restore the state of the last server."""
        return self._opening.replayed()

    def replies(self, stream: BinaryIO) -> Iterator[tuple[Id | None, bytes]]:
        """Yield the server's frames with the ids that they answer."""
        while (body := read_frame(stream)) is not None:
            message = read_message(body) or {}
            yield None if method_of(message) else id_of(message), frame(body)

    def _take(self, message: dict[str, Any], body: bytes) -> None:
        request_id = id_of(message) if method_of(message) else None
        if self._is_shut:
            if request_id is not None:
                self.write(error_frame(request_id, INVALID_REQUEST, "the server was shut down"))
        elif method_of(message) == "shutdown":
            self._is_shut = True
            with self.state:
                self.state.wait_for(lambda: not self.waiting, DRAIN_S)
            self.write(reply_frame(request_id, None))
        else:
            is_sent = self.carry(frame(body), request_id)
            self._opening.note(message)  # the replay holds it
            if not is_sent and method_of(message) in WAKING and time.monotonic() >= self.retry_at:
                self.connect()


class LspOpening:
    """The handshake and the open documents, to replay them: `note` takes the editor's messages."""

    def __init__(self) -> None:
        self._handshake: dict[str, dict[str, Any]] = {}
        self._documents: dict[str, dict[str, Any]] = {}  # the item of `didOpen` by URI, with the last text
        self._unsaved: set[str] = set()

    def note(self, message: dict[str, Any]) -> None:
        """Record a message that opens, changes or closes something."""
        method = method_of(message)
        if method in {"initialize", "initialized"}:
            self._handshake[method] = message
        elif method.startswith("textDocument/did") and id_of(message) is None:
            params = message.get("params")
            item = params.get("textDocument") if type(params) is dict else None
            uri = item.get("uri") if type(item) is dict else None
            if type(params) is dict and type(item) is dict and type(uri) is str:
                self._note_document(method, uri, item, params)

    def _note_document(self, method: str, uri: str, item: dict[str, Any], params: dict[str, Any]) -> None:
        if method == "textDocument/didOpen":
            self._documents[uri] = dict(item)
            self._unsaved.discard(uri)
        elif method == "textDocument/didClose":
            self._documents.pop(uri, None)
            self._unsaved.discard(uri)
        elif method == "textDocument/didSave":
            self._unsaved.discard(uri)
        elif method == "textDocument/didChange" and uri in self._documents:
            changes = params.get("contentChanges")
            last = changes[-1] if type(changes) is list and changes else None
            if type(last) is dict and type(last.get("text")) is str:
                version = item.get("version", self._documents[uri].get("version", 0))
                self._documents[uri] |= {"text": last["text"], "version": version}
                self._unsaved.add(uri)

    def replayed(self) -> list[bytes]:
        """Return the frames that restore the state of the last server, none before `initialize`."""
        if "initialize" not in self._handshake:
            return []
        frames = [encode({**self._handshake["initialize"], "id": REPLAY_ID})]
        if "initialized" in self._handshake:
            frames.append(encode(self._handshake["initialized"]))
            for uri, item in self._documents.items():
                frames.append(_notification("textDocument/didOpen", {"textDocument": item}))
                if uri in self._unsaved:
                    document = {"uri": uri, "version": item.get("version", 0)}
                    changes = {"textDocument": document, "contentChanges": [{"text": item["text"]}]}
                    frames.append(_notification("textDocument/didChange", changes))
        return frames


def _notification(method: str, params: dict[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "method": method, "params": params})
