"""Messages are read from bytes as the protocol frames them, and a new server is told what is open."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from foveal.hooks.editors.lsp_frames import (
    MAX_BODY_BYTES,
    BadFrame,
    FrameTooLarge,
    frame,
    read_frame,
    read_message,
)
from foveal.hooks.editors.lsp_pump import LspOpening
from foveal.hooks.pump import REPLAY_ID
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.binary(max_size=200)))
def test_frames_roundtrip(bodies: list[bytes]) -> None:
    source = io.BytesIO(b"".join(frame(body) for body in bodies))
    assert [read_frame(source) for _ in bodies] == bodies
    assert read_frame(source) is None


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 3\r\n\r\n{}",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 2\r\n",
        b"Content-Type: x\r\n\r\n",
        b"\r\n\r\n",
        b"{}\n",
        b"x" * 10_000,
        b"a: b\r\n" * 10_000,
        b"Content-Length: 99999999\r\n\r\n{}",
    ],
)
def test_invalid_frames_are_refused(data: bytes) -> None:
    with pytest.raises(BadFrame):
        read_frame(io.BytesIO(data))


def test_too_large_frames_are_skipped() -> None:
    source = io.BytesIO(frame(b" " * (MAX_BODY_BYTES + 1)) + frame(b"next"))
    with pytest.raises(FrameTooLarge, match="limit"):
        read_frame(source)
    assert read_frame(source) == b"next"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"id": 1}', {"id": 1}),
        (b"[]", None),
        (b"nonsense", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (b'{"a": "\\ud83d"}', {"a": "?"}),
        (b'{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
    ],
)
def test_messages(body: bytes, message: Any) -> None:
    assert read_message(body) == message


def told(opening: LspOpening, *messages: tuple[str, Any]) -> list[Any]:
    """Note messages; return method and parameters of what a new server is told."""
    for method, params in messages:
        opening.note({"jsonrpc": "2.0", "method": method, "params": params})
    source = io.BytesIO(b"".join(opening.replayed()))
    found = []
    while (body := read_frame(source)) is not None:
        message = json.loads(body)
        assert (message.get("id") == REPLAY_ID) == (message["method"] == "initialize")
        found.append((message["method"], message["params"]))
    return found


def item(text: str, version: int = 1) -> dict[str, Any]:
    return {"uri": "file:///a", "languageId": "x", "version": version, "text": text}


def changed(*texts: str) -> tuple[str, Any]:
    document = {"uri": "file:///a", "version": 2}
    return "textDocument/didChange", {
        "textDocument": document,
        "contentChanges": [{"text": text} for text in texts],
    }


DOCUMENT = {"textDocument": {"uri": "file:///a"}}


def test_replay_holds_open_documents() -> None:
    opening = LspOpening()
    start = [("initialize", {"a": 1}), ("initialized", {})]
    opened = ("textDocument/didOpen", {"textDocument": item("one")})
    assert told(opening, opened) == [], "there is nothing to go on with before the handshake"
    assert told(opening, *start) == [*start, opened]
    last = ("textDocument/didOpen", {"textDocument": item("three", 2)})
    assert told(opening, changed("two", "three")) == [*start, last, changed("three")]
    assert told(opening, ("textDocument/didSave", DOCUMENT)) == [*start, last]
    assert told(opening, ("textDocument/didClose", DOCUMENT)) == start
    assert told(opening, changed("of a document that isn't open")) == start
