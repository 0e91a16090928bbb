"""Messages are framed as the protocol has it; the daemon is told of documents in order and by their last text."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping
from typing import Any, cast

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
from foveal.hooks.editors.lsp_server import LspDocument, LspDocuments
from foveal.hooks.pump import REPLAY_ID
from foveal.ipc.aclient import DaemonLink
from foveal.ipc.errors import RpcError
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


A, B = LspDocument("/p", "/p/a"), LspDocument("/p", "/p/b")

NEVER_S = 3600.0


class Link:
    """Keeps what is called, and answers as it is told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str | None]] = []
        self.problem: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.called = asyncio.Event()

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        assert method == "NotifyFile"
        assert params["cwd"] == "/p"
        self.calls.append((params["path"][-1], params["event"], params.get("text")))
        self.called.set()
        await self.open.wait()
        if self.problem is not None and "text" in params:
            raise self.problem
        return {"noted": params["path"]}


def documents(link: Link, delay_s: float = NEVER_S) -> tuple[LspDocuments, list[str]]:
    complaints: list[str] = []
    return LspDocuments(cast("DaemonLink", link), complaints.append, delay_s), complaints


async def test_document_events_are_sent_in_order_with_last_text() -> None:
    link = Link()
    told, _ = documents(link)
    told.tell(A, "opened")
    told.tell_text(A, "one")
    told.tell_text(A, "two")
    told.tell(B, "focused")
    assert link.calls == []
    await told.flush()
    assert link.calls == [("a", "opened", None), ("b", "focused", None), ("a", "changed", "two")]


async def test_slow_daemon_gets_only_the_last_event_of_each_kind() -> None:
    link = Link()
    link.open.clear()
    told, _ = documents(link, delay_s=0.0)
    told.tell(A, "focused")
    await asyncio.sleep(0)
    for number in range(100):
        told.tell(B, "focused")
        told.tell(A, "focused")
        told.tell(B, "changed" if number % 2 else "opened")
    link.open.set()
    await told.flush()
    assert link.calls == [
        ("a", "focused", None), ("b", "opened", None), ("b", "focused", None), ("a", "focused", None), ("b", "changed", None),
    ]  # fmt: skip


async def test_closing_withdraws_unsaved_texts() -> None:
    link = Link()
    told, _ = documents(link)
    told.tell_text(A, "one")
    await told.flush()
    told.tell_text(B, "two")
    link.calls.clear()
    await told.close()
    assert sorted(link.calls) == [("a", "closed", None), ("b", "closed", None)]


async def test_refused_text_is_reported_once() -> None:
    link = Link()
    link.problem = RpcError("too_large", "it is too large")
    told, complaints = documents(link)
    for text in ("one", "two"):
        told.tell_text(A, text)
        await told.flush()
    assert link.calls == [
        ("a", "changed", "one"),
        ("a", "changed", None),
        ("a", "changed", "two"),
        ("a", "changed", None),
    ]
    assert complaints == ["it is too large"]
