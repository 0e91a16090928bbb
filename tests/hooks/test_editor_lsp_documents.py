"""The daemon is told of documents in order, of the last text only, and of each refusal once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from foveal.hooks.editors.lsp_server import LspDocument, LspDocuments
from foveal.ipc.aclient import DaemonLink
from foveal.ipc.errors import RpcError

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
