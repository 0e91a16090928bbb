"""Antigravity's steps become entries: what a person asked for, and what the agent said."""

from __future__ import annotations

from pathlib import Path

from tests.transcript_cases import AT, entries_of, said_in, write


def test_words_of_user_and_agent_are_read(tmp_path: Path) -> None:
    def step(kind: str, content: str, source: str = "MODEL") -> dict[str, object]:
        return {"step_index": 1, "source": source, "type": kind, "created_at": AT, "content": content}

    asked = (
        "<USER_REQUEST>\nFix it\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nI chose x.\n</ADDITIONAL_METADATA>"
    )
    steps = (
        step("USER_INPUT", asked, "USER_EXPLICIT"),
        step("CONVERSATION_HISTORY", "I chose y.", "SYSTEM"),
        step("RUN_COMMAND", "ok"),
        step("PLANNER_RESPONSE", "Fixed."),
    )
    entries = entries_of(write(tmp_path / "transcript.jsonl", steps))
    assert said_in(entries) == [("user", "Fix it"), ("agent", "Fixed.")]
    assert {entry.at for entry in entries} == {AT}
