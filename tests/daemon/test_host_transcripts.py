"""Decisions of real hosts come back: events as hosts send them, and the transcripts that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, next_event

SAMPLES = Path(__file__).parents[1] / "host_transcripts"
COUNTER = "I put the counter into its own module instead of into applications.py"
BUFFER = "I decided to keep one buffer per response instead of a shared pool"
LENGTH = "I decided to compare the total body length instead of the first chunk"
GZIP = "starlette/middleware/gzip.py"
CODEX_SUBAGENT = "01a206be-524e-72e2-a806-e9ad54fcbfe4"
COPILOT_SUBAGENT = "0838d498-86a4-4047-835c-40a0ef49544b"
OPENCODE_SUBAGENT = "ses_df5ce342effef1M07TfhlOdsh7"


@pytest.mark.parametrize(
    ("host", "sample", "event", "fields", "expected"),
    [
        (
            "codex",
            "rollout-codemode-edit",
            "SessionEnd",
            {"session_id": "s1", "transcript_path": "{path}", "reason": "other"},
            ("codex", COUNTER, "starlette/_kudu.py"),
        ),
        (
            "codex",
            "rollout-codemode-subagent",
            "SubagentStop",
            {
                "session_id": "s2",
                "transcript_path": "/nowhere.jsonl",
                "agent_transcript_path": "{path}",
                "agent_id": CODEX_SUBAGENT,
                "agent_type": "default",
            },
            ("default", LENGTH, GZIP),
        ),
        (
            "copilot",
            "events-subagent",
            "subagentStop",
            {
                "sessionId": "s3",
                "transcriptPath": "{path}",
                "agentId": COPILOT_SUBAGENT,
                "agentName": "explore",
                "response": "Done.",
            },
            ("explore", BUFFER, GZIP),
        ),
        (
            "gemini",
            "chat-session",
            "SessionEnd",
            {"session_id": "s4", "transcript_path": "{path}", "timestamp": "x", "reason": "exit"},
            ("gemini", COUNTER, "starlette/_impala.py"),
        ),
        (
            "opencode",
            "subagent",
            "SubagentStop",
            {
                "session_id": OPENCODE_SUBAGENT,
                "parent_session_id": "s5",
                "agent_transcript_path": "{path}",
            },
            ("subagent", BUFFER, "pkg/gzip.py"),
        ),
    ],
)
def test_decisions_of_a_real_transcript_are_grafted(
    shared_daemon: DaemonProcess,
    shop: Path,
    host: str,
    sample: str,
    event: str,
    fields: dict[str, str],
    expected: tuple[str, str, str],
) -> None:
    path = shop.parent / "transcript.jsonl"
    path.write_text((SAMPLES / host / f"{sample}.jsonl").read_text().replace("/home/dev/project", str(shop)))
    send(shared_daemon, shop, host, event, {key: value.format(path=path) for key, value in fields.items()})
    agent, decision, file = expected
    [found] = shared_daemon.call("ListExperiences", cwd=str(shop))["experiences"]
    assert (found["agent_id"], found["decision"], found["files_touched"]) == (agent, decision, [file])


def test_copilots_session_end_grafts_the_transcript_of_its_last_turn(
    shared_daemon: DaemonProcess, shop: Path
) -> None:
    path = shop.parent / "events.jsonl"
    sample = (SAMPLES / "copilot" / "events-edit.jsonl").read_text()
    path.write_text(sample.replace("/home/dev/project", str(shop)))
    turn = {"sessionId": "s6", "cwd": str(shop), "transcriptPath": str(path), "stopReason": "end_turn"}
    within = {**turn, "sessionId": "other", "agentId": "other", "parentAgentId": "s6"}
    for payload in (within, turn):
        shared_daemon.call("HookEvent", host="copilot", event="agentStop", payload=payload)
    send(shared_daemon, shop, "copilot", "sessionEnd", {"sessionId": "s6", "reason": "complete"})
    [found] = shared_daemon.call("ListExperiences", cwd=str(shop))["experiences"]
    assert (found["agent_id"], found["session_id"]) == ("copilot", "s6")
    assert (found["decision"], found["files_touched"]) == (COUNTER, ["starlette/_gnu.py"])


def send(daemon: DaemonProcess, root: Path, host: str, event: str, fields: dict[str, Any]) -> None:
    """Send an event as its hook does, and wait for what is grafted."""
    payload = {"hook_event_name": event, "cwd": str(root), **fields}
    with daemon.subscribed("experience.grafted") as events:
        assert daemon.call("HookEvent", host=host, event=event, payload=payload)["output"] == ""
        next_event(events, "experience.grafted", project=str(root))
