"""The pump of `foveal lsp`: carries messages between an editor and the language server in the faces process.

Imports the standard library and `ipc` only. The pump knows just enough of the protocol to end as an editor
expects and to continue after a restart of the daemon: it keeps the messages that opened the conversation and
the text of each open document. The server asks for whole texts, so the last change has it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

from ...ipc.errors import DaemonUnavailable
from ...ipc.paths import PathError
from ..upstream import Upstream
from .lsp_frames import (
    INVALID_REQUEST,
    PARSE_ERROR,
    UNAVAILABLE,
    BadFrame,
    FrameTooLarge,
    encode,
    error_frame,
    frame,
    id_of,
    log_frame,
    method_of,
    read_frame,
    read_message,
    reply_frame,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, BinaryIO, Final

    from .lsp_frames import Id

REPLAY_ID: Final = "foveal-reconnect"
"""The id under which a new server gets the host's `initialize` again; its answer is dropped."""

DRAIN_S: Final = 1.0
"""Seconds for open answers at `shutdown`. Editors kill a server after about 2 s."""

WAKING: Final = frozenset({"textDocument/didOpen", "textDocument/didSave"})
"""Notifications that reopen a lost connection, at most once in `PAUSE_S`."""

PAUSE_S: Final = 5.0


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


class LspPump:
    """Carries messages between editor and server; `output` is a descriptor that only this writes to."""

    def __init__(self, upstream: Upstream, output: int) -> None:
        self._upstream = upstream
        self._output = output
        self._writing = threading.Lock()
        self._state = threading.Condition()
        self._connection: socket.socket | None = None  # guarded by _state, as is _waiting
        self._waiting: set[Id] = set()
        self._opening = LspOpening()  # of the main thread only, as is what follows
        self._is_shut = False
        self._retry_at = 0.0

    def run(self, source: BinaryIO) -> int:
        """Carry messages until `exit` or the end of the source; return the exit code.

        Raises `BadFrame`, after which the rest can't be read.
        """
        self._connect(())  # the server starts while the editor is still starting
        while True:
            try:
                body = read_frame(source)
            except FrameTooLarge as error:
                self._write(log_frame(f"{error}; it was left out"))
                continue
            if body is None:
                break
            message = read_message(body)
            if message is None:
                self._write(error_frame(None, PARSE_ERROR, "the message is no JSON object in UTF-8"))
            elif method_of(message) == "exit":
                break
            else:
                self._take(message, body)
        self._drain()
        return 0 if self._is_shut else 1

    def _take(self, message: dict[str, Any], body: bytes) -> None:
        request_id = id_of(message) if method_of(message) else None
        if self._is_shut:
            if request_id is not None:
                self._write(error_frame(request_id, INVALID_REQUEST, "the server was shut down"))
        elif method_of(message) == "shutdown":
            self._is_shut = True
            with self._state:
                self._state.wait_for(lambda: not self._waiting, DRAIN_S)
            self._write(reply_frame(request_id, None))
        else:
            self._carry(message, body, request_id)

    def _carry(self, message: dict[str, Any], body: bytes, request_id: Id | None) -> None:
        """Send a message on, over a new connection if the last one is gone."""
        with self._state:
            if request_id is not None:
                self._waiting.add(request_id)
            connection = self._connection
        if connection is not None and _send(connection, frame(body)):
            self._opening.note(message)
            return
        if connection is not None:
            self._lose(connection, keep=request_id)
        if request_id is not None:
            with self._state:
                if request_id not in self._waiting:
                    return  # it was answered with an error when the connection ended
            self._connect((body,), request_id)
            self._opening.note(message)
            return
        self._opening.note(message)  # the replay holds it
        if method_of(message) in WAKING and time.monotonic() >= self._retry_at:
            self._connect(())

    def _connect(self, bodies: Sequence[bytes], request_id: Id | None = None) -> None:
        """Connect, replay, and send a message; on failure answer a request with an error."""
        try:
            connection = self._upstream.connect()
        except (DaemonUnavailable, PathError, OSError) as error:
            self._retry_at = time.monotonic() + PAUSE_S
            with self._state:
                self._waiting.discard(request_id or "")
            if request_id is not None:
                text = f"foveal's daemon can't be reached: {error}"
                self._write(error_frame(request_id, UNAVAILABLE, text))
            return
        with self._state:
            self._connection = connection
        threading.Thread(target=self._receive, args=(connection,), name="replies", daemon=True).start()
        _send(connection, b"".join((*self._opening.replayed(), *(frame(body) for body in bodies))))

    def _receive(self, connection: socket.socket) -> None:
        """Carry the server's messages to the editor until the connection ends; runs in its own thread."""
        with connection:
            try:
                with connection.makefile("rb") as stream:
                    while (body := read_frame(stream)) is not None:
                        self._deliver(body)
            except (OSError, ValueError, BadFrame, FrameTooLarge):
                pass  # a broken connection ends like any other
        self._lose(connection)

    def _lose(self, connection: socket.socket, keep: Id | None = None) -> None:
        """Answer the requests of a lost connection with an error, except `keep`, which wasn't sent whole."""
        with self._state:
            if self._connection is not connection:
                return  # noticed before
            self._connection = None
            failed = [waiting for waiting in self._waiting if waiting != keep]
            self._waiting.difference_update(failed)
            self._state.notify_all()
        for request_id in failed:
            text = "foveal's daemon went away before it answered; ask again, which starts it"
            self._write(error_frame(request_id, UNAVAILABLE, text))

    def _deliver(self, body: bytes) -> None:
        message = read_message(body) or {}
        answered = None if method_of(message) else id_of(message)
        if answered == REPLAY_ID:
            return
        if answered is not None:
            with self._state:
                if answered not in self._waiting:
                    return  # answered already, by the last connection's end
                self._waiting.discard(answered)
        self._write(frame(body))
        with self._state:
            self._state.notify_all()

    def _drain(self) -> None:
        with self._state:
            connection, self._connection = self._connection, None
            self._waiting.clear()  # nobody reads any more
        if connection is not None:
            _shut(connection)

    def _write(self, data: bytes) -> None:
        """Write a whole frame; ends the process if the editor stopped reading."""
        view = memoryview(data)
        try:
            with self._writing:
                while view:
                    view = view[os.write(self._output, view) :]
        except OSError:
            os._exit(0)


def _send(connection: socket.socket, data: bytes) -> bool:
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # gone already


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
