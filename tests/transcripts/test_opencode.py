"""OpenCode's messages become entries: words of both sides, and calls with what came of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from foveal.daemon.transcripts.opencode import OpenCodeReader

from tests.transcript_cases import read_records, said_in


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


read = partial(read_records, OpenCodeReader)


def test_words_of_both_sides() -> None:
    entries = read(
        message(
            "user", text("Fix it"), text("Called the read tool", synthetic=True), text("x", ignored=True)
        ),
        message("assistant", {"type": "step-start"}, text("Done.")),
        message("assistant", text("So far: x"), summary=True),
        message("user", text("Find it"), parent="s0"),
    )
    assert said_in(entries) == [
        ("user", "Fix it"), ("agent", "Done."), ("boundary", "So far: x"), ("user", "Find it"),
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
    check(tool("task", prompt="Find it"), "agent")
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
