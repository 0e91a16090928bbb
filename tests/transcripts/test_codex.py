"""Codex's rollouts become entries: each text once, patches and commands with what came of them."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from foveal.daemon.transcripts.codex import CodexReader

from tests.transcript_cases import (
    AT,
    codex_event,
    codex_item,
    codex_line,
    codex_message,
    codex_meta,
    read_records,
    said_in,
)

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-one
+two
*** Add File: src/b.py
+new
*** Delete File: c.py
*** Update File: d.py
*** Move to: e.py
*** End Patch
"""


read = partial(read_records, CodexReader)


def shell(command: Any, call_id: str = "c1", name: str = "shell") -> dict[str, Any]:
    """Return a call of a shell."""
    key = "cmd" if name == "exec_command" else "command"
    arguments = json.dumps({key: command})
    return codex_item("function_call", name=name, arguments=arguments, call_id=call_id)


def output(text: Any, call_id: str = "c1") -> dict[str, Any]:
    """Return a call's output."""
    return codex_item("function_call_output", call_id=call_id, output=text)


def test_items_and_events_give_each_text_once() -> None:
    entries = read(
        codex_meta(),
        codex_line("turn_context", {"cwd": "/w/app"}),
        codex_message("developer", "Sandbox: read-only"),
        codex_message("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        codex_message("user", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs\n</INSTRUCTIONS>"),
        codex_message("user", "Fix the retry bug"),
        codex_event("user_message", message="Fix the retry bug"),
        codex_item("reasoning", summary=[{"type": "summary_text", "text": "Where is it?"}]),
        codex_event("agent_message", message="Fixed."),
        codex_message("assistant", "Fixed."),
        codex_message("user", "Fix the retry bug"),
        codex_event("user_message", message="Fix the retry bug"),
        codex_event("token_count", info={}),
        codex_line("compacted", {"message": "So far: x"}),
    )
    assert said_in(entries) == [
        ("user", "Fix the retry bug"),
        ("agent", "Fixed."),
        ("user", "Fix the retry bug"),
        ("boundary", "So far: x"),
    ]
    assert {(entry.session_id, entry.agent_id, entry.at) for entry in entries} == {("t1", "", AT)}


def test_codex_calls_have_kinds() -> None:
    def check(record: dict[str, Any], tool: str, command: str = "", paths: tuple[str, ...] = ()) -> None:
        (entry,) = read(record)
        assert (entry.tool, entry.command, entry.paths) == (tool, command, paths)

    patched = ("src/a.py", "src/b.py", "c.py", "d.py", "e.py")
    check(shell(["bash", "-lc", "make test"]), "run", "make test")
    check(shell(["ls", "-l"]), "run", "ls -l")
    check(shell("make", name="shell_command"), "run", "make")
    check(shell("make", name="exec_command"), "run", "make")
    check(shell(["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"]), "edit", "", patched)
    check(shell(["apply_patch", PATCH]), "edit", "", patched)
    check(codex_item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c"), "edit", "", patched)
    arguments = json.dumps({"input": PATCH})
    check(
        codex_item("function_call", name="apply_patch", arguments=arguments, call_id="c"), "edit", "", patched
    )
    added = "*** Begin Patch\r\n*** Add File: new name.py\r\n+x\r\n*** End Patch"
    check(
        codex_item("custom_tool_call", name="apply_patch", input=added, call_id="c"),
        "write", "", ("new name.py",),
    )  # fmt: skip
    check(
        codex_item("local_shell_call", call_id="c", action={"type": "exec", "command": ["ls"]}), "run", "ls"
    )
    check(codex_item("function_call", name="update_plan", arguments="{}", call_id="c"), "other")
    check(codex_item("function_call", name="shell", arguments="not JSON", call_id="c"), "run")
    check(codex_item("function_call", name="shell", arguments={"command": "x"}, call_id=5), "run")


def test_a_result_fails_by_its_exit_code() -> None:
    def check(given: Any, text: str, *, failed: bool) -> None:
        entry = read(shell("make"), output(given))[1]
        assert (entry.kind, entry.text, entry.failed) == ("result", text, failed)

    check("plain", "plain", failed=False)
    check(json.dumps({"output": "no rule", "metadata": {"exit_code": 2}}), "no rule", failed=True)
    check(json.dumps({"output": "ok", "metadata": {"exit_code": 0}}), "ok", failed=False)
    check("Exit code: 1\nWall time: 0.2 seconds\nOutput:\nno rule\n", "no rule\n", failed=True)
    check("Exit code: 0\nWall time: 0.2 seconds\nOutput:\nok", "ok", failed=False)
    check(
        "Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nbad", "bad", failed=True
    )
    check("Wall time: 9 seconds\nProcess running with session ID 7\nOutput:\n", "", failed=False)
    check("Wall time: 9 seconds\nOutput:\nExit code: 1", "Exit code: 1", failed=False)
    check("the log says\nExit code: 1\n", "the log says\nExit code: 1\n", failed=False)
    check({"content": "denied", "success": False}, "denied", failed=True)
    check([{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "x"}], "a", failed=False)
    check(None, "", failed=False)


def test_events_without_items_count() -> None:
    ended = {"call_id": "c1", "command": ["bash", "-lc", "make"], "exit_code": 2, "aggregated_output": "bad"}
    assert said_in(read(codex_event("exec_command_end", **ended))) == [("call", "make"), ("result", "bad")]
    told = read(shell("make"), codex_event("exec_command_end", **ended), output("bad"))
    assert [entry.kind for entry in told] == ["call", "result"]
    patched = {"call_id": "c2", "success": True, "stdout": "Done", "changes": {"/w/a.py": {"update": {}}}}
    call, result = read(codex_event("patch_apply_end", **patched))
    assert (call.tool, call.paths, result.text, result.failed) == ("edit", ("/w/a.py",), "Done", False)


def completed(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a completed item of a script."""
    return codex_event("item_completed", item={"type": kind, **fields})


def test_what_scripts_did_counts() -> None:
    script = codex_item("custom_tool_call", name="exec", input="await tools.apply_patch(…)", call_id="c1")
    changes = {"/w/a.py": {"type": "update", "move_path": "/w/b.py"}, "/w/c.py": {"type": "add"}}
    change = {"id": "exec-1", "changes": changes, "stdout": "Success."}
    _, call, result = read(script, completed("FileChange", status="completed", **change))
    assert (call.tool, call.paths, result.failed) == ("edit", ("/w/a.py", "/w/c.py", "/w/b.py"), False)
    for status in ("failed", "declined"):
        assert read(completed("FileChange", status=status, **change))[1].failed
    ran = {"id": "exec-2", "command": ["/bin/bash", "-lc", "make test"], "aggregated_output": "2 failed"}
    call, result = read(completed("CommandExecution", status="failed", exit_code=2, **ran))
    assert (call.command, result.text, result.failed) == ("make test", "2 failed", True)
    assert read(completed("CommandExecution", status="declined", exit_code=None, **ran))[1].failed
    assert not read(completed("WebSearch", id="ws"), completed("AgentMessage", id="m"), completed("", id=5))


def test_a_refused_patch_fails() -> None:
    def check(given: Any, *, failed: bool) -> None:
        entries = read(
            codex_item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1"), output(given)
        )
        assert entries[1].failed == failed

    check(
        "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py",
        failed=False,
    )
    check(json.dumps({"output": "Success.", "metadata": {"exit_code": 0}}), failed=False)
    check("unsupported custom tool call: apply_patch", failed=True)
    check("apply_patch verification failed: Failed to find expected lines in a.py", failed=True)
    check("patch rejected by user", failed=True)


def test_a_subagent_reports_to_its_parent() -> None:
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "t1", "depth": 1}}}
    meta = codex_meta("t2", source=spawn)
    entries = read(
        meta,
        codex_meta("t1"),
        codex_message("user", "Find the leak"),
        codex_message("assistant", "Looking."),
        codex_message("assistant", "It leaks in b.py."),
        codex_event("agent_message", message="It leaks in b.py."),
    )
    assert said_in(entries) == [
        ("user", "Find the leak"),
        ("agent", "Looking."),
        ("agent", "It leaks in b.py."),
    ]
    assert {(entry.session_id, entry.agent_id, entry.sidechain) for entry in entries} == {("t1", "t2", False)}
    final = read(meta, codex_message("assistant", "Done.", phase="final_answer"))
    assert said_in(final) == [("handback", "Done.")]
    text = "Message Type: FINAL_ANSWER\nPayload:\nIt leaks."
    content = [{"type": "input_text", "text": text}]
    (report,) = read(codex_meta(), codex_item("agent_message", author="/root/review", content=content))
    assert (report.kind, report.text, report.agent_id, report.sidechain) == (
        "handback", "It leaks.", "/root/review", True,
    )  # fmt: skip
