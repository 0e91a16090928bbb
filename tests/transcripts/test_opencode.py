"""OpenCode's messages become entries: words of both sides, and calls with what came of them."""

from __future__ import annotations

import json
from typing import Any

from foveal.daemon.transcripts.entry import Entry
from foveal.daemon.transcripts.opencode import OpenCodeReader, is_opencode

from tests.transcript_cases import said_in


def message(role: str, *parts: dict[str, Any], parent: str = "", **info: Any) -> dict[str, Any]:
    """Return a message of a session, or of a subagent with a parent."""
    about = {"id": "m1", "sessionID": "s1", "role": role, "time": {"created": 1795467170843}, **info}
    return {"info": about, "parts": list(parts), **({"parent": parent} if parent else {})}


def text(said: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **fields}


def tool(name: str, status: str = "completed", *, output: str = "ok", **given: Any) -> dict[str, Any]:
    key = "error" if status == "error" else "output"
    return {
        "type": "tool",
        "tool": name,
        "callID": "c1",
        "state": {"status": status, "input": given, key: output},
    }


def read(*records: dict[str, Any]) -> list[Entry]:
    """Return the entries of some records."""
    reader = OpenCodeReader()
    entries: list[Entry] = []
    for number, record in enumerate(records, start=1):
        entries += reader.read(number, json.dumps(record).encode()) or []
    return entries + reader.finish()


def test_words_of_both_sides() -> None:
    entries = read(
        message(
            "user", text("Fix it"), text("Called the read tool", synthetic=True), text("x", ignored=True)
        ),
        message("assistant", {"type": "step-start"}, {"type": "reasoning", "text": "Where?"}, text("Done.")),
        message("assistant", text("So far: x"), summary=True),
        message("user", text("Find it"), parent="s0"),
    )
    assert said_in(entries) == [
        ("user", "Fix it"), ("thinking", "Where?"), ("agent", "Done."), ("boundary", "So far: x"), ("user", "Find it"),
    ]  # fmt: skip
    assert {(entry.session_id, entry.agent_id, entry.at) for entry in entries} == {
        ("s1", "", "2026-11-23T20:52:50.843+00:00"), ("s0", "s1", "2026-11-23T20:52:50.843+00:00"),
    }  # fmt: skip


def test_opencode_calls_have_kinds() -> None:
    def check(part: dict[str, Any], kind: str, command: str = "", paths: tuple[str, ...] = ()) -> None:
        call, result = read(message("assistant", part))
        assert (call.tool, call.command, call.paths) == (kind, command, paths)
        assert (result.call_id, result.text, result.failed) == ("c1", "ok", False)

    check(tool("edit", filePath="/w/a.py"), "edit", "", ("/w/a.py",))
    check(tool("write", filePath="/w/a.py"), "write", "", ("/w/a.py",))
    check(tool("read", filePath="/w/a.py"), "read", "", ("/w/a.py",))
    check(tool("apply_patch", patchText="*** Begin Patch\n*** Update File: a.py\n"), "edit", "", ("a.py",))
    check(tool("bash", command="make test"), "run", "make test")
    check(tool("todowrite"), "other")
    assert read(message("assistant", tool("task", prompt="Find it")))[0].text == "Find it"
    assert not read(message("assistant", tool("foveal_search_code", output="I chose x")))
    assert not read(message("assistant", tool("edit", "running", filePath="/w/a.py")))
    assert read(message("assistant", tool("bash", command="foveal query x")))[1].text == ""


def test_a_result_fails_by_its_status_or_exit_code() -> None:
    failed = tool("edit", "error", output="no match", filePath="/w/a.py")
    assert [(entry.text, entry.failed) for entry in read(message("assistant", failed))][1] == (
        "no match",
        True,
    )
    ran = tool("bash", command="make test")
    ran["state"]["metadata"] = {"exit": 2}
    assert read(message("assistant", ran))[1].failed


def test_unknown_and_malformed_messages_are_counted() -> None:
    reader = OpenCodeReader()
    for record in (
        message("system", text("x")),
        message("user", {"type": ["text"]}, {"type": "text", "text": 5}, time=5),
        message(
            "assistant", {"type": "tool", "state": []}, tool("bash", command=None), time={"created": "x"}
        ),
        message("assistant", {"type": "tool", "tool": [], "state": {"status": ["completed"]}}),
        message("assistant", {"type": "tool", "state": {"status": "error", "metadata": {"exit": []}}}),
        {"info": {"sessionID": "s1", "role": "user"}, "parts": [None, 5]},
        {"info": 5, "parts": 5},
    ):
        assert reader.read(1, json.dumps(record).encode()) is not None
    assert reader.unknown == 2
    for line in (b"", b"{", b"[1]", b"\xff"):
        assert reader.read(1, line) is None
    assert not is_opencode({"info": {}, "parts": []})
