"""Gemini's chats become entries: each message and call once, without what hooks added or rewinds left."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from foveal.daemon.transcripts.gemini import GeminiReader

from tests.transcript_cases import AT, entries_of, read_records, said_in, write

HEAD = {"sessionId": "s1", "projectHash": "ab", "startTime": AT, "lastUpdated": AT, "kind": "main"}


def message(kind: str, content: Any, message_id: str = "m1", **fields: Any) -> dict[str, Any]:
    """Return a message."""
    return {"id": message_id, "timestamp": AT, "type": kind, "content": content, **fields}


def call(name: str, output: str = "ok", *, status: str = "success", **args: Any) -> dict[str, Any]:
    """Return a call with its result."""
    response = {"output": output} if status == "success" else {"error": output}
    result = [{"functionResponse": {"id": "c1", "name": name, "response": response}}]
    return {"id": f"{name}-{output}", "name": name, "args": args, "status": status, "result": result}


read = partial(read_records, GeminiReader, HEAD)


def test_each_message_counts_once() -> None:
    hooked = "<hook_context>&lt;foveal-context&gt;I chose x&lt;/foveal-context&gt;</hook_context>\n\nFix it"
    grown = message("gemini", "Looking.", "m2", toolCalls=[call("glob")])
    entries = read(
        {"$set": {"messages": [message("user", [{"text": "<session_context>\nThis is the Gemini CLI."}])]}},
        message("user", [{"text": "<session_context>\nThis is the Gemini CLI."}]),
        message("user", [{"text": hooked}, {"text": "<hook_context>more</hook_context>"}]),
        message("gemini", "Looking.", "m2"),
        grown,
        grown,
        message("user", [{"functionResponse": {"id": "c1", "name": "glob", "response": {}}}], "m3"),
        {"$set": {"lastUpdated": AT}},
        message("info", "Update available", "m4"),
    )
    assert said_in(entries) == [
        ("user", "Fix it"),
        ("agent", "Looking."),
        ("call", "other"),
        ("result", "ok"),
    ]
    assert {(entry.session_id, entry.agent_id, entry.at) for entry in entries} == {("s1", "", AT)}


def test_gemini_calls_have_kinds() -> None:
    def check(given: dict[str, Any], tool: str, command: str = "", paths: tuple[str, ...] = ()) -> None:
        found, result = read(message("gemini", "", toolCalls=[given]))
        assert (found.tool, found.command, found.paths) == (tool, command, paths)
        assert (result.call_id, result.failed) == (found.call_id, False)

    check(call("replace", file_path="/w/a.py"), "edit", "", ("/w/a.py",))
    check(call("write_file", file_path="/w/a.py"), "write", "", ("/w/a.py",))
    check(call("read_file", absolute_path="/w/a.py"), "read", "", ("/w/a.py",))
    check(call("run_shell_command", command="make test"), "run", "make test")
    check(call("write_todos"), "other")
    assert not read(message("gemini", "", toolCalls=[call("mcp_foveal_search_code", "I chose x")]))
    assert not read(message("gemini", "", toolCalls=[call("replace", status="executing")]))


def test_a_result_fails_by_its_status_or_exit_code() -> None:
    def check(given: dict[str, Any], *, failed: bool) -> None:
        assert read(message("gemini", "", toolCalls=[given]))[1].failed is failed

    check(call("replace", "no match", status="error"), failed=True)
    check(call("replace", "", status="cancelled"), failed=True)
    check(call("run_shell_command", "Output: 2 failed\nExit Code: 1\nProcess Group PGID: 7"), failed=True)
    check(call("run_shell_command", "Output: 2 passed\nExit Code: 0"), failed=False)
    check(call("read_file", "Exit Code: 1"), failed=False)


def test_a_subagents_report_counts() -> None:
    report = "Subagent 'x' finished.\nTermination Reason: GOAL\nResult:\nIt leaks in b.py."
    _, handback = read(message("gemini", "", toolCalls=[call("invoke_agent", report, prompt="Find it")]))
    assert (handback.kind, handback.text, handback.sidechain) == ("handback", "It leaks in b.py.", False)
    reader = GeminiReader()
    reader.read(1, json.dumps({**HEAD, "kind": "subagent"}).encode())
    assert reader.owner == "s1"


def test_rewound_messages_are_left_out(tmp_path: Path) -> None:
    def check(to: str, *expected: str) -> None:
        records = [HEAD, *(message("user", f"prompt {n}", f"m{n}") for n in range(3)), {"$rewindTo": to}]
        path = write(tmp_path / "chat.jsonl", [*records, message("user", "again", "m9")])
        assert [entry.text for entry in entries_of(path)] == [*expected, "again"]

    check("m1", "prompt 0")
    check("m0")
    check("unknown")
