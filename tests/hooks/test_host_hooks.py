"""Each host's payloads become the daemon's events, and answers come in the form that this host accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest, TooLarge
from foveal.daemon.hooks.answer import wrapped
from foveal.daemon.hooks.payloads import fields_in, formats_of
from foveal.hooks.hosts.codex import patched_paths
from foveal.hooks.hosts.events import (
    Event,
    FileEdited,
    PromptSubmitted,
    RepositoryMoved,
    SessionCompacted,
    SessionEnding,
    SessionResumed,
    SessionStarted,
    SubagentAnnounced,
    SubagentStarting,
    SubagentStopped,
    TurnEnded,
    WindowCompacting,
)
from foveal.hooks.hosts.fields import TEXT_MAX, Fields
from foveal.hooks.hosts.hook_answer import HookAnswer, OutputLimit, without_angles
from foveal.hooks.hosts.host import Hooks
from foveal.hooks.hosts.registry import HOSTS as ALL_HOSTS
from foveal.hooks.hosts.registry import host_named
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hook_cases import (
    CONTEXT_EVENTS,
    HOSTS,
    PAYLOADS,
    RECORDED_ROOT,
    check_wrapped,
    context_of,
    event_name,
    payload,
    recorded,
)
from tests.properties import examples

QUESTION = "How does a session of the shop end?"
TASK = "Find out where sessions expire and why."
EDITED = f"{RECORDED_ROOT}/src/shop/auth.py"

EXPECTED: dict[str, type | None] = {
    "claude-code/SessionStart": SessionStarted,
    "claude-code/SessionStart_resume": SessionResumed,
    "claude-code/SessionStart_compact": SessionCompacted,
    "claude-code/UserPromptSubmit": PromptSubmitted,
    "claude-code/UserPromptSubmit_wakeup": PromptSubmitted,
    "claude-code/PreToolUse": SubagentAnnounced,
    "claude-code/PreToolUse_handback": None,
    "claude-code/PostToolUse": FileEdited,
    "claude-code/SubagentStart": SubagentStarting,
    "claude-code/SubagentStop": SubagentStopped,
    "claude-code/SubagentStop_internal": None,
    "claude-code/PreCompact": WindowCompacting,
    "claude-code/Stop": TurnEnded,
    "claude-code/SessionEnd": SessionEnding,
    "claude-code/InstructionsLoaded": None,
    "codex/SessionStart": SessionStarted,
    "codex/SessionStart_resume": SessionResumed,
    "codex/SessionStart_compact": SessionCompacted,
    "codex/UserPromptSubmit": PromptSubmitted,
    "codex/PreToolUse": SubagentAnnounced,
    "codex/PostToolUse": FileEdited,
    "codex/SubagentStart": SubagentStarting,
    "codex/SubagentStop": SubagentStopped,
    "codex/PreCompact": WindowCompacting,
    "codex/PostCompact": None,
    "codex/Stop": TurnEnded,
    "codex/SessionEnd": SessionEnding,
    "cursor/sessionStart": SessionStarted,
    "cursor/beforeSubmitPrompt": PromptSubmitted,
    "cursor/preToolUse": SubagentAnnounced,
    "cursor/postToolUse": FileEdited,
    "cursor/subagentStart": SubagentStarting,
    "cursor/subagentStop": SubagentStopped,
    "cursor/afterFileEdit": FileEdited,
    "cursor/preCompact": WindowCompacting,
    "cursor/stop": TurnEnded,
    "cursor/sessionEnd": SessionEnding,
    "gemini/SessionStart": SessionStarted,
    "gemini/SessionStart_resume": SessionCompacted,
    "gemini/BeforeAgent": PromptSubmitted,
    "gemini/AfterTool": FileEdited,
    "gemini/AfterAgent": TurnEnded,
    "gemini/PreCompress": None,
    "gemini/SessionEnd": SessionEnding,
    "copilot/sessionStart": SessionStarted,
    "copilot/sessionStart_resume": SessionCompacted,
    "copilot/userPromptSubmitted": PromptSubmitted,
    "copilot/postToolUse": FileEdited,
    "copilot/postToolUse_text": FileEdited,
    "copilot/subagentStart": SubagentStarting,
    "copilot/subagentStop": SubagentStopped,
    "copilot/agentStop": TurnEnded,
    "copilot/preCompact": WindowCompacting,
    "copilot/sessionEnd": SessionEnding,
    "copilot/vscode_SessionStart": SessionStarted,
    "copilot/vscode_UserPromptSubmit": PromptSubmitted,
    "copilot/vscode_PostToolUse": FileEdited,
    "opencode/SessionStart": SessionStarted,
    "opencode/UserPromptSubmit": PromptSubmitted,
    "opencode/SubagentStart": SubagentStarting,
    "opencode/SubagentStop": SubagentStopped,
    "opencode/PostToolUse": FileEdited,
    "opencode/PreCompact": WindowCompacting,
    "opencode/Stop": TurnEnded,
    "opencode/SessionEnd": SessionEnding,
    "qwen-code/SessionStart": SessionStarted,
    "qwen-code/SessionStart_resume": SessionResumed,
    "qwen-code/UserPromptSubmit": PromptSubmitted,
    "qwen-code/UserPromptSubmit_continued": PromptSubmitted,
    "qwen-code/PostToolUse": FileEdited,
    "qwen-code/SubagentStart": SubagentStarting,
    "qwen-code/SubagentStop": SubagentStopped,
    "qwen-code/PreCompact": WindowCompacting,
    "qwen-code/Notification": TurnEnded,
    "qwen-code/Stop": TurnEnded,
    "qwen-code/SessionEnd": SessionEnding,
}


def hooks_of(name: str) -> Hooks:
    host = host_named(name)
    assert host
    assert host.hooks
    return host.hooks


def read(host: str, name: str, **changed: Any) -> Event | None:
    """Read a recorded payload as the daemon does: Copilot's own don't say their name."""
    fields = fields_in(payload(host, name, **changed))
    told = fields.text("hook_event_name")
    return formats_of(host, fields, told, {}).reads.read(fields, told, "/elsewhere")


def test_every_host_has_recorded_payloads() -> None:
    assert set(EXPECTED) == {f"{host}/{name}" for host, name in recorded()}
    assert (
        {host for host, _ in recorded()}
        == set(HOSTS)
        == {host.name for host in ALL_HOSTS if host.hooks} - {"git"}
    )


@pytest.mark.parametrize("case", EXPECTED)
def test_payload_becomes_its_event(case: str) -> None:
    host, _, name = case.partition("/")
    event = read(host, name)
    wanted = EXPECTED[case]
    assert (event is None) if wanted is None else (type(event) is wanted)
    if event is None:
        return
    assert event.origin.host == host
    assert event.origin.cwd == RECORDED_ROOT
    assert event.origin.moment
    if case != "opencode/PostToolUse":
        assert event.origin.session_id
    if isinstance(event, PromptSubmitted) and not name.endswith(("_wakeup", "_continued")):
        assert (event.prompt, event.by_person) == (QUESTION, True)
    if isinstance(event, SubagentAnnounced):
        assert event.task == TASK
        assert event.agent_type in {"explorer", "explore"}
    if isinstance(event, SubagentStarting | SubagentStopped):
        assert event.origin.agent_type
    if isinstance(event, SubagentStopped) and host != "opencode":
        assert event.transcript_path or event.report


def test_payload_details() -> None:
    wakeup = read("claude-code", "UserPromptSubmit_wakeup")
    assert isinstance(wakeup, PromptSubmitted)
    assert not wakeup.by_person
    stopped = read("claude-code", "SubagentStop")
    assert isinstance(stopped, SubagentStopped)
    assert stopped.transcript_path.endswith("agent-ab12.jsonl"), "its own, not the parent's"
    report = read("qwen-code", "SubagentStop")
    assert isinstance(report, SubagentStopped)
    assert (report.transcript_path, report.report) == ("", "Sessions expire in auth.py."), "not the parent's"
    started = read("cursor", "subagentStart")
    assert isinstance(started, SubagentStarting)
    assert (started.task, started.origin.agent_id) == (TASK, "sub-1")
    child = read("opencode", "SubagentStart")
    assert isinstance(child, SubagentStarting)
    assert (child.origin.session_id, child.origin.agent_id) == ("ses_1a2b3c", "ses_child")
    for host, name, paths in (
        ("claude-code", "PostToolUse", (EDITED,)),
        ("codex", "PostToolUse", ("src/shop/auth.py", "src/shop/tokens.py")),
        ("cursor", "afterFileEdit", (EDITED,)),
        ("cursor", "postToolUse", ()),
        ("gemini", "AfterTool", (EDITED,)),
        ("qwen-code", "PostToolUse", (EDITED,)),
        ("copilot", "postToolUse", (EDITED,)),
        ("copilot", "postToolUse_text", ("src/shop/tokens.py",)),
        ("copilot", "vscode_PostToolUse", (EDITED,)),
    ):
        event = read(host, name)
        assert isinstance(event, FileEdited)
        assert event.paths == paths


def test_tools_that_read_tell_their_file() -> None:
    call = {"path": f"{RECORDED_ROOT}/src/shop/auth.py"}
    for tool, files in (("view", (call["path"],)), ("bash", ())):
        event = read("copilot", "postToolUse", toolName=tool, toolArgs=call)
        assert isinstance(event, FileEdited)
        assert (event.paths, event.read) == ((), files)
    event = read("cursor", "postToolUse")
    assert isinstance(event, FileEdited)
    assert (event.paths, event.read) == ((), (f"{RECORDED_ROOT}/README.md",))
    searched = read("cursor", "postToolUse", tool_name="Grep")
    assert isinstance(searched, FileEdited)
    assert searched.read == ()


def test_transcript_paths_of_payloads() -> None:
    for host, name, ending in (
        ("claude-code", "Stop", "6f1e.jsonl"),
        ("claude-code", "SessionEnd", "6f1e.jsonl"),
        ("copilot", "agentStop", "9a9a.jsonl"),
    ):
        event = read(host, name)
        assert isinstance(event, TurnEnded | SessionEnding)
        assert event.transcript_path.endswith(ending)
    for host, name in (
        ("gemini", "AfterAgent"),
        ("gemini", "SessionEnd"),
        ("qwen-code", "Stop"),
        ("codex", "Stop"),
        ("codex", "SessionEnd"),
    ):
        event = read(host, name, transcript_path="/t.jsonl")
        assert isinstance(event, TurnEnded | SessionEnding)
        assert event.transcript_path == "/t.jsonl"
    for name in ("stop", "sessionEnd"):
        event = read("cursor", name, transcript_path=None)
        assert isinstance(event, TurnEnded | SessionEnding)
        assert event.transcript_path == ""


def test_opencode_subagent_end_is_ignored() -> None:
    for name in ("Stop", "SessionEnd"):
        assert read("opencode", name, parent_session_id="ses_parent") is None


@pytest.mark.parametrize(
    ("prompt", "meant"),
    [
        ('"yes, continue"', "yes, continue"),
        ("“yes, continue”", "yes, continue"),
        ("«yes, continue»\n", "yes, continue"),
        ("'yes, continue'", "yes, continue"),
        (r'"why does \"expire\" end it?"', 'why does "expire" end it?'),
        ('"a b" or "c d"', '"a b" or "c d"'),
        ("'tis what it's", "'tis what it's"),
        ('"', '"'),
        (r'"ends with a backslash \"', r'"ends with a backslash \"'),
        ("expire()", "expire()"),
        ('""', ""),
    ],
)
def test_opencode_prompts_lose_the_quotes_that_the_host_adds(prompt: str, meant: str) -> None:
    event = hooks_of("opencode").read(
        Fields(payload("opencode", "UserPromptSubmit", prompt=prompt)), "UserPromptSubmit", "/p"
    )
    assert isinstance(event, PromptSubmitted)
    assert event.prompt == meant


def test_only_subagents_have_an_agent_id() -> None:
    started = read("copilot", "subagentStart")
    assert started is not None
    assert (started.origin.agent_id, started.origin.policy_name) == ("explorer", "explorer")
    main = read("claude-code", "SessionStart", agent_type="reviewer")
    assert main is not None
    assert main.origin.policy_name == "claude-code", "`claude --agent reviewer` is no subagent"


def test_formats_of_hosts_that_run_each_others_hooks() -> None:
    def check(reads: str, writes: str, fields: dict[str, Any], **variables: str) -> None:
        found = formats_of("claude", Fields(fields), str(fields.get("hook_event_name", "")), variables)
        assert (found.host, found.reads, found.writes) == (reads, hooks_of(reads), hooks_of(writes))

    check("claude-code", "claude-code", payload("claude-code", "SessionStart"))
    check("cursor", "cursor", payload("cursor", "sessionStart"))
    check("cursor", "claude-code", payload("cursor", "sessionStart", hook_event_name="SessionStart"))
    check("cursor", "claude-code", payload("claude-code", "SessionStart"), CURSOR_VERSION="2.9.0")
    check("copilot", "claude-code", payload("copilot", "vscode_SessionStart"))
    with pytest.raises(InvalidRequest, match="no host 'vim'"):
        formats_of("vim", Fields({}), "", {})


@pytest.mark.parametrize("host", HOSTS)
def test_answers_have_the_hosts_form(host: str) -> None:
    hooks = hooks_of(host)
    assert hooks.limits.keys() >= CONTEXT_EVENTS[host]
    for name in sorted({event_name(name) for found, name in recorded() if found == host}):
        limit = hooks.limit(name)
        text = wrapped('## Rules\n\nUse "quotes", ümläuts and \u2028 lines.\n', limit)
        assert bool(text) is (name in CONTEXT_EVENTS[host]), name
        output = hooks.write(name, HookAnswer(text))
        expected = without_angles(text) if host in {"gemini", "qwen-code"} else text
        assert context_of(host, name, output) == expected
        assert hooks.write(name, HookAnswer()) == ""


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "qwen-code"])
def test_user_message_is_system_message(host: str) -> None:
    output = hooks_of(host).write("SessionStart", HookAnswer(message="foveal: context restored"))
    assert json.loads(output) == {"systemMessage": "foveal: context restored"}


def test_hosts_without_user_messages_get_none() -> None:
    for host in ("cursor", "copilot", "opencode"):
        assert hooks_of(host).write("sessionStart", HookAnswer(message="line")) == ""


def test_invalid_payloads_are_refused() -> None:
    for wrong in ("[1]", "{", "7", '"x"', "[" * 100_000, 7, None, ["x"]):
        with pytest.raises(InvalidRequest, match="payload must be a map"):
            fields_in(wrong)
    with pytest.raises(TooLarge):
        fields_in(" " * (8 * 1024 * 1024 + 1))
    assert not fields_in(" \n").has("x")


def test_fields_of_wrong_type_are_empty() -> None:
    fields = fields_in('{"a": null, "b": 7, "c": [1, "x", null], "d": {}, "e": "\\ud800", "f": "[]"}')
    assert [fields.text(name) for name in "abcdx"] == ["", "", "", "", ""]
    assert fields.text("a", "b", "e") == "?"
    assert fields.texts("a", "c") == ("x",)
    assert not fields.part("f", "d").has("x")
    assert Fields({"p": "x" * (TEXT_MAX + 1)}).text("p") == "x" * TEXT_MAX


def test_codex_patch_names_its_files() -> None:
    text = (
        "*** Begin Patch\n*** Update File: a b.py\n*** Move to: c.py \n*** Delete File: d.py\n"
        "+*** Add File: no.py\n"
    )
    assert patched_paths(Fields({"input": ["apply_patch", text]})) == ("a b.py", "c.py", "d.py")


def test_a_refused_codex_patch_is_no_edit() -> None:
    def edits(response: object) -> bool:
        given = {"command": "*** Begin Patch\n*** Update File: a.py\n*** End Patch\n"}
        fields = Fields({"tool_name": "apply_patch", "tool_input": given, "tool_response": response})
        return isinstance(
            formats_of("codex", fields, "PostToolUse", {}).reads.read(fields, "PostToolUse", "/w"), FileEdited
        )

    applied = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py\n"
    assert edits(applied)
    assert edits(json.dumps({"output": "Success."}))
    assert edits(None)
    assert not edits("Exit code: 1\nOutput:\napply_patch verification failed: no such lines in a.py")
    assert not edits("unsupported custom tool call: apply_patch")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({key for path in PAYLOADS.glob("*/*.json") for key in json.loads(path.read_text())})
NAMES = sorted({event_name(name) for _, name in recorded()})


@settings(max_examples=examples(300))
@given(st.sampled_from(HOSTS), st.sampled_from(NAMES), st.dictionaries(st.sampled_from(KEYS), values))
def test_no_payload_breaks_a_host(host: str, name: str, fields: dict[str, Any]) -> None:
    told = Fields(fields)
    event = formats_of(host, told, name, {}).reads.read(told, name, "/w")
    assert event is None or isinstance(event.origin.session_id, str)


@given(st.text(), st.integers(0, 400))
def test_wrapped_text_is_one_element_within_its_limit(text: str, characters: int) -> None:
    hostile = f"{text}</foveal-context>< /FOVEAL-CONTEXT >{text}<foveal-context>{text}"
    found = wrapped(hostile, OutputLimit(characters))
    assert len(found) <= characters
    if found:
        check_wrapped(found)


def test_wrapped_text_is_cut_at_a_line() -> None:
    found = wrapped("\n".join(["line"] * 100), OutputLimit(200))
    assert len(found) <= 200
    assert "\nline\n(The rest was left out for its length.)\n" in found


def test_git_event_comes_from_the_hook_name() -> None:
    git = hooks_of("git")
    first, second = (git.read(Fields({}), "post-commit", "/w") for _ in range(2))
    assert type(first) is RepositoryMoved
    assert first != second
    assert git.read(Fields({}), "pre-push", "/w") is None
    assert git.write("post-commit", HookAnswer("x", "y")) == ""


def test_payload_fixtures_hold_no_real_paths() -> None:
    payloads = list(Path(PAYLOADS).glob("*/*.json"))
    assert len(payloads) > 70
    for path in payloads:
        assert "/home/ada/" in path.read_text()
