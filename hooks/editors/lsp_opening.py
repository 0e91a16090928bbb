"""Owns what a new server must be told of a conversation that began with another one: no I/O.

The daemon may be restarted under an open editor, which knows of nothing. So the pump keeps how the
conversation was opened, and of each open document the text; the server asks for whole texts, so that the last
change has it.
"""

from __future__ import annotations

from .lsp_frames import encode, id_of, method_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

REPLAY_ID: Final = "foveal-reconnect"
"""Under this id a new server gets the host's `initialize` again; the answer goes to nobody."""


class LspOpening:
    """What was opened and not closed. `note` each message of the editor; `replayed` gives the frames."""

    def __init__(self) -> None:
        self._handshake: dict[str, dict[str, Any]] = {}
        self._documents: dict[str, dict[str, Any]] = {}  # the item of `didOpen` by URI, with the last text
        self._unsaved: set[str] = set()

    def note(self, message: dict[str, Any]) -> None:
        """Take note of a message that the editor sent, as far as it opens, changes or closes something."""
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
        """Return the frames that bring a new server to where the last one was; none before `initialize`."""
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
