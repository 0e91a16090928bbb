"""Each host's payloads become the daemon's events, and answers come in the form that this host accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest, TooLarge
from foveal.daemon.hooks.answer import wrapped
from foveal.daemon.hooks.payloads import fields_in, formats_of, host_version
from foveal.hooks.hosts.events import Event
from foveal.hooks.hosts.fields import TEXT_MAX, Fields
from foveal.hooks.hosts.hook_answer import HookAnswer, OutputLimit, without_angles
from foveal.hooks.hosts.hook_format import parts_of, patched_paths
from foveal.hooks.hosts.host import Hooks
from foveal.hooks.hosts.registry import HOSTS as ALL_HOSTS
from foveal.hooks.hosts.registry import host_named
from foveal.hooks.hosts.tool_uses import ToolUse
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
    words,
)
from tests.properties import examples

REAL = Path(__file__).parents[1] / "hosts"
"""What real hosts sent; the other payloads are in the recorded shapes."""
TRANSCRIPTS = Path(__file__).parents[1] / "host_transcripts"
QUESTION = "How does a session of the shop end?"
TASK = "Find out where sessions expire and why."
REAL_TASK = "Find out how the gzip middleware decides whether to compress. [[script:cx-subtask]]"
EDITED = f"{RECORDED_ROOT}/src/shop/auth.py"

KINDS: dict[str, str] = {
    **dict.fromkeys(("sessionstart", "agentspawn"), "start"),
    **dict.fromkeys(("taskstart", "taskresume"), "resume"),
    **dict.fromkeys(
        ("userpromptsubmit", "userpromptsubmitted", "beforesubmitprompt", "beforeagent"), "prompt"
    ),
    "pretooluse": "announce",
    **dict.fromkeys(("posttooluse", "afterfileedit", "aftertool", "preinvocation"), "edit"),
    "subagentstart": "subagent",
    "subagentstop": "subagent_end",
    "precompact": "compacting",
    **dict.fromkeys(("stop", "agentstop", "afteragent", "notification", "taskcomplete"), "turn_end"),
    **dict.fromkeys(("sessionend", "sessionshutdown"), "end"),
}
"""The kind of each event, whatever the case of its name."""

OTHER_KINDS: dict[str, str] = {
    **{f"{host}/SessionStart_resume": "resume" for host in ("claude-code", "codex", "qwen-code", "droid")},
    **{f"{host}/SessionStart_compact": "restart" for host in ("claude-code", "codex")},
    "real claude-code/SessionStart-fork": "resume",
    "real qwen-code/SessionStart-resume": "resume",
    "gemini/SessionStart_resume": "restart",
    "real gemini/SessionStart": "restart",
    "copilot/sessionStart_resume": "restart",
    "real cline/TaskStart-in-subagent": "subagent",
    "real cline/TaskComplete-in-subagent": "subagent_end",
}
UNUSED = {
    "claude-code/PreToolUse_handback",
    "claude-code/SubagentStop_internal",
    "claude-code/InstructionsLoaded",
    "codex/PostCompact",
    "real codex/PreToolUse-Bash-in-subagent",
    "real codex/PreToolUse-apply_patch-in-subagent",
    "real codex/PreToolUse-collaborationwait_agent",
    "real copilot/agentStop-in-subagent",
    "gemini/PreCompress",
    "real gemini/PreCompress",
    "real opencode/SessionEnd-in-subagent",
    "qwen-code/UserPromptSubmit_continued",
    "real qwen-code/UserPromptSubmit-empty-prompt",
}
RECORDED = [f"{host}/{name}" for host, name in recorded()]
SENT = [f"real {path.parent.name}/{path.stem}" for path in sorted(REAL.glob("*/*.json"))]


def hooks_of(name: str) -> Hooks:
    host = host_named(name)
    assert host
    assert host.hooks
    return host.hooks


def read(host: str, name: str, **changed: Any) -> Event | None:
    """Read a payload as the daemon does; `real codex` is what Codex sent."""
    if host.startswith("real "):
        host = host.removeprefix("real ")
        fields = fields_in(json.loads((REAL / host / f"{name}.json").read_text()) | changed)
        told = own_name(name)
    else:
        fields = fields_in(payload(host, name, **changed))
        told = fields.text("hook_event_name") or "".join(words(host, name))
    return formats_of(host, fields, told, {}).reads.read(fields, told, "/elsewhere")


def own_name(name: str) -> str:
    return event_name(name).removeprefix("v1-").partition("-")[0]


def event_of(host: str, name: str, **changed: Any) -> Event:
    event = read(host, name, **changed)
    assert event is not None
    return event


def test_every_host_has_payloads() -> None:
    with_hooks = {host.name for host in ALL_HOSTS if host.hooks}
    assert {host for host, _ in recorded()} == set(HOSTS) == with_hooks - {"git"}
    assert len(RECORDED) > 70
    assert len(SENT) > 50
    assert all("/home/ada/" in path.read_text() for path in PAYLOADS.glob("*/*.json")), "no real paths"


@pytest.mark.parametrize("case", RECORDED + SENT)
def test_payload_becomes_its_event(case: str) -> None:
    host, _, name = case.partition("/")
    event = read(host, name)
    if event is None:
        assert case in UNUSED
        return
    assert event.kind == OTHER_KINDS.get(case, KINDS.get(own_name(name).lower()))
    assert event.origin.host == host.removeprefix("real ")
    assert event.origin.cwd == ("/home/dev/project" if case in SENT else RECORDED_ROOT)
    assert event.origin.moment
    assert event.origin.session_id or case.endswith("opencode/PostToolUse")
    assert event.origin.agent_type or event.kind not in {"subagent", "subagent_end"}
    if event.kind == "prompt":
        assert not event.prompt.startswith(("<foveal-context>", "<hook_context>"))
        told = case in RECORDED and not case.endswith(("_wakeup", "_continued"))
        assert (event.prompt, event.by_person) == (QUESTION, True) or not told
    if event.kind == "announce":
        assert event.prompt in {TASK, REAL_TASK} or host in {"real claude-code", "real droid"}
    if event.kind == "subagent_end" and not host.endswith("opencode"):
        assert event.transcript_path or event.report


def test_prompts_that_no_person_wrote() -> None:
    assert not event_of("claude-code", "UserPromptSubmit_wakeup").by_person
    assert not event_of("real claude-code", "UserPromptSubmit-task-notification").by_person
    assert event_of("claude-code", "UserPromptSubmit").by_person
    assert read("real qwen-code", "UserPromptSubmit-empty-prompt") is None


def test_subagents_and_their_parents() -> None:
    assert event_of("claude-code", "SubagentStop").transcript_path != ""
    report = event_of("qwen-code", "SubagentStop")
    assert (report.transcript_path, report.report) == ("", "Sessions expire in auth.py."), "not the parent's"
    own = event_of("real qwen-code", "SubagentStop")
    assert own.transcript_path.endswith(f"/agent-{own.origin.agent_id}.jsonl")
    started = event_of("cursor", "subagentStart")
    assert (started.prompt, started.origin.agent_id) == (TASK, "sub-1")
    child = event_of("opencode", "SubagentStart").origin
    assert (child.session_id, child.agent_id) == ("ses_1a2b3c", "ses_child")
    assert event_of("real opencode", "SubagentStart-in-subagent", prompt=TASK).prompt == TASK
    for name in ("Stop", "SessionEnd"):
        assert read("opencode", name, parent_session_id="ses_parent") is None, "its parent continues"
    named = event_of("copilot", "subagentStart", agentId="").origin
    assert (named.agent_id, named.policy_name) == (named.agent_type, named.agent_type)
    main = event_of("claude-code", "SessionStart", agent_type="reviewer").origin
    assert main.policy_name == "claude-code", "`claude --agent reviewer` is no subagent"
    parent = event_of("real copilot", "sessionStart").origin.session_id
    for name in ("postToolUse-in-subagent", "userPromptSubmitted-in-subagent"):
        origin = event_of("real copilot", name).origin
        assert (origin.session_id, origin.agent_id) == (parent, "87dc8ef8-8188-4d93-911d-f48d8e558f22")


@pytest.mark.parametrize(
    ("host", "name", "paths"),
    [
        ("claude-code", "PostToolUse", None),
        ("codex", "PostToolUse", ("src/shop/auth.py", "src/shop/tokens.py")),
        ("cursor", "afterFileEdit", (EDITED,)),
        ("cursor", "postToolUse", ()),
        ("gemini", "AfterTool", (EDITED,)),
        ("qwen-code", "PostToolUse", (EDITED,)),
        ("cline", "PostToolUse", (EDITED,)),
        ("droid", "PostToolUse", (EDITED,)),
        ("antigravity", "PostToolUse", (EDITED,)),
        ("kiro", "PostToolUse", (EDITED,)),
        ("cline", "PostToolUse_vscode", (EDITED,)),
        ("copilot", "postToolUse_text", ("src/shop/tokens.py",)),
        ("copilot", "vscode_PostToolUse", (EDITED,)),
    ],
)
def test_edits_name_their_files(host: str, name: str, paths: tuple[str, ...] | None) -> None:
    event = event_of(host, name)
    assert event.paths == paths or (paths is None and len(event.paths) == 1)


def test_tools_that_read_tell_their_file() -> None:
    call = {"path": f"{RECORDED_ROOT}/src/shop/auth.py"}
    for tool, files in (("view", (call["path"],)), ("bash", ())):
        event = event_of("copilot", "postToolUse_text", toolName=tool, toolArgs=call)
        assert (event.paths, event.read) == ((), files)
    assert event_of("real cline", "PostToolUse-read_files").read == ("/home/dev/project/httpx/_client.py",)
    assert event_of("cursor", "postToolUse").read == (f"{RECORDED_ROOT}/README.md",)
    assert event_of("cursor", "postToolUse", tool_name="Grep").read == ()


def test_failed_edits_are_none() -> None:
    name = "PostToolUse-apply_patch-in-subagent"
    assert event_of("real codex", name).paths == ("starlette/middleware/gzip.py",)
    for failed in ("Exit code: 1\nOutput:\nFailed to find expected lines", "unsupported custom tool call: x"):
        assert not event_of("real codex", name, tool_response=failed).paths
    assert read("real codex", name, tool_response=json.dumps({"output": "Success."})) is not None
    assert not event_of("gemini", "AfterTool", tool_response={"error": "no such text"}).paths
    text = "*** Update File: a b.py\n*** Move to: c.py \n*** Delete File: d.py\n+*** Add File: no.py\n"
    assert patched_paths(Fields({"input": ["apply_patch", text]})) == ("a b.py", "c.py", "d.py")


def test_starts_and_compressions() -> None:
    fork = event_of("real claude-code", "SessionStart-fork")
    assert fork.is_fork
    matchers = {hook.name: hook.matcher for hook in hooks_of("claude-code").events}
    assert "fork" in matchers["SessionStart"].split("|")
    assert event_of("real codex", "v1-SessionStart", source="resume").kind == "resume"
    assert event_of("real copilot", "sessionStart", source="resume").kind == "restart"
    assert read("gemini", "PreCompress") is None
    assert event_of("gemini", "PreCompress", trigger="manual").kind == "compacting"


def test_cline_tells_prompt_and_task_by_its_files() -> None:
    session, agent = "1795886023480_siylj", "agent_1795886025651_pktmqc"
    edit = event_of("real cline", "PostToolUse-read_files")
    assert edit.transcript_path.endswith(
        "/.cline/data/sessions/1795886003997_rtewj/1795886003997_rtewj.messages.json"
    )
    assert event_of("real cline", "PostToolUse-editor").transcript_path == "", "its second round"
    assert (
        event_of(
            "real cline", "PostToolUse-read_files", sessionContext={"rootSessionId": "../x"}
        ).transcript_path
        == ""
    )
    started, ended = (event_of("real cline", f"{name}-in-subagent") for name in ("TaskStart", "TaskComplete"))
    assert started.transcript_path.endswith(f"/{session}/{session}.messages.json")
    assert ended.transcript_path.endswith(f"/{session}/{agent}.messages.json")
    assert {(one.origin.session_id, one.origin.agent_id) for one in (started, ended)} == {(session, agent)}
    assert event_of("real cline", "TaskComplete").origin.agent_id == "", "the main agent has an id too"
    find = hooks_of("cline").task_in
    assert find is not None

    texts = {path.name: path.read_text() for path in (TRANSCRIPTS / "cline").iterdir()}
    prompt = "Why does a redirect strip headers in _redirect_headers?"
    assert find(texts["main-edit.messages.json"], "") == prompt
    text = texts["main-delegates.messages.json"].partition('"tool_result"')[0]
    assert find(text, "subagent").startswith("Find out how DigestAuth counts")
    call = text[text.index('"name": "spawn_agent"') :]
    assert find(f"{text}{call}", "subagent") == "", "of two nobody knows which"
    assert (find("", ""), find("no JSON", "subagent")) == ("", "")
    assert find('"text": "<user_input>a\\q</user_input>"', "") == "", "no JSON, so no failure either"
    assert find('"name": "spawn_agent", "input": {"task": "a\\u12', "subagent") == ""


def test_droid_tells_its_prompt_by_the_transcript() -> None:
    assert event_of("real droid", "PostToolUse-Edit").transcript_path.endswith(".jsonl")
    find, text = hooks_of("droid").task_in, (TRANSCRIPTS / "droid" / "session.jsonl").read_text()
    assert find is not None
    assert find(text, "") == "Read docstrings of schemas less often.", "neither a reminder nor a result"
    assert (find("", ""), find('["user"]\n{"message": "user"}\n', "")) == ("", "")


def test_antigravity_tells_its_prompt_by_the_transcript() -> None:
    assert event_of("antigravity", "PreInvocation").transcript_path.endswith("/transcript.jsonl")
    assert event_of("antigravity", "PostToolUse").transcript_path == ""
    assert read("antigravity", "PostToolUse", error="no such text") is None
    find = hooks_of("antigravity").task_in
    assert find is not None
    asked = {"type": "USER_INPUT", "content": "<USER_REQUEST>\nWhy?\n</USER_REQUEST>\n<ADDITIONAL_METADATA>x"}
    answered = {"type": "PLANNER_RESPONSE", "content": "Because of USER_INPUT."}
    assert find(f"{json.dumps(asked)}\n{json.dumps(answered)}\n", "") == "Why?"
    assert find('cut off "USER_INPUT"}\n', "") == ""
    blank = f"<USER_REQUEST>{' ' * 50_000}"
    assert find(json.dumps({"type": "USER_INPUT", "content": blank}), "") == blank, "read in one pass"


def test_versions_are_read_from_any_text() -> None:
    texts = ("3.20.17", "2.1.118 (Claude Code)", "3.\N{SUPERSCRIPT TWO}", f"3.{'9' * 5_000}", "v1", "")
    assert [parts_of(text) for text in texts] == [(3, 20, 17), (2, 1, 118), (3,), (3,), (), ()]


def test_cline_says_what_a_search_found() -> None:
    def use(name: str, given: dict[str, Any], output: object) -> ToolUse | None:
        told = {"name": name, "input": given, "output": output}
        return event_of("real cline", "PostToolUse-read_files", tool_result=told).use

    result = [{"query": "ls", "result": "src/shop/auth.py:3:def expire():", "success": True}]
    hits = ToolUse("def expire", places=(("src/shop/auth.py", 3),))
    assert use("run_commands", {"commands": ["rg -n 'def expire'"]}, result) == hits
    assert use("search_codebase", {"queries": ["def expire"]}, result) == hits
    assert use("run_commands", {"commands": ["rg a", "rg b"]}, result * 2) is None
    assert use("search_codebase", {"queries": ["def expire"]}, [{**result[0], "success": False}]) is None


def test_copilot_brings_first_prompt_and_task() -> None:
    assert event_of("real copilot", "sessionStart").prompt == "Go on: cp-explore [[script:cp-explore]]"
    assert event_of("real copilot", "subagentStart").transcript_path.endswith("events.jsonl")
    text = (TRANSCRIPTS / "copilot" / "events-subagent.jsonl").read_text()
    find = hooks_of("copilot").task_in
    assert find is not None
    assert find(text, "general-purpose").startswith("Find out how the gzip middleware decides")
    assert (find(text, "explore"), find("no JSON\n", "explore")) == ("", "")


@pytest.mark.parametrize(
    ("host", "name", "prompt", "meant"),
    [
        ("opencode", "UserPromptSubmit", '"yes, continue"', "yes, continue"),
        ("opencode", "UserPromptSubmit", "«yes, continue»\n", "yes, continue"),
        ("opencode", "UserPromptSubmit", r'"why does \"expire\" end it?"', 'why does "expire" end it?'),
        ("opencode", "UserPromptSubmit", '"a b" or "c d"', '"a b" or "c d"'),
        ("opencode", "UserPromptSubmit", '"', '"'),
        ("opencode", "UserPromptSubmit", r'"ends with \"', r'"ends with \"'),
        *(
            (
                "gemini",
                "BeforeAgent",
                f"<hook_context>{a}foveal-context{b}\n## S\n{a}/foveal-context{b}</hook_context>\n\nWhere?",
                "Where?",
            )
            for a, b in (("&lt;", "&gt;"), ("[", "]"), ("<", ">"))
        ),
    ],
)
def test_prompt_is_what_a_person_typed(host: str, name: str, prompt: str, meant: str) -> None:
    assert event_of(host, name, prompt=prompt).prompt == meant


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
    assert host_version("claude-code", {"AI_AGENT": "claude-code_2-1-197_harness"}) == "2.1.197"
    assert host_version("claude-code", {"AI_AGENT": "another_1_agent"}) == ""
    assert host_version("codex", {"AI_AGENT": "claude-code_2-1-330_harness"}) == ""


def test_text_for_a_prompt_depends_on_the_host() -> None:
    """Codex puts it behind the prompt as a message of its own; Cursor takes it from version 3.20 on."""
    limit = hooks_of("codex").limit("UserPromptSubmit")
    text = wrapped("x\n" * 9_000, limit)
    assert text.splitlines()[1].startswith("The user's message above is the request;")
    assert len(text) <= limit.characters
    assert "message above" not in wrapped("x", hooks_of("codex").limit("SessionStart"))
    assert wrapped("", limit) == ""
    cursor = hooks_of("cursor")
    assert host_version("cursor", {"CURSOR_VERSION": "3.20.17"}) == "3.20.17"
    known = {version: cursor.limit("beforeSubmitPrompt", version) for version in ("", "3.9.4", "3.20.17")}
    assert [limit.characters for limit in known.values()] == [0, 0, 9_500]
    assert cursor.limit("postToolUse").characters == 8_000


@pytest.mark.parametrize("host", HOSTS)
def test_answers_have_the_hosts_form(host: str) -> None:
    hooks = hooks_of(host)
    assert hooks.limits.keys() >= CONTEXT_EVENTS[host]
    for name in sorted({event_name(name) for found, name in recorded() if found == host}):
        limit = hooks.limit(name, "3.20.17")
        text = wrapped('## Rules\n\nUse "quotes", ümläuts -> and \u2028 lines => <a>.\n', limit)
        assert bool(text) is (name in CONTEXT_EVENTS[host]), name
        output = hooks.write(name, HookAnswer(text))
        expected = without_angles(text) if host in {"gemini", "qwen-code"} else text
        assert context_of(host, name, output) == expected
        assert hooks.write(name, HookAnswer()) == ""
    output = hooks.write("sessionStart", HookAnswer(message="line"))
    silent = {"cursor", "copilot", "opencode", "cline", "antigravity", "kiro"}
    assert output == ("" if host in silent else '{"systemMessage":"line"}')


def test_invalid_payloads_are_refused() -> None:
    for wrong in ("[1]", "{", "7", "[" * 100_000, 7, None, ["x"]):
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


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({key for path in PAYLOADS.glob("*/*.json") for key in json.loads(path.read_text())})
NAMES = sorted({event_name(name) for _, name in recorded()})


@settings(max_examples=examples(100))
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
    assert first is not None
    assert first.kind == "moved"
    assert first != second
    assert git.read(Fields({}), "pre-push", "/w") is None
