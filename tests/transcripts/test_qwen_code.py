"""Qwen Code's records become entries, without what hooks, the host or abandoned turns left in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foveal.daemon.transcripts.entry import TranscriptEntry

from tests.transcript_cases import AT, entries_of, said_in, write

HOOKED = "<qwen:user-prompt-submit-context>\n[foveal-context]\nI chose x.\n"


def record(kind: str, uuid: str, parent: str | None, *parts: Any, **fields: Any) -> dict[str, Any]:
    """Return a record with a message of some parts; texts are parts too."""
    made = [{"text": part} if isinstance(part, str) else part for part in parts]
    base = {"uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": AT, "cwd": "/w", "type": kind}
    return {**base, **({"message": {"parts": made}} if parts else {}), **fields}


def call(name: str, call_id: str = "c1", **args: Any) -> dict[str, Any]:
    """Return a part that calls a tool."""
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def result(call_id: str = "c1", **response: str) -> dict[str, Any]:
    """Return a part with the result of a call."""
    return {"functionResponse": {"id": call_id, "name": "x", "response": response}}


def test_only_typed_text_is_a_prompt(tmp_path: Path) -> None:
    def said(*records: dict[str, Any]) -> list[tuple[str, str]]:
        return said_in(entries_of(write(tmp_path / "chat.jsonl", records)))

    assert said(
        record("user", "1", None, "Why?", HOOKED),
        record("system", "2", "1", subtype="attribution_snapshot", systemPayload={"snapshot": {}}),
        record("assistant", "3", "2", {"text": "Let me think", "thought": True}, "Because."),
        record(
            "user", "4", "3", "<task-notification>done</task-notification>I chose y.", provenance="system"
        ),
        record("user", "5", "4", "And now this", subtype="mid_turn_user_message"),
        record(
            "system",
            "6",
            "5",
            subtype="chat_compression",
            systemPayload={"compressedHistory": [{"role": "user", "parts": [{"text": "A summary"}]}]},
        ),
    ) == [("user", "Why?"), ("agent", "Because."), ("user", "And now this"), ("boundary", "A summary")]


def test_calls_and_their_results(tmp_path: Path) -> None:
    def check(called: dict[str, Any], ended: dict[str, Any], tool: str, *, failed: bool = False) -> None:
        records = (record("assistant", "1", None, called), record("tool_result", "2", "1", ended))
        first, second = entries_of(write(tmp_path / "chat.jsonl", records))
        assert (first.kind, first.tool, second.kind, second.failed) == ("call", tool, "result", failed)

    check(call("edit", file_path="/w/a.py"), result(output="ok"), "edit")
    check(call("edit", file_path="/w/a.py"), result(error="no such text"), "edit", failed=True)
    check(call("run_shell_command", command="make"), result(output="x\nExit Code: 0"), "run")
    check(call("run_shell_command", command="make"), result(output="x\nExit Code: 2"), "run", failed=True)
    check(call("read_file", file_path="/w/a.py"), result(output="Exit Code: 2"), "read")
    own = record("assistant", "1", None, call("mcp__foveal__search_code"))
    path = write(tmp_path / "own.jsonl", (own, record("tool_result", "2", "1", result(output="I chose z."))))
    assert entries_of(path) == []


def test_abandoned_turns_are_left_out(tmp_path: Path) -> None:
    def kept(parent: str | None) -> list[TranscriptEntry]:
        records = (
            record("user", "1", None, "One"),
            record("assistant", "2", "1", "First."),
            record("user", "3", "2", "Two"),
            record("assistant", "4", "3", "Second."),
            record("system", "5", parent, subtype="rewind", systemPayload={}),
            record("user", "6", "5", "Three"),
        )
        return entries_of(write(tmp_path / "chat.jsonl", records))

    assert said_in(kept("2")) == [("user", "One"), ("agent", "First."), ("user", "Three")]
    assert said_in(kept(None)) == [("user", "Three")]
