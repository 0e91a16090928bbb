"""The timeline of a session and the use of what it was shown, by a real daemon from what real hosts send."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.errors import RpcError
from foveal.ipc.protocol import encode_request

from tests.conftest import DEADLINE_S, DaemonProcess, next_event, write_files
from tests.daemon.test_methods import PROTOCOL, documented_fields, optional_fields
from tests.search_cases import until

SAMPLES = Path(__file__).parents[1] / "host_transcripts"
SESSIONS, AUTH = "src/shop/sessions.py", "src/shop/auth.py"


class Host:
    """A host's hooks in one session of a project."""

    def __init__(self, daemon: DaemonProcess, root: Path, session_id: str, host: str = "claude-code") -> None:
        self.daemon, self.root, self.session_id, self.host = daemon, root, session_id, host

    def tell(self, event: str, **fields: Any) -> str:
        payload = {"hook_event_name": event, "session_id": self.session_id, "cwd": str(self.root), **fields}
        output = self.daemon.call("HookEvent", host=self.host, event=event, payload=payload)["output"]
        assert isinstance(output, str)
        return output

    def edit(self, path: str, call: str) -> None:
        given = {"file_path": str(self.root / path)}
        self.tell("PostToolUse", tool_name="Edit", tool_use_id=call, tool_input=given)

    def timeline(self, **fields: Any) -> Any:
        return self.daemon.call("GetTimeline", session_id=self.session_id, **fields)

    def entries(self) -> list[dict[str, Any]]:
        """Return the entries, the oldest first."""
        found: list[dict[str, Any]] = self.timeline()["entries"]
        return found[::-1]

    def used(self, context_id: str) -> Mapping[str, str]:
        places = self.daemon.call("GetBuiltContext", context_id=context_id)["used"]
        return {place["path"]: place["how"] for place in places}


@pytest.fixture
def host(shared_daemon: DaemonProcess, shop: Path) -> Host:
    shared_daemon.open_ready(shop)
    return Host(shared_daemon, shop, f"timeline-{shop.parent.name}")


def test_timeline_of_a_session(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    host.tell("UserPromptSubmit", prompt_id="p1", prompt="How does expire() end a session?\nSay why.")
    host.edit(SESSIONS, "t1")
    host.edit("web/app.ts", "t2")
    host.edit("/etc/hosts", "t3")
    host.tell("PreToolUse", tool_name="Task", tool_input={"subagent_type": "explore", "prompt": "Find it"})
    host.tell("SubagentStart", agent_id="a1", agent_type="explore")
    host.tell("PreCompact", trigger="auto")
    host.tell("SessionStart", source="compact")
    host.tell("SessionStart", source="resume")
    host.tell("SessionEnd", reason="other")
    entries = host.entries()
    assert [entry["kind"] for entry in entries] == [
        "start", "prompt", "edit", "subagent", "compaction", "resume", "end",
    ]  # fmt: skip
    start, prompt, edit, subagent, compaction, *_ = entries
    assert prompt["text"] == "How does expire() end a session?"
    assert (prompt["agent_name"], start["shown"]) == ("claude-code", 0)
    assert edit["paths"] == [SESSIONS, "web/app.ts"], "what lies outside of the project is left out"
    assert (subagent["agent_id"], subagent["agent_name"], subagent["text"]) == ("a1", "explore", "Find it")
    assert compaction["context_id"] != start["context_id"], "what the start after it brought"
    built = host.daemon.call("GetBuiltContext", context_id=prompt["context_id"])
    assert (built["tokens"], built["request_id"]) == (prompt["tokens"], prompt["request_id"])
    assert (prompt["used"], prompt["shown"]) == (1, len({one["path"] for one in built["slices"]}))
    assert host.used(prompt["context_id"]) == {SESSIONS: "edited"}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["at"]) for entry in entries)


def test_documented_fields_of_the_timeline_and_of_usage(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    host.tell("UserPromptSubmit", prompt_id="p1", prompt="How does expire() end a session?")
    host.edit(SESSIONS, "t1")
    entry_fields = PROTOCOL.partition("An entry of GetTimeline is ")[2]
    names = documented_fields(entry_fields)
    for entry in host.entries():
        assert names - optional_fields(entry_fields) <= set(entry) <= names
    assert set(host.timeline()) == {"session_id", "project", "entries"}
    assert host.timeline()["project"] == str(host.root)
    usage = host.daemon.call("GetUsage", by="session")
    assert set(usage) == {"rows", "total", "never_used", "saved", "afterwards"}
    row_fields = PROTOCOL.partition("A row of GetUsage is ")[2]
    for row in (*usage["rows"], usage["total"]):
        assert documented_fields(row_fields) - optional_fields(row_fields) <= set(row)
        assert set(row) <= documented_fields(row_fields)


def test_prompt_that_needs_no_context_is_in_the_timeline(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    assert host.tell("UserPromptSubmit", prompt_id="p1", prompt="do it again") == ""
    assert host.tell("UserPromptSubmit", prompt_id="p2", prompt="wake", source="loop_wakeup") == ""
    entry = host.entries()[-1]
    assert (entry["kind"], entry["text"]) == ("prompt", "do it again")
    assert not {"context_id", "tokens", "used", "shown"} & set(entry)


def test_session_outside_of_any_project_has_no_timeline(shared_daemon: DaemonProcess) -> None:
    host = Host(shared_daemon, Path("/"), "outside")
    host.tell("SessionStart", source="startup")
    assert shared_daemon.error("GetTimeline", session_id="outside").code == "not_found"


def test_session_without_an_entry_has_an_empty_timeline(shared_daemon: DaemonProcess, shop: Path) -> None:
    session = shared_daemon.call("CreateSession", cwd=str(shop))["session_id"]
    empty = {"session_id": session, "project": str(shop), "entries": []}
    assert shared_daemon.call("GetTimeline", session_id=session) == empty


def test_session_without_hooks_has_its_contexts(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    host = Host(shared_daemon, shop, f"plain-{shop.parent.name}")
    asked = {"cwd": str(shop), "session_id": host.session_id}
    first = shared_daemon.call("GetContext", **asked, prompt="How does expire() end a session?")
    assert [entry["kind"] for entry in host.entries()] == ["prompt"]
    shared_daemon.call("GetContext", **asked, prompt="How does expire() end a session?")
    [entry] = host.entries()
    assert (entry["context_id"], entry["shown"] > 0) == (first["context_id"], True)
    assert "used" not in entry, "nothing tells what its agent does"
    reply = f"I changed {SESSIONS}."
    told = {"session_id": host.session_id, "request_id": first["request_id"], "reply": reply}
    shared_daemon.call("ReportReply", **told)
    assert host.used(first["context_id"]) == {SESSIONS: "named"}
    assert host.entries()[0]["used"] == 1


def test_place_used_before_it_was_shown_is_not_used(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    host.edit(SESSIONS, "t1")
    host.tell("UserPromptSubmit", prompt_id="p1", prompt="How does expire() end a session?")
    prompt = host.entries()[-1]
    assert (prompt["kind"], prompt["used"]) == ("prompt", 0)
    other = Host(host.daemon, host.root, f"{host.session_id}-other")
    other.edit(SESSIONS, "t1")
    assert host.entries()[-1]["used"] == 0, "an edit in another session"


def test_pages_of_the_timeline(host: Host) -> None:
    for number in range(7):
        host.tell("UserPromptSubmit", prompt_id=f"p{number}", prompt=f"yes, go on {number}")
    everything = host.timeline()["entries"]
    found, before = [], ""
    while True:
        page = host.timeline(limit=3, **({"before": before} if before else {}))
        found += page["entries"]
        if "next" not in page:
            break
        before = page["next"]
    assert found == everything
    assert len(found) == 7
    assert host.daemon.error("GetTimeline", session_id=host.session_id, before="x").data == {
        "field": "before"
    }
    assert host.daemon.error("GetTimeline", session_id="no such session").code == "not_found"


@pytest.mark.parametrize(
    ("name", "sample", "event", "fields", "expected"),
    [
        (
            "claude-code",
            "main-transcript",
            "SessionEnd",
            {"transcript_path": "{path}", "reason": "other"},
            {"starlette/schemas.py": "edited"},
        ),
        (
            "codex",
            "rollout-codemode-edit",
            "SessionEnd",
            {"transcript_path": "{path}", "reason": "other"},
            {"starlette/_kudu.py": "edited", "starlette/applications.py": "named"},
        ),
    ],
)
def test_use_is_derived_from_transcripts_of_real_hosts(
    shared_daemon: DaemonProcess,
    tmp_path: Path,
    name: str,
    sample: str,
    event: str,
    fields: dict[str, str],
    expected: dict[str, str],
) -> None:
    paths = [
        "starlette/schemas.py", "starlette/_kudu.py", "starlette/applications.py", "starlette/_gnu.py",
        "starlette/_impala.py", "starlette/routing.py", "starlette/middleware/gzip.py", "pkg/gzip.py",
    ]  # fmt: skip
    root = write_files(tmp_path / "project", dict.fromkeys(paths, "def f():\n    return 1\n" * 40))
    (root / ".git").mkdir()
    shared_daemon.open_ready(root)
    host = Host(shared_daemon, root, f"{sample}-{tmp_path.name}", name)
    context = shared_daemon.call("GetContext", cwd=str(root), session_id=host.session_id, focus_paths=paths)
    transcript = tmp_path / "transcript.jsonl"
    text = (SAMPLES / name / f"{sample}.jsonl").read_text().replace("/home/dev/project", str(root))
    # What the sample's agent did was before the context: later than now counts as now.
    transcript.write_text(re.sub(r"2026-11-23T", "2099-11-23T", text).replace('"created":17', '"created":40'))
    payload = {key: value.format(path=transcript) for key, value in fields.items()}
    with shared_daemon.subscribed("experience.grafted") as events:
        host.tell(event, **payload)
        if sample != "main-transcript":
            next_event(events, "experience.grafted", project=str(root))
        else:
            _wait_for_use(host, context["context_id"])
    assert host.used(context["context_id"]) == expected
    entries = host.entries()
    assert [entry["kind"] for entry in entries if entry["kind"] not in {"end", "decision"}].count(
        "start"
    ) == 1
    told = {
        kind: {path for entry in entries if entry["kind"] == kind for path in entry["paths"]}
        for kind in ("edit", "read")
    }
    assert told["edit"] == {path for path, how in expected.items() if how == "edited"}
    assert {path for path, how in expected.items() if how == "read"} <= told["read"]


def _wait_for_use(host: Host, context_id: str) -> None:
    with host.daemon.client() as client:
        while not client.call("GetBuiltContext", {"context_id": context_id}, DEADLINE_S)["used"]:
            client.call("Ping", {}, DEADLINE_S)


def test_use_in_a_turn_is_known_when_it_ends(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "project", {"pyproject.toml": "", "starlette/schemas.py": "x = 1\n"})
    shared_daemon.open_ready(root)
    host = Host(shared_daemon, root, f"turn-{tmp_path.name}")
    host.tell("SessionStart", source="startup")
    ask = {"cwd": str(root), "session_id": host.session_id, "focus_paths": ["starlette/schemas.py"]}
    context = shared_daemon.call("GetContext", **ask)
    transcript = tmp_path / "transcript.jsonl"
    text = (
        (SAMPLES / "claude-code" / "main-transcript.jsonl")
        .read_text()
        .replace("/home/dev/project", str(root))
    )
    transcript.write_text(text.replace("2026-11-23T", "2099-11-23T"))
    host.tell("Stop", transcript_path=str(transcript))
    _wait_for_use(host, context["context_id"])
    assert host.used(context["context_id"]) == {"starlette/schemas.py": "edited"}
    again = shared_daemon.call("GetTimeline", session_id=host.session_id)
    host.tell("SessionEnd", transcript_path=str(transcript), reason="other")
    kinds = [entry["kind"] for entry in again["entries"]]
    assert sorted(kinds) == ["edit", "read", "start", "start"]


def test_a_context_that_comes_too_late_is_recorded(host: Host) -> None:
    host.tell("SessionStart", source="startup")
    late_before = host.daemon.call("GetMetrics")["contexts"]["late"]
    fields = {"hook_event_name": "UserPromptSubmit", "session_id": host.session_id, "cwd": str(host.root)}
    fields |= {"prompt_id": "p1", "prompt": "How does expire() end a session?"}
    late = {"host": host.host, "event": "UserPromptSubmit", "payload": fields, "deadline_ms": 1}
    sent = host.daemon.call("GetUsage", by="session")["total"]["tokens"]
    assert host.daemon.call("HookEvent", **late)["output"] == ""
    start, prompt = host.entries()
    assert (prompt["kind"], prompt["outcome"]) == ("prompt", "too late")
    assert not {"tokens", "context_id"} & prompt.keys()
    assert "outcome" not in start
    assert host.daemon.call("GetMetrics")["contexts"]["late"] == late_before + 1
    assert host.daemon.call("GetUsage", by="session")["total"]["tokens"] == sent, "nothing was delivered"
    host.tell("UserPromptSubmit", prompt_id="p2", prompt="How does expire() end a session?")
    host.tell("UserPromptSubmit", prompt_id="p3", prompt="yes, continue")
    assert [entry.get("outcome") for entry in host.entries()] == [None, "too late", None, None]
    assert host.entries()[2]["tokens"] > 0


def test_a_host_that_hangs_up_gets_its_context_too_late(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    """The project isn't read yet, which takes seconds; the host goes as soon as its prompt has arrived."""
    many = {f"src/m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(2_000)}
    host = Host(shared_daemon, write_files(tmp_path / "many", many), "hangs-up")
    fields = {"hook_event_name": "UserPromptSubmit", "session_id": host.session_id, "cwd": str(host.root)}
    fields |= {"prompt_id": "p1", "prompt": "How does f77 return?"}
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(shared_daemon.socket)
        asked = {"host": host.host, "event": "UserPromptSubmit", "payload": fields, "deadline_ms": 30_000}
        client.sendall(encode_request(1, "HookEvent", asked))

        def arrived() -> bool:
            with shared_daemon.client() as other, suppress(RpcError):
                return bool(other.call("GetTimeline", {"session_id": host.session_id})["entries"])
            return False

        until(arrived, "the prompt has arrived")
    until(lambda: "outcome" in host.entries()[0], "the hang-up was noticed")
    assert host.entries()[0]["outcome"] == "too late"
