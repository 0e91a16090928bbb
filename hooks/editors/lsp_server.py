"""The language server of one connection: definitions, symbols, and the editor's documents for the daemon.

pygls is made for a process of its own: its loop reads pipes, and `exit` ends the process. So the messages are
read here, and `exit` isn't passed on; the pump ends the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from ...ipc.aclient import DaemonLink
from ...ipc.errors import DaemonUnavailable, RpcError
from ...ipc.version import __version__
from ..mcp_server.caller import ClientIdentity
from ..pump import INVALID_REQUEST, PARSE_ERROR, id_of
from .lsp_frames import (
    MAX_BODY_BYTES,
    MAX_HEAD_BYTES,
    UNAVAILABLE,
    BadFrame,
    body_size,
    error_frame,
    method_of,
    read_message,
)
from .lsp_symbols import SymbolIndex, SymbolPlace

DID_FOCUS = "foveal/didFocus"
"""Our own notification `{uri}` of the document that a person looks at; the protocol has none."""

WORD_BEFORE, WORD_BEHIND = re.compile(r"[\w$]*$"), re.compile(r"^[\w$]*")

KINDS = {
    "function": lsp.SymbolKind.Function,
    "method": lsp.SymbolKind.Method,
    "class": lsp.SymbolKind.Class,
    "interface": lsp.SymbolKind.Interface,
    "struct": lsp.SymbolKind.Struct,
    "enum": lsp.SymbolKind.Enum,
    "module": lsp.SymbolKind.Module,
    "namespace": lsp.SymbolKind.Namespace,
    "constant": lsp.SymbolKind.Constant,
    "field": lsp.SymbolKind.Field,
    "property": lsp.SymbolKind.Property,
    "section": lsp.SymbolKind.String,
    "type": lsp.SymbolKind.Class,
}
"""The index's kinds of definitions and the nearest ones of LSP; any other is a variable."""

logging.getLogger("pygls").setLevel(logging.CRITICAL)
"""Errors go to the editor; pygls would also log them, with the texts of documents."""


async def serve_connection(
    connection: socket.socket, greeting: bytes, caller: ClientIdentity, daemon: str
) -> None:
    """Greet, then serve until the peer hangs up. The connection is closed at the end."""
    reader, writer = await asyncio.open_unix_connection(sock=connection)
    link = DaemonLink(daemon)
    session = _Session(link, writer, caller.cwd)
    try:
        writer.write(greeting)
        while (body := await _read_body(reader)) is not None:
            session.take(body)
            await writer.drain()
    except ConnectionError:
        return  # the pump is gone, with the editor
    finally:
        await session.close()
        writer.close()
        await link.close()


async def _read_body(reader: asyncio.StreamReader) -> bytes | None:
    """Return the next message; None if the connection ends, or holds what no pump sends."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        size = body_size(head[:MAX_HEAD_BYTES])
        return await reader.readexactly(size) if size <= MAX_BODY_BYTES else None
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, BadFrame):
        return None


class _Session:
    """One editor: its documents and its server."""

    def __init__(self, link: DaemonLink, writer: asyncio.StreamWriter, cwd: str) -> None:
        self._writer = writer
        self._cwd = cwd
        self._index = SymbolIndex(link)
        self._documents = LspDocuments(link, self._complain)
        self._server = LanguageServer("foveal", __version__, lsp.TextDocumentSyncKind.Full)
        self._server.protocol.set_writer(writer)
        self._answering: set[asyncio.Task[Any]] = set()
        self._add_notifications()
        self._add_requests()

    def take(self, body: bytes) -> None:
        """Handle a message; a request that is malformed is answered with an error."""
        message = read_message(body)
        if message is None:
            self._writer.write(error_frame(None, PARSE_ERROR, "the message is no JSON object in UTF-8"))
            return
        if method_of(message) == lsp.EXIT:
            return
        protocol = self._server.protocol
        try:
            structured = protocol.structure_message(message)
        except JsonRpcException as error:
            if method_of(message) and id_of(message) is not None:
                self._writer.write(error_frame(id_of(message), error.code or PARSE_ERROR, error.message))
            return
        if "jsonrpc" in message:
            protocol.handle_message(structured)
        elif id_of(message) is not None:
            text = 'a message must have "jsonrpc": "2.0"'
            self._writer.write(error_frame(id_of(message), INVALID_REQUEST, text))

    async def close(self) -> None:
        """Withdraw the unsaved texts of an editor that ended."""
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        await self._documents.close()

    def _add_notifications(self) -> None:
        feature = self._server.feature

        @feature(lsp.TEXT_DOCUMENT_DID_OPEN)
        def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
            self._tell(params.text_document.uri, "opened")

        @feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
        def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
            document = self._document(params.text_document.uri)
            open_document = self._server.workspace.text_documents.get(params.text_document.uri)
            if document is not None and open_document is not None:
                self._documents.tell_text(document, open_document.source)

        @feature(lsp.TEXT_DOCUMENT_DID_SAVE)
        def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
            self._tell(params.text_document.uri, "changed")

        @feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
        def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
            self._tell(params.text_document.uri, "closed")

        @feature(DID_FOCUS)
        def did_focus(params: Any) -> None:
            uri = getattr(params, "uri", None)
            if isinstance(uri, str):
                self._tell(uri, "focused")

    def _add_requests(self) -> None:
        feature = self._server.feature

        @feature(lsp.WORKSPACE_SYMBOL)
        async def symbol(params: lsp.WorkspaceSymbolParams) -> list[lsp.SymbolInformation]:
            with self._answer():
                await self._documents.flush()
                folders = self._folders()
                found = await asyncio.gather(
                    *[self._index.find_symbols(folder, params.query) for folder in folders]
                )
            return [self._information(place) for places in found for place in places]

        @feature(lsp.TEXT_DOCUMENT_DEFINITION)
        async def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
            uri, position = params.text_document.uri, params.position
            document = self._document(uri)
            open_document = self._server.workspace.text_documents.get(uri)
            if document is None or open_document is None:
                return []
            name = open_document.word_at_position(position, WORD_BEFORE, WORD_BEHIND)
            if not name:
                return []
            self._tell(uri, "focused")
            with self._answer():
                await self._documents.flush()
                places = await self._index.find_definitions(
                    document.cwd, document.path, position.line + 1, name
                )
            return [self._location(place) for place in places]

    def _tell(self, uri: str, event: str) -> None:
        document = self._document(uri)
        if document is not None:
            self._documents.tell(document, event)

    def _document(self, uri: str) -> LspDocument | None:
        """Return the file of a URI; None for any other URI and for a file outside the open folders."""
        path = to_fs_path(uri) if uri.startswith("file:") else None
        if not path or not path.startswith("/") or "\0" in path:
            return None
        path = os.path.normpath(path)
        around = [folder for folder in self._folders() if path.startswith(folder.rstrip("/") + "/")]
        return LspDocument(max(around, key=len), path) if around else None

    def _folders(self) -> list[str]:
        """Return the open folders, else the folder that the editor started the server in."""
        workspace = self._server.workspace
        paths = [to_fs_path(uri) for uri in workspace.folders] or [workspace.root_path]
        return [os.path.normpath(path) for path in paths if path] or [self._cwd]

    def _location(self, place: SymbolPlace) -> lsp.Location:
        units = self._server.workspace.position_codec.client_num_units
        found = re.search(rf"(?<![\w$]){re.escape(place.name)}(?![\w$])", place.text) if place.name else None
        start, end = found.span() if found else (0, 0)
        line = place.line - 1
        return lsp.Location(
            from_fs_path(place.path) or "",
            lsp.Range(
                lsp.Position(line, units(place.text[:start])), lsp.Position(line, units(place.text[:end]))
            ),
        )

    def _information(self, place: SymbolPlace) -> lsp.SymbolInformation:
        kind = KINDS.get(place.kind, lsp.SymbolKind.Variable)
        return lsp.SymbolInformation(
            self._location(place), place.name, kind, container_name=place.container or None
        )

    @contextlib.contextmanager
    def _answer(self) -> Iterator[None]:
        """Turn a refusal of the daemon into an error of the request."""
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            yield
        except (RpcError, DaemonUnavailable) as error:
            raise JsonRpcException(f"foveal: {error}", UNAVAILABLE) from error
        finally:
            self._answering.discard(task)

    def _complain(self, text: str) -> None:
        message = lsp.LogMessageParams(lsp.MessageType.Warning, f"foveal: {text}")
        self._server.window_log_message(message)


DELAY_S = 0.3
"""Seconds after the last change until a text is sent to the daemon."""

FLUSH_S = 2.0
"""Maximum seconds that a request waits for pending notifications."""


@dataclass(frozen=True, slots=True)
class LspDocument:
    """A file of an open folder: absolute paths of the folder and of the file."""

    cwd: str
    path: str


class LspDocuments:
    """Sends an editor's documents to the daemon, in order and not at each key.

    `complain` gets each refusal of the daemon once.
    """

    def __init__(self, link: DaemonLink, complain: Callable[[str], None], delay_s: float = DELAY_S) -> None:
        self._link = link
        self._complain = complain
        self._delay_s = delay_s
        self._complaints: set[str] = set()
        self._delayed: dict[LspDocument, tuple[asyncio.TimerHandle, str]] = {}
        self._pending: dict[tuple[LspDocument, str], str | None] = {}
        self._unsaved: set[LspDocument] = set()
        self._sending: asyncio.Task[None] | None = None

    def tell(self, document: LspDocument, event: str) -> None:
        """Send an event of NotifyFile; after `changed` and `closed` the file on disk counts again."""
        if event in {"changed", "closed"}:
            self._forget_text(document)
        self._put(document, event, None)

    def tell_text(self, document: LspDocument, text: str) -> None:
        """Send the text of an unsaved document when it didn't change for a while."""
        delayed = self._delayed.pop(document, None)
        if delayed is not None:
            delayed[0].cancel()
        loop = asyncio.get_running_loop()
        self._delayed[document] = (loop.call_later(self._delay_s, self._put_text, document), text)

    async def flush(self) -> None:
        """Send all pending events, and wait until the daemon has them."""
        for document in list(self._delayed):
            self._put_text(document)
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=FLUSH_S)

    async def close(self) -> None:
        """Withdraw all unsaved texts."""
        for document in {*self._delayed, *self._unsaved}:
            self.tell(document, "closed")
        await self.flush()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait({self._sending})

    def _forget_text(self, document: LspDocument) -> None:
        delayed = self._delayed.pop(document, None)
        if delayed is not None:
            delayed[0].cancel()
        self._pending.pop((document, "changed"), None)
        self._unsaved.discard(document)

    def _put_text(self, document: LspDocument) -> None:
        handle, text = self._delayed.pop(document)
        handle.cancel()
        self._unsaved.add(document)
        self._put(document, "changed", text)

    def _put(self, document: LspDocument, event: str, text: str | None) -> None:
        """Append an event, replacing a pending one of its kind."""
        self._pending.pop((document, event), None)
        self._pending[document, event] = text
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._pending:
            document, event = next(iter(self._pending))
            text = self._pending.pop((document, event))
            params = {"cwd": document.cwd, "path": document.path, "event": event}
            try:
                await self._link.call("NotifyFile", params if text is None else {**params, "text": text})
            except DaemonUnavailable:
                continue  # this process ends with the daemon, and the pump replays what is open
            except RpcError as error:
                self._complain_once(str(error))
                if text is not None:
                    self._withdraw(document)

    def _withdraw(self, document: LspDocument) -> None:
        """Let the file count again, after the daemon refused its text."""
        if (document, "changed") not in self._pending:
            self._unsaved.discard(document)
            self._pending[document, "changed"] = None

    def _complain_once(self, text: str) -> None:
        if text not in self._complaints:
            self._complaints.add(text)
            self._complain(text)
