"""Cline's and Factory Droid's messages become entries, without what their hooks and hosts added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.transcript_cases import entries_of, said_in, write


def test_messages_of_cline_are_read_one_by_one(tmp_path: Path) -> None:
    def message(role: str, text: str, **fields: Any) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": text}], "ts": 1795886005281, **fields}

    value = {
        "sessionId": "s1__a1",
        "origin": {"parentThreadId": "s1", "subagent": "a1"},
        "messages": [
            message("user", '<user_input mode="act">Fix\n    {\nit</user_input>'),
            message("user", "I chose x.", metadata={"displayRole": "system"}),
            message("assistant", "Fixed."),
        ],
        "system_prompt": "You are",
    }
    path = tmp_path / "a1.messages.json"
    path.write_text(json.dumps(value, indent=2))
    entries = entries_of(str(path))
    assert said_in(entries) == [("user", "Fix\n    {\nit"), ("agent", "Fixed.")]
    assert {(entry.agent_id, entry.session_id) for entry in entries} == {("a1", "s1")}
    assert [entry.at[:19] for entry in entries] == ["2026-11-28T17:13:25"] * 2


def test_droids_own_messages_are_left_out(tmp_path: Path) -> None:
    def message(role: str, text: str, **fields: Any) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return {"type": "message", "id": text, "message": {"role": role, "content": content, **fields}}

    records = (
        {"type": "session_start", "id": "s1", "cwd": "/w", "version": 2},
        message("user", "I chose x.", visibility="llm_only"),
        message("user", "Fix it"),
        message("assistant", "Fixed."),
    )
    entries = entries_of(write(tmp_path / "s1.jsonl", records))
    assert said_in(entries) == [("user", "Fix it"), ("agent", "Fixed.")]
