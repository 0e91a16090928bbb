"""Hooks over a real daemon: whole sessions of agents, played by running the hooks as their hosts would."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.search.need import HINT

from tests.conftest import DaemonProcess, need_tool, next_event, write_files
from tests.hook_cases import context_of, payload, recorded, words
from tests.hooks.test_hook import hook
from tests.search_cases import until

DECISION = "I decided to expire sessions only in expire(), because two places had drifted apart."
TASK = "Find out where sessions expire and why."


@pytest.fixture
def up(shared_daemon: DaemonProcess) -> DaemonProcess:
    """Give the daemon that the tests share, running: a hook starts one, and doesn't wait for it."""
    shared_daemon.call("Ping")
    return shared_daemon


def run(daemon: DaemonProcess, root: Path, host: str, name: str, **changed: Any) -> str:
    """Run the hook of a recorded event as its host does; returns the text for the model."""
    output = hook(host, payload(host, name, root, **changed), daemon.environ, *words(host, name))
    return context_of(host, name, output)


def ask(daemon: DaemonProcess, root: Path, host: str, name: str, **changed: Any) -> str:
    """Send a recorded event without the process of a hook; returns what that would print."""
    fields, event = payload(host, name, root, **changed), "".join(words(host, name))
    reply = daemon.call("HookEvent", host=host, payload=fields, event=event)
    context_of(host, name, reply["output"])
    return str(reply["output"])


def context(daemon: DaemonProcess, root: Path, host: str, name: str, **changed: Any) -> str:
    """Send a recorded event; returns the text for the model."""
    return context_of(host, name, ask(daemon, root, host, name, **changed))


def message(daemon: DaemonProcess, root: Path, host: str, name: str, **changed: Any) -> str:
    """Send a recorded event; returns the line for the user."""
    output = ask(daemon, root, host, name, **changed)
    return str(json.loads(output or "{}").get("systemMessage", ""))


def line(kind: str, number: int, content: Any, root: Path) -> str:
    """Return a line of a subagent's transcript as Claude Code writes it."""
    record = {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": True,
        "agentId": "ab12",
        "sessionId": "6f1e0c52-5a0e-4a55-9d3b-0c2f6f6a1b11",
        "cwd": str(root),
        "version": "2.1.330",
        "timestamp": f"2026-11-20T10:00:0{number}.000Z",
        "message": {"role": kind, "content": content},
    }
    return json.dumps(record) + "\n"


def transcript(folder: Path, root: Path, decision: str = DECISION) -> str:
    """Write what a subagent said and did, and return the file's path."""
    path = root / "src" / "shop" / "sessions.py"
    edit = {"file_path": str(path), "old_string": "3600", "new_string": "7200"}
    lines = [
        line("user", 0, TASK, root),
        line("assistant", 1, [{"type": "tool_use", "id": "t1", "name": "Edit", "input": edit}], root),
        line("user", 2, [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}], root),
        line(
            "assistant",
            3,
            [{"type": "tool_use", "id": "t2", "name": "SubagentHandback", "input": {"message": decision}}],
            root,
        ),
    ]
    write_files(folder, {"agent-ab12.jsonl": "".join(lines)})
    return str(folder / "agent-ab12.jsonl")


def test_a_whole_session_of_claude_code(daemon: DaemonProcess, shop: Path, tmp_path: Path) -> None:
    write_files(shop, {".cursor/rules/style.mdc": "---\nalwaysApply: true\n---\nPrices are whole cents.\n"})
    daemon.open_ready(shop)

    started = run(daemon, shop, "claude-code", "SessionStart")
    assert "set_relevant_context" in started
    assert "Prices are whole cents." in started, "a rule that the host doesn't read"
    assert "Use the repository's logger." not in started, "its own CLAUDE.md"
    assert run(daemon, shop, "claude-code", "SessionStart") == "", "the same event acts once"

    answer = run(daemon, shop, "claude-code", "UserPromptSubmit")
    assert "expire" in answer
    assert "set_relevant_context" not in answer, "it has that already"
    assert "Use the repository's logger." not in answer

    assert run(daemon, shop, "claude-code", "PreToolUse") == ""
    subagent = run(daemon, shop, "claude-code", "SubagentStart")
    assert "src/shop/sessions.py" in subagent, "what its task is about"

    with daemon.subscribed("experience.grafted") as events:
        path = transcript(tmp_path / "projects", shop)
        assert run(daemon, shop, "claude-code", "SubagentStop", agent_transcript_path=path) == ""
        assert next_event(events, "experience.grafted")["data"]["grafted"] >= 1
    assert run(daemon, shop, "claude-code", "PostToolUse") == ""
    assert run(daemon, shop, "claude-code", "Stop") == ""
    session = daemon.call("GetSession", session_id=payload("claude-code", "Stop")["session_id"])
    assert session["agent_name"] == "claude-code"
    assert session["last_idle"]
    assert run(daemon, shop, "claude-code", "SessionEnd") == ""
    assert daemon.call("GetSession", session_id=session["session_id"])["ended"]

    second = run(daemon, shop, "claude-code", "SessionStart", session_id="second")
    assert "expire sessions only in expire()" in second, "what the first session decided"
    assert "ERROR" not in daemon.log()


def test_a_prompt_brings_what_it_adds_and_nothing_else(up: DaemonProcess, shop: Path) -> None:
    up.open_ready(shop)
    sid = {"session_id": "news"}
    started = context(up, shop, "claude-code", "SessionStart", **sid)
    assert "## Project Structure" in started
    assert "## Project\n" in started

    def prompt(text: str) -> str:
        return context(up, shop, "claude-code", "UserPromptSubmit", **sid, prompt=text, prompt_id=text)

    for text in ("yes, continue", "commit this please", "thanks", "/review 12", "run the tests again"):
        assert prompt(text) == "", text
    assert prompt("<task-notification>\n<summary>Agent done: expire</summary>\n</task-notification>") == ""
    assert prompt("Who invented the zzyzx?") == "", "nothing is probable"
    for text in ("how do i exit vim", "sorry, i was in a meeting", "whats a good book about gardens?"):
        assert prompt(text) == "", text
    entry, *_ = up.call("ListContexts", cwd=str(shop))["contexts"]
    built = up.call("GetBuiltContext", context_id=entry["context_id"])
    assert "is left out: it needs the code with a probability of 0." in built["gaps"][0]
    in_german = "Wo wird das Zeitlimit für Verbindungen gesetzt?"
    assert HINT in prompt(in_german), "its words say nothing here, and who reads the hint can translate"
    assert prompt(f"{in_german} Wo?") == "", "it was said"
    asked = prompt("How do sessions expire?")
    assert "def expire" in asked
    assert "## Project" not in asked, "the map and the project's description stand at the start"
    assert "set_relevant_context" not in asked
    assert prompt("So how do sessions expire then?") == "", "the window holds it"
    explicit = up.call("GetContext", cwd=str(shop), prompt="thanks", max_tokens=8_000)
    assert "## Project Structure" in explicit["context"], "who asks is answered"


def test_what_prompts_got_is_counted_with_the_time_of_their_hooks(
    up: DaemonProcess, shop: Path, tmp_path: Path
) -> None:
    def counted() -> Counter[str]:
        return Counter(up.call("GetMetrics")["prompts"]["outcomes"])

    def prompt(text: str, folder: Path, number: int) -> None:
        told = {"prompt": text, "session_id": f"counted-{folder}", "prompt_id": str(number)}
        context(up, folder, "claude-code", "UserPromptSubmit", **told)

    before, times = counted(), up.call("GetMetrics")["prompts"]["count"]
    prompt("How does expire() in src/shop/sessions.py end a session?", shop, 1)
    prompt("thanks", shop, 2)
    prompt("And what of the weather on Mars tomorrow?", shop, 3)
    got = counted() - before
    assert (got["whole"], got["idle"] + got["nothing"]) == (1, 2)
    assert got["idle"] >= 1
    assert up.call("GetMetrics")["prompts"]["count"] == times + 3
    (tmp_path / "empty").mkdir()
    nowhere = counted()
    prompt("How does expire() end a session?", tmp_path / "empty", 4)
    assert sum((counted() - nowhere).values()) == 1


def test_the_size_of_what_a_prompt_adds(up: DaemonProcess, tmp_path: Path) -> None:
    body = "".join(f"    total += price_{number} * rate\n" for number in range(140))
    code = "".join(f"def invoice_total_{number}(rate):\n    total = 0\n{body}\n" for number in range(9))
    for name, limit in (("usual", 1_500), ("small", 1_200), ("none", 0)):
        files = {"billing.py": code, ".git/HEAD": "ref: refs/heads/main\n"}
        if name != "usual":
            files["foveal.toml"] = f"[context]\nhook_tokens = {limit}\n"
        root = write_files(tmp_path / name, files)
        up.open_ready(root)
        sid = {"session_id": f"size-{name}"}
        context(up, root, "claude-code", "SessionStart", **sid)
        text = context(up, root, "claude-code", "UserPromptSubmit", **sid, prompt="rename `invoice_total_3`")
        assert len(text) <= limit * 4 + 100
        assert len(text) > limit * 2 or not limit, name


def test_a_session_goes_on_where_it_was(up: DaemonProcess, shop: Path) -> None:
    name, sid = "claude-code", {"session_id": "goes-on"}
    context(up, shop, name, "SessionStart", **sid)
    note = shop / "notes.md"
    note.write_text("# Notes\n")
    up.call("UpdateSession", **sid, current_intent="Make sessions last a day")
    up.call("SetRelevantContext", **sid, set_name="files", items=[str(note)])
    assert message(up, shop, name, "UserPromptSubmit", **sid, prompt="first") == (
        "foveal: session context changed (files +1)"
    )
    assert message(up, shop, name, "UserPromptSubmit", **sid, prompt="second") == ""
    assert context(up, shop, name, "PreCompact", **sid) == ""
    compacted = context(up, shop, name, "SessionStart_compact", **sid)
    assert "Make sessions last a day" in compacted
    assert str(note) in compacted
    assert "set_relevant_context" in compacted
    assert message(up, shop, name, "SessionStart_resume", **sid) == "foveal: context restored (1 files)"


def test_an_edited_file_is_hot_and_enters_no_context_set(up: DaemonProcess, shop: Path) -> None:
    up.open_ready(shop)
    context(up, shop, "cursor", "sessionStart", conversation_id="hot")
    context(up, shop, "cursor", "afterFileEdit", conversation_id="hot")
    assert up.call("GetSession", session_id="hot")["context"] == {}
    assert "src/shop/auth.py" in up.call("GetContext", cwd=str(shop), agent_id="new")["context"]
    outside = {"file_path": "/etc/hostname"}
    assert context(up, shop, "cursor", "afterFileEdit", conversation_id="hot", **outside) == ""


def test_a_subagent_has_its_parents_constraints(up: DaemonProcess, shop: Path) -> None:
    sid = {"session_id": "strict"}
    up.call("GetContext", cwd=str(shop), **sid, constraints=["Touch no migration."])
    text = context(up, shop, "codex", "SubagentStart", **sid)
    assert "Touch no migration." in text


def test_a_report_without_a_transcript_is_grafted(up: DaemonProcess, shop: Path) -> None:
    for host, name in (("codex", "SubagentStop"), ("cursor", "subagentStop"), ("copilot", "subagentStop")):
        decision = f"I decided to expire sessions for {host} in one place, because two were out of step."
        field = {"codex": "last_assistant_message", "cursor": "summary", "copilot": "response"}[host]
        with up.subscribed("experience.grafted") as events:
            assert context(up, shop, host, name, **{field: decision}) == ""
            next_event(events, "experience.grafted")
        found = up.call("ListExperiences", cwd=str(shop), query=host)["experiences"]
        assert any(f"for {host} in one place" in one["decision"] for one in found), host
    until(lambda: not list(up.state.glob("hook-spool/*")), "the last event is out of the spool")
    assert not list(up.state.glob("hook-reports/*"))


def test_what_the_main_agent_decided_is_grafted_when_its_session_ends(up: DaemonProcess, shop: Path) -> None:
    decision = "I decided to keep carts in the session, because a database for them was too slow."
    task = {"description": "x", "prompt": TASK, "subagent_type": "explorer"}
    call = {"type": "tool_use", "id": "t1", "name": "Agent", "input": task}
    report = {"type": "tool_result", "tool_use_id": "t1", "content": DECISION}
    result = {"agentId": "ab12", "agentType": "explorer", "status": "completed", "content": DECISION}
    lines = [
        line("user", 0, "Where do carts go?", shop),
        line("assistant", 1, [call], shop),
        json.dumps(json.loads(line("user", 2, [report], shop)) | {"toolUseResult": result}) + "\n",
        line("assistant", 3, [{"type": "text", "text": decision}], shop),
    ]
    main = "".join(lines).replace('"isSidechain": true, "agentId": "ab12"', '"isSidechain": false')
    path = str(write_files(shop.parent, {"projects/main.jsonl": main}) / "projects" / "main.jsonl")
    told: dict[str, Any] = {"session_id": "main-agent", "transcript_path": path}
    context(up, shop, "claude-code", "SessionStart", **told)
    with up.subscribed("experience.grafted") as events:
        assert context(up, shop, "claude-code", "Stop", **told) == ""
        assert len(list(up.state.glob("hook-spool/*"))) == 1, "it waits for a rest"
        assert context(up, shop, "claude-code", "SessionEnd", **told) == ""
        next_event(events, "experience.grafted")
    [found] = up.call("ListExperiences", cwd=str(shop), session_id="main-agent")["experiences"]
    assert "keep carts in the session" in found["decision"], "its subagent's is taken from that one's own"
    assert found["agent_id"] == "claude-code"
    copy = write_files(shop.parent, {"projects/copy.jsonl": main}) / "projects" / "copy.jsonl"
    whole = up.call("GraftExperience", cwd=str(shop), transcript_path=str(copy), session_id="whole")
    assert (whole["grafted"], whole["duplicates"]) == (1, 1), "the main agent's is known from its own session"


def test_spooled_graft_of_an_agent_that_is_not_allowed_is_dropped(
    daemon: DaemonProcess, shop: Path, tmp_path: Path
) -> None:
    write_files(shop, {"foveal.toml": "[agents.shut]\nallow = false\n"})
    daemon.call("OpenProject", path=str(shop))
    daemon.stop(signal.SIGKILL)
    for kind in ("shut", "explorer"):
        told = {"agent_type": kind, "agent_id": kind, "agent_transcript_path": ""}
        decision = f"I decided to let {kind} expire sessions in one place, because two were out of step."
        assert run(daemon, shop, "codex", "SubagentStop", **told, last_assistant_message=decision) == ""
    assert len(list(daemon.state.glob("hook-spool/*"))) == 2
    with daemon.subscribed("experience.grafted") as events:
        if not daemon.call("ListExperiences", cwd=str(shop))["total"]:
            next_event(events, "experience.grafted")
        assert daemon.call("Status", cwd=str(shop))["projects"][0]["root"] == str(shop)
    found = daemon.call("ListExperiences", cwd=str(shop))["experiences"]
    assert ["let explorer" in one["decision"] for one in found] == [True]


def test_edits_of_hidden_files_make_nothing_hot(up: DaemonProcess, tmp_path: Path) -> None:
    files = {"foveal.toml": "[agents.half]\ndeny_paths = ['secret/**']\n", "secret/a.py": "", "b.py": ""}
    root = write_files(tmp_path / "hot", {**files, "pyproject.toml": ""})
    up.open_ready(root)
    for name in ("secret/a.py", "b.py"):
        edited = {"tool_input": {"file_path": str(root / name)}, "session_id": "half", "tool_use_id": name}
        fields = payload("claude-code", "PostToolUse", root, **edited)
        up.call("HookEvent", host="claude-code", payload=fields, agent_name="half")
    scope = up.call("GetContext", cwd=str(root))["scope_id"]
    assert [one["path"] for one in up.call("GetScope", scope_id=scope)["hot_nodes"]] == ["b.py"]


def test_a_graft_without_daemon_is_late_and_not_lost(
    daemon: DaemonProcess, shop: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "projects", shop)
    daemon.call("OpenProject", path=str(shop))
    daemon.stop(signal.SIGKILL)
    assert run(daemon, shop, "claude-code", "SubagentStop", agent_transcript_path=path) == ""
    broken = {
        "agent_id": "x",
        "agent_transcript_path": str(tmp_path / "gone.jsonl"),
        "last_assistant_message": "",
    }
    assert run(daemon, shop, "claude-code", "SubagentStop", **broken) == ""
    lost = {"session_id": "end", "transcript_path": str(tmp_path / "gone.jsonl")}
    assert run(daemon, shop, "claude-code", "SessionEnd", **lost) == ""
    assert len(list(daemon.state.glob("hook-spool/*"))) == 3
    with daemon.subscribed("experience.grafted") as events:
        found = daemon.call("ListExperiences", cwd=str(shop))["total"]
        if not found:
            next_event(events, "experience.grafted")
    assert daemon.call("ListExperiences", cwd=str(shop))["total"] >= 1


def test_a_checkout_is_seen(up: DaemonProcess, shop: Path) -> None:
    up.open_ready(shop)
    with up.subscribed("project.changed") as events:
        write_files(shop, {"src/shop/fresh.py": "def fresh(): ...\n"})
        given = {"host": "git", "event": "post-checkout", "payload": "", "cwd": str(shop)}
        assert up.call("HookEvent", **given) == {"output": ""}
        next_event(events, "project.changed")
    assert up.call("HookEvent", **{**given, "cwd": str(shop.parent)}) == {"output": ""}, "not open"


def test_curl_is_a_whole_hook(up: DaemonProcess, shop: Path) -> None:
    curl, socket = need_tool("curl"), up.socket.replace("foveal.sock", "foveal-http.sock")

    def post(url: str, data: str) -> str:
        command = [curl, "--silent", "--noproxy", "*", "--max-time", "60", "--unix-socket", socket]
        command += ["--data-binary", "@-", f"http://localhost{url}"]
        return subprocess.run(command, input=data, capture_output=True, text=True, check=True).stdout

    given = payload("codex", "SessionStart", shop, session_id="over-http")
    assert "set_relevant_context" in context_of(
        "codex", "SessionStart", post("/hook/codex", json.dumps(given))
    )
    named = payload("copilot", "sessionStart", shop, sessionId="over-http-too")
    output = post("/hook/copilot?event=sessionStart", json.dumps(named))
    assert "set_relevant_context" in context_of("copilot", "sessionStart", output)
    for url, data in (
        ("/hook/vim", "{}"),
        ("/hook/codex", "[]"),
        ("/hook/codex", "x" * (17 * 1024 * 1024)),
        ("/hook/codex", ""),
    ):
        assert post(url, data) == ""


def test_what_can_not_be_asked(up: DaemonProcess, shop: Path) -> None:
    def check(field: str, **params: Any) -> None:
        error = up.error("HookEvent", **params)
        assert (error.code, error.data) == ("invalid_params", {"field": field})

    check("host")
    check("host", host="vim", payload={})
    check("payload", host="codex", payload="[]")
    check("payload", host="codex", payload=7)
    check("deadline_ms", host="codex", payload={}, deadline_ms=0)
    check("cwd", host="codex", payload={"hook_event_name": "Stop", "cwd": "relative"})
    assert up.call("HookEvent", host="codex", payload={}) == {"output": ""}
    given = payload("codex", "SessionStart", shop, session_id="as-a-map")
    assert "additionalContext" in up.call("HookEvent", host="codex", payload=given)["output"]
    odd = payload("codex", "SessionStart", shop, session_id="../../etc/passwd")
    assert "additionalContext" in up.call("HookEvent", host="codex", payload=odd)["output"]


def test_a_stranger_gets_nothing(up: DaemonProcess, shop: Path) -> None:
    write_files(shop, {"foveal.toml": "[agents.codex]\nallow = false\n"})
    sid = {"session_id": "strange"}
    assert context(up, shop, "codex", "SessionStart", **sid) == ""
    assert context(up, shop, "codex", "UserPromptSubmit", **sid) == ""
    assert context(up, shop, "gemini", "BeforeAgent", **sid) != ""
    given = {"host": "gemini", "payload": payload("gemini", "SessionStart", shop, session_id="named")}
    assert up.call("HookEvent", **given, agent_name="codex") == {"output": ""}


def test_an_agent_hears_of_its_session_what_its_rules_grant(up: DaemonProcess, shop: Path) -> None:
    write_files(shop, {"foveal.toml": '[agents.codex]\ndeny_paths = ["web/**"]\n'})
    sid = {"session_id": "granted"}
    context(up, shop, "codex", "SessionStart", **sid)
    files = [str(shop / "web" / "app.ts"), str(shop / "README.md")]
    up.call("SetRelevantContext", **sid, set_name="files", items=files)
    assert "app.ts" not in context(up, shop, "codex", "SessionStart_resume", **sid)
    text = context(up, shop, "codex", "SessionStart_compact", **sid)
    assert "README.md" in text
    assert "app.ts" not in text


@pytest.mark.parametrize("host", ["claude-code", "codex", "cursor", "gemini", "copilot", "opencode"])
def test_every_recorded_event_is_answered_in_the_hosts_form(up: DaemonProcess, shop: Path, host: str) -> None:
    for found, name in recorded():
        if found == host:
            context(up, shop, host, name)
    assert "Traceback" not in up.log()
