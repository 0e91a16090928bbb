"""Owns what the daemon is told of an editor's documents: in order, and not of each key that is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ...ipc.errors import DaemonUnavailable, RpcError
from ...ipc.link import DaemonLink

DELAY_S = 0.3
"""After the last change of a text until the daemon is told it."""

FLUSH_S = 2.0
"""How long a request waits for what must be told before it; then it goes on without."""


@dataclass(frozen=True, slots=True)
class LspDocument:
    """A file of an open folder: absolute paths of the folder and of the file."""

    cwd: str
    path: str


class LspDocuments:
    """Tells the daemon of documents. `complain` gets what the daemon refuses, each text once."""

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
        """Tell an event of NotifyFile; after `changed` and `closed` the file on the disk counts again."""
        if event in {"changed", "closed"}:
            self._forget_text(document)
        self._put(document, event, None)

    def tell_text(self, document: LspDocument, text: str) -> None:
        """Tell the text of a document that isn't saved, when no other one came for a while."""
        delayed = self._delayed.pop(document, None)
        if delayed is not None:
            delayed[0].cancel()
        loop = asyncio.get_running_loop()
        self._delayed[document] = (loop.call_later(self._delay_s, self._put_text, document), text)

    async def flush(self) -> None:
        """Tell all that waits, and wait until the daemon has it."""
        for document in list(self._delayed):
            self._put_text(document)
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=FLUSH_S)

    async def close(self) -> None:
        """Take back all unsaved texts."""
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
        """Append an event, in the place of one of its kind that wasn't told yet."""
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
                continue  # this process ends with the daemon, and the pump tells the next one what is open
            except RpcError as error:
                self._complain_once(str(error))
                if text is not None:
                    self._withdraw(document)

    def _withdraw(self, document: LspDocument) -> None:
        """Let the file count again, in the place of a text that the daemon didn't take."""
        if (document, "changed") not in self._pending:
            self._unsaved.discard(document)
            self._pending[document, "changed"] = None

    def _complain_once(self, text: str) -> None:
        if text not in self._complaints:
            self._complaints.add(text)
            self._complain(text)
