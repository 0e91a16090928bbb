"""What real hosts sent: each recorded payload is read as the event that it is, and nothing of ours as a prompt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.hooks.payloads import fields_in, formats_of, host_version
from foveal.hooks.hosts.events import (
    Event,
    FileEdited,
    Origin,
    PromptSubmitted,
    SessionCompacted,
    SessionEnding,
    SessionResumed,
    SessionStarted,
    SubagentAnnounced,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
)
from foveal.hooks.hosts.hook_answer import HookAnswer, without_angles
from foveal.hooks.hosts.registry import host_named

SAMPLES = Path(__file__).parents[1] / "hosts"
TRANSCRIPTS = Path(__file__).parents[1] / "host_transcripts"
TASK = "Find out how the gzip middleware decides whether to compress. [[script:cx-subtask]]"

EXPECTED: dict[str, type[Any] | None] = {
    "claude-code/PostToolUse": FileEdited,
    "claude-code/PreToolUse": SubagentAnnounced,
    "claude-code/SessionEnd": SessionEnding,
    "claude-code/SessionStart": SessionStarted,
    "claude-code/SessionStart-fork": SessionResumed,
    "claude-code/Stop": TurnEnded,
    "claude-code/SubagentStart": SubagentStarting,
    "claude-code/SubagentStop": SubagentStopped,
    "claude-code/UserPromptSubmit": PromptSubmitted,
    "claude-code/UserPromptSubmit-task-notification": PromptSubmitted,
    "codex/PostToolUse-Bash-in-subagent": None,
    "codex/PostToolUse-apply_patch-in-subagent": FileEdited,
    "codex/PostToolUse-collaborationspawn_agent": None,
    "codex/PostToolUse-collaborationwait_agent": None,
    "codex/PreToolUse-Bash-in-subagent": None,
    "codex/PreToolUse-apply_patch-in-subagent": None,
    "codex/PreToolUse-collaborationspawn_agent": SubagentAnnounced,
    "codex/PreToolUse-collaborationwait_agent": None,
    "codex/SessionEnd": SessionEnding,
    "codex/Stop": TurnEnded,
    "codex/SubagentStart": SubagentStarting,
    "codex/SubagentStop": SubagentStopped,
    "codex/v1-PreToolUse-spawn_agent": SubagentAnnounced,
    "codex/v1-SessionEnd": SessionEnding,
    "codex/v1-SessionStart": SessionStarted,
    "codex/v1-SubagentStart": SubagentStarting,
    "codex/v1-SubagentStop": SubagentStopped,
    "codex/v1-UserPromptSubmit": PromptSubmitted,
    "codex/v1-UserPromptSubmit-in-subagent": PromptSubmitted,
    "copilot/agentStop": TurnEnded,
    "copilot/agentStop-in-subagent": None,
    "copilot/postToolUse": FileEdited,
    "copilot/postToolUse-in-subagent": FileEdited,
    "copilot/sessionEnd": SessionEnding,
    "copilot/sessionStart": SessionStarted,
    "copilot/subagentStart": SubagentStarting,
    "copilot/subagentStop": SubagentStopped,
    "copilot/userPromptSubmitted": PromptSubmitted,
    "copilot/userPromptSubmitted-in-subagent": PromptSubmitted,
    "gemini/AfterAgent": TurnEnded,
    "gemini/BeforeAgent": PromptSubmitted,
    "gemini/PreCompress": None,
    "gemini/SessionEnd": SessionEnding,
    "gemini/SessionStart": SessionCompacted,
    "opencode/PostToolUse": FileEdited,
    "opencode/SessionEnd": SessionEnding,
    "opencode/SessionEnd-in-subagent": None,
    "opencode/SessionStart": SessionStarted,
    "opencode/Stop": TurnEnded,
    "opencode/SubagentStart-in-subagent": SubagentStarting,
    "opencode/SubagentStop-in-subagent": SubagentStopped,
    "opencode/UserPromptSubmit": PromptSubmitted,
    "opencode/UserPromptSubmit-in-subagent": PromptSubmitted,
}


def sample(name: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text())
    return fields


def event_of(name: str, **changed: Any) -> Event | None:
    """Return the event of a real payload; Copilot's event is in its hook's command, as it is registered."""
    host, _, kind = name.partition("/")
    fields = fields_in(sample(name) | changed)
    event = kind.partition("-")[0] if host == "copilot" else fields.text("hook_event_name")
    return formats_of(host, fields, event, {}).reads.read(fields, event, "/elsewhere")


def origin_of(name: str) -> Origin:
    event = event_of(name)
    assert event is not None
    return event.origin


def test_every_sample_is_expected() -> None:
    assert {f"{path.parent.name}/{path.stem}" for path in SAMPLES.glob("*/*.json")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_real_payload_is_the_event_that_it_is(name: str) -> None:
    event, expected = event_of(name), EXPECTED[name]
    assert event is None if expected is None else isinstance(event, expected)
    if event is not None:
        assert event.origin.cwd == "/home/dev/project"
    if isinstance(event, PromptSubmitted):
        assert not event.prompt.startswith(("<foveal-context>", "<hook_context>"))


def test_codex_announces_a_task_under_both_names_of_its_tool() -> None:
    for name in ("codex/PreToolUse-collaborationspawn_agent", "codex/v1-PreToolUse-spawn_agent"):
        event = event_of(name)
        assert isinstance(event, SubagentAnnounced)
        assert event.task == TASK
    matchers = [hook.matcher for hook in host("codex").events if hook.name == "PreToolUse"]
    assert matchers == ["Agent|spawn_agent|collaborationspawn_agent"]


def host(name: str) -> Any:
    found = host_named(name)
    assert found is not None
    assert found.hooks is not None
    return found.hooks


def test_failed_patch_of_codex_edits_nothing() -> None:
    name = "codex/PostToolUse-apply_patch-in-subagent"
    edited = event_of(name)
    assert isinstance(edited, FileEdited)
    assert edited.paths == ("starlette/middleware/gzip.py",)
    failed = "Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find expected lines in gzip.py\n"
    assert event_of(name, tool_response=failed) is None


def test_report_of_a_background_subagent_is_no_persons_prompt() -> None:
    handed = event_of("claude-code/UserPromptSubmit-task-notification")
    asked = event_of("claude-code/UserPromptSubmit")
    assert isinstance(handed, PromptSubmitted)
    assert isinstance(asked, PromptSubmitted)
    assert (handed.by_person, asked.by_person) == (False, True)


def test_fork_is_registered_and_known() -> None:
    event = event_of("claude-code/SessionStart-fork")
    assert isinstance(event, SessionResumed)
    assert event.is_fork
    [matcher] = [hook.matcher for hook in host("claude-code").events if hook.name == "SessionStart"]
    assert "fork" in matcher.split("|")


def test_resumed_session_of_claude_code_and_codex_has_its_texts() -> None:
    for name in ("claude-code/SessionStart", "codex/v1-SessionStart"):
        assert isinstance(event_of(name, source="resume"), SessionResumed)
    assert isinstance(event_of("copilot/sessionStart", source="resume"), SessionCompacted)


def test_gemini_prompt_is_what_a_person_typed() -> None:
    for opening, closing in (("&lt;", "&gt;"), ("[", "]"), ("<", ">")):
        ours = f"{opening}foveal-context{closing}\n## Session\n{opening}/foveal-context{closing}"
        event = event_of(
            "gemini/BeforeAgent", prompt=f"<hook_context>{ours}</hook_context>\n\nWhere is gzip?"
        )
        assert isinstance(event, PromptSubmitted)
        assert event.prompt == "Where is gzip?"


def test_gemini_compression_counts_only_if_a_person_asked_for_it() -> None:
    assert event_of("gemini/PreCompress") is None
    assert event_of("gemini/PreCompress", trigger="manual") is not None


def test_hosts_that_escape_get_no_angle_brackets() -> None:
    text = "<foveal-context>\ndef f(x) -> List<int>: a => b < c\n</foveal-context>"
    bare = without_angles(text)
    assert "<" not in bare
    assert ">" not in bare
    assert bare.startswith("[foveal-context]\n")
    assert bare.endswith("\n[/foveal-context]")
    assert "def f(x) → List" in bare
    for name, event in (("gemini", "BeforeAgent"), ("qwen-code", "UserPromptSubmit")):
        assert "<" not in host(name).write(event, HookAnswer(text))


def test_copilot_subagent_belongs_to_its_parent() -> None:
    parent = origin_of("copilot/sessionStart").session_id
    for name in ("postToolUse-in-subagent", "userPromptSubmitted-in-subagent", "subagentStart"):
        origin = origin_of(f"copilot/{name}")
        assert origin.session_id == parent
        assert (origin.agent_id, origin.agent_type) == ("87dc8ef8-8188-4d93-911d-f48d8e558f22", "explore")


def test_copilot_start_has_the_first_prompt() -> None:
    event = event_of("copilot/sessionStart")
    assert isinstance(event, SessionStarted)
    assert event.prompt == "Go on: cp-explore [[script:cp-explore]]"


def test_copilot_task_is_in_its_parents_transcript() -> None:
    text = (TRANSCRIPTS / "copilot" / "events-subagent.jsonl").read_text()
    event = event_of("copilot/subagentStart")
    assert isinstance(event, SubagentStarting)
    assert event.transcript_path.endswith("events.jsonl")
    find = host("copilot").task_in
    assert find(text, "general-purpose").startswith("Find out how the gzip middleware decides")
    assert find(text, "explore") == ""
    assert find("no JSON\n", "explore") == ""


def test_opencode_subagent_brings_its_task() -> None:
    event = event_of("opencode/SubagentStart-in-subagent", prompt=TASK)
    assert isinstance(event, SubagentStarting)
    assert event.task == TASK


def test_claude_code_tells_its_version_to_hooks() -> None:
    assert host_version("claude-code", {"AI_AGENT": "claude-code_2-1-197_harness"}) == "2.1.197"
    assert host_version("claude-code", {"AI_AGENT": "claude-code_2-1-330_harness"}) == "2.1.330"
    assert host_version("claude-code", {"AI_AGENT": "another_1_agent"}) == ""
    assert host_version("codex", {"AI_AGENT": "claude-code_2-1-330_harness"}) == ""
