"""A key in somebody's prompt goes back to who sent it, and is neither kept nor shown to anybody later."""

from __future__ import annotations

import contextlib
import zlib
from functools import partial
from pathlib import Path

from foveal.daemon.context.delivered import masked_sent
from foveal.daemon.sessions.records import Sent, SentMessage

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

AWS = "AKIA" + "Q3EGW7ZLTNKD5RXB"
GITHUB = "ghp_" + "Zk3vQ9xLw2RtYb7NmPc5HdJfSgUaEo8iT1Xq"
PROMPT = f"Why is {AWS} refused, and is {GITHUB} still good?"
HISTORY = [{"role": "user", "content": f"I use {GITHUB} here."}]


def test_what_is_kept_is_masked_and_counted() -> None:
    kept, count = masked_sent(Sent("x = 1", "Be kind.", PROMPT, (SentMessage("user", f"I use {GITHUB}"),)))
    assert kept.user_prompt == "Why is [masked]16+ refused, and is [masked]32+ still good?"
    assert kept.history == (SentMessage("user", "I use [masked]32+"),)
    assert (kept.context, kept.system_prompt, count) == ("x = 1", "Be kind.", 3)


def test_what_has_no_secret_is_kept_as_it_is() -> None:
    sent = Sent("x = 1", "Be kind.", "Why does login fail?")
    assert masked_sent(sent) == (sent, 0)


async def test_no_file_no_page_and_no_list_shows_a_key_of_a_prompt(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "p", SMALL_PROJECT).resolve()
    shared_daemon.open_ready(root)
    session = shared_daemon.call("CreateSession", cwd=str(root))["session_id"]
    asked = {"cwd": str(root), "session_id": session, "prompt": PROMPT, "history": HISTORY}
    for kind in ("markdown", "prompts", "messages"):
        reply = shared_daemon.call("GetContext", **asked, format=kind)
    assert reply["user_prompt"] == reply["messages"][-1]["content"] == PROMPT
    assert {"role": "user", "content": HISTORY[0]["content"]} in reply["messages"]
    found = {"session_id": session, "request_id": reply["request_id"]}
    shared_daemon.call("ReportReply", **found, reply=f"It is {AWS}.")
    exported = shared_daemon.call("ExportRequests", session_id=session, content=True)  # all are written now
    told = [
        exported,
        shared_daemon.call("GetRequest", **found),
        shared_daemon.call("ListContexts", session_id=session),
        shared_daemon.call("GetBuiltContext", context_id=reply["context_id"]),
        shared_daemon.call("GetScope", scope_id=reply["scope_id"]),
    ]
    shown = [
        await read(pages, address)
        for address in (
            "/",
            f"/turns/{reply['context_id']}",
            f"/sessions/{session}",
        )
    ]
    assert all("[masked]" in text for text in shown)
    assert "3 values that look like secrets are kept as [masked]" in told[1]["problem"]
    kept = [file.read_bytes() for file in shared_daemon.state.rglob("*") if file.is_file()]
    assert any(b"still good?" in unpacked(data) for data in kept)  # so a key would be seen there too
    for key in (AWS, GITHUB):
        assert [one for one in told if key in str(one)] == []
        assert not any(key in text for text in shown)
        assert not any(key.encode() in data or key.encode() in unpacked(data) for data in kept)


def unpacked(data: bytes) -> bytes:
    """Return what the compressed parts of a file hold, wherever in it they begin."""
    found = []
    for begin, decompressor in (
        (b"\x78\x9c", zlib.decompressobj),
        (b"\x1f\x8b\x08", partial(zlib.decompressobj, 31)),
    ):
        at = data.find(begin)
        while at >= 0:
            with contextlib.suppress(zlib.error):
                found.append(decompressor().decompress(data[at:], 1 << 22))
            at = data.find(begin, at + 2)
    return b"\n".join(found)
