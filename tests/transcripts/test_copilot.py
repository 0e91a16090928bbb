"""Copilot's events become entries: words, calls with their files and exit codes, subagents by their id."""

from __future__ import annotations

from functools import partial
from typing import Any

from foveal.daemon.transcripts.copilot import CopilotReader

from tests.transcript_cases import AT, read_records, said_in


def event(kind: str, agent_id: str = "", **data: Any) -> dict[str, Any]:
    """Return an event with its envelope."""
    record = {"type": kind, "data": data, "id": "e1", "timestamp": AT, "parentId": None}
    return {**record, "agentId": agent_id} if agent_id else record


read = partial(read_records, CopilotReader)


def start(name: str, call_id: str = "c1", **given: Any) -> dict[str, Any]:
    return event("tool.execution_start", toolCallId=call_id, toolName=name, arguments=given)


def complete(content: str = "ok", call_id: str = "c1", **fields: Any) -> dict[str, Any]:
    fields = {"success": True, "result": {"content": content}, **fields}
    return event("tool.execution_complete", toolCallId=call_id, **fields)


def test_words_of_both_sides() -> None:
    entries = read(
        event("session.start", sessionId="s1", context={"cwd": "/w/app"}),
        event("user.message", content="Fix it", transformedContent="<current_datetime>…"),
        event("assistant.message", content="Looking.", toolRequests=[]),
        event("assistant.message", content="", toolRequests=[]),
        event("session.compaction_complete", success=True, summaryContent="So far: x"),
        event("abort", reason="user_abort"),
        event("user.message", "a1", content="Find the leak"),
    )
    assert said_in(entries) == [
        ("user", "Fix it"),
        ("agent", "Looking."),
        ("boundary", "So far: x"),
        ("user", "[Request interrupted by user]"),
        ("user", "Find the leak"),
    ]
    assert {(entry.session_id, entry.at) for entry in entries} == {("s1", AT)}
    assert [(entry.agent_id, entry.sidechain) for entry in entries[-2:]] == [("", False), ("a1", True)]


def test_copilot_calls_have_kinds() -> None:
    def check(record: dict[str, Any], tool: str, command: str = "", paths: tuple[str, ...] = ()) -> None:
        (entry,) = read(record)
        assert (entry.tool, entry.command, entry.paths) == (tool, command, paths)

    check(start("edit", path="/w/a.py"), "edit", "", ("/w/a.py",))
    check(start("create", path="/w/a.py"), "write", "", ("/w/a.py",))
    check(start("view", path="/w/a.py"), "read", "", ("/w/a.py",))
    check(start("bash", command="make test"), "run", "make test")
    check(start("report_intent", intent="x"), "other")
    check(start("task", agent_type="explore", prompt="Find it"), "agent")


def test_files_of_a_patch_stand_in_its_result() -> None:
    edited = complete(fileEdits=[{"path": "/w/a.py", "kind": "edit"}, {"path": "/w/b.py", "kind": "create"}])
    call, edit, result = read(start("apply_patch", input="…"), edited)
    assert (call.tool, edit.tool, edit.paths, edit.call_id) == ("other", "edit", ("/w/a.py", "/w/b.py"), "")
    assert (result.kind, result.failed) == ("result", False)
    assert len(read(start("edit", path="/w/a.py"), edited)) == 2


def test_a_result_fails_by_its_flag_or_exit_code() -> None:
    def check(record: dict[str, Any], *, failed: bool) -> None:
        assert read(start("bash", command="make test"), record)[-1].failed is failed

    check(complete("2 passed\n<shellId: 0 completed with exit code 0>"), failed=False)
    check(complete("2 failed\n<shellId: 0 completed with exit code 1>"), failed=True)
    check(complete("2 failed", shellExecution={"exitCode": 1}), failed=True)
    check(complete(success=False, result=None, error={"message": "denied"}), failed=True)
