"""Requests over the socket: each message of a session is recorded, and given back exactly as it was sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.errors import RpcError
from foveal.ipc.protocol import MAX_FRAME_BYTES

from tests.conftest import DaemonProcess, next_event, write_files

PROMPT = "What does `x` in src/a.py mean for the orders?"
HISTORY = [
    {"role": "system", "content": "Obey the client."},
    {"role": "user", "content": "Hello."},
    {"role": "developer", "content": "Obey the host."},
    {"role": "assistant", "content": "Hello to you."},
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {
        "AGENTS.md": "Be kind.\n",
        "src/a.py": "x = 1\n",
        "src/b.py": "y = 2\n",
        ".git/HEAD": "x",
    }
    return write_files(tmp_path / "p", files).resolve()


def prepared(daemon: DaemonProcess, root: Path) -> str:
    """Make a session with two rules, a reference and tools of two servers."""
    items: list[dict[str, Any]] = [
        {"type": "reference", "name": "api", "description": "the API", "text": "It has two methods."},
        {"type": "rule", "name": "first", "text": "Think first.", "priority_level": 150},
        {"type": "tool", "name": "write", "server_name": "hub", "description": "Write.", "text": '{"a": 1}'},
        {"type": "tool", "name": "read", "server_name": "hub"},
        {"type": "tool", "name": "ask", "server_name": "cat"},
    ]
    for item in items:
        daemon.call("PutItem", cwd=str(root), item=item | {"include": "always"})
    return str(daemon.call("CreateSession", cwd=str(root))["session_id"])


def ask(daemon: DaemonProcess, root: Path, session: str, **params: Any) -> Any:
    given = {"cwd": str(root), "session_id": session, "prompt": PROMPT, "focus_paths": ["src/a.py"]}
    return daemon.call("GetContext", **given | params)


def recorded(daemon: DaemonProcess, session: str, reply: Any) -> Any:
    return daemon.call("GetRequest", session_id=session, request_id=reply["request_id"])


def test_messages_come_in_their_order(shared_daemon: DaemonProcess, project: Path) -> None:
    session = prepared(shared_daemon, project)
    reply = ask(shared_daemon, project, session, format="messages", history=HISTORY)
    messages = reply["messages"]
    assert [(one["role"], one["content"]) for one in messages[1:]] == [
        ("user", "Hello."),
        ("assistant", "Hello to you."),
        ("user", "Reference: api (put with foveal)\n\nIt has two methods."),
        ("user", "Rule: first (put with foveal)\n\nThink first."),
        ("user", "Rule: AGENTS.md (the project's)\n\nBe kind."),
        ("user", PROMPT),
    ]
    assert messages[0] == {"role": "system", "content": reply["system_prompt"]}
    assert "x = 1" in reply["system_prompt"]
    assert all(text in reply["context"] for text in ("x = 1", "Be kind.", "two methods"))
    assert not any(text in reply["system_prompt"] for text in ("Be kind.", "two methods", "Obey"))
    assert {server: [tool["name"] for tool in tools] for server, tools in reply["tools"].items()} == {
        "cat": ["ask"],
        "hub": ["read", "write"],
    }
    assert reply["tools"]["hub"][1] == {"name": "write", "description": "Write.", "input_schema": '{"a": 1}'}
    assert {one["name"] for one in reply["items"]} == {"api", "first", "AGENTS.md", "write", "read", "ask"}
    record = recorded(shared_daemon, session, reply)
    for name in ("messages", "tools", "context", "system_prompt", "user_prompt"):
        assert record[name] == reply[name]


@pytest.mark.parametrize("kind", ["markdown", "json"])
def test_messages_are_rebuilt_whatever_the_format(
    shared_daemon: DaemonProcess, project: Path, kind: str
) -> None:
    shared_daemon.open_ready(project)  # else the second answer may know more than the first
    session = prepared(shared_daemon, project)
    wanted = ask(shared_daemon, project, session, format="messages", history=HISTORY)
    reply = ask(shared_daemon, project, session, format=kind, history=HISTORY)
    record = recorded(shared_daemon, session, reply)
    assert record["context"] == reply["context"]
    assert "Be kind." in reply["context"]
    assert (record["messages"], record["tools"]) == (wanted["messages"], wanted["tools"])
    prompts = ask(shared_daemon, project, session, format="prompts")
    record = recorded(shared_daemon, session, prompts)
    assert (record["system_prompt"], record["user_prompt"]) == (prompts["system_prompt"], PROMPT)
    assert "Be kind." in record["messages"][0]["content"]


def test_the_record_tells_what_was_used(shared_daemon: DaemonProcess, project: Path) -> None:
    session = prepared(shared_daemon, project)
    reply = ask(shared_daemon, project, session, agent_name="codex")
    record = recorded(shared_daemon, session, reply)
    for name in ("tokens", "bytes", "degraded", "request_id"):
        assert record[name] == reply[name]
    assert [item["priority_level"] for item in record["items"]] == [150, 300, 500, 500, 500, 500]
    bare = [
        {name: value for name, value in one.items() if name != "priority_level"} for one in record["items"]
    ]
    assert bare == reply["items"]
    spanless = [{name: value for name, value in one.items() if name != "span"} for one in reply["slices"]]
    assert record["slices"] == spanless  # where a slice stands is a matter of the answer's format
    assert (record["session_id"], record["project"]) == (session, str(project))
    assert (record["agent_name"], record["format"]) == ("codex", "markdown")
    assert (record["considered"], record["referred"], record["problem"]) == ([], None, "")
    assert record["elapsed_ms"] > 0
    without = shared_daemon.call(
        "GetRequest", session_id=session, request_id=reply["request_id"], content=False
    )
    names = {"context", "system_prompt", "user_prompt", "messages", "tools"}
    assert without == {name: value for name, value in record.items() if name not in names}


def test_the_same_bytes_after_a_restart_and_after_the_files_changed(
    daemon: DaemonProcess, project: Path
) -> None:
    session = prepared(daemon, project)
    reply = ask(daemon, project, session)
    before = recorded(daemon, session, reply)
    write_files(project, {"AGENTS.md": "Be rude.\n", "src/a.py": "x = 3\n"})
    daemon.call("DeleteItem", cwd=str(project), type="rule", name="first")
    daemon.stop()
    assert recorded(daemon, session, reply) == before
    assert before["context"] == reply["context"]
    changed = ask(daemon, project, session)
    assert "Be rude." in changed["context"]
    assert {one["name"] for one in before["items"]} - {one["name"] for one in changed["items"]} == {"first"}


def test_requests_are_listed_latest_first(shared_daemon: DaemonProcess, project: Path) -> None:
    session = prepared(shared_daemon, project)
    assert shared_daemon.call("ListRequests", session_id=session) == {"requests": []}
    asked = [ask(shared_daemon, project, session, prompt=f"Question {n}")["request_id"] for n in range(4)]
    listed = shared_daemon.call("ListRequests", session_id=session)["requests"]
    assert [one["request_id"] for one in listed] == asked[::-1]
    assert all(one["items"] == 6 and one["tokens"] > 0 for one in listed)
    two = shared_daemon.call("ListRequests", session_id=session, limit=2, before=asked[3])["requests"]
    assert [one["request_id"] for one in two] == [asked[2], asked[1]]
    unknown = shared_daemon.error("GetRequest", session_id=session, request_id="req_0")
    assert unknown.code == "not_found"


def test_requests_are_exported_page_by_page(shared_daemon: DaemonProcess, project: Path) -> None:
    session = prepared(shared_daemon, project)
    free = f"free-{session}"
    asked = [ask(shared_daemon, project, one)["request_id"] for one in (session, free, session)]
    first = shared_daemon.call("ExportRequests", cwd=str(project), limit=2)
    second = shared_daemon.call("ExportRequests", cwd=str(project), limit=2, since=first["next"])
    found = [*first["requests"], *second["requests"]]
    assert [one["request_id"] for one in found] == asked
    assert "next" not in second
    wanted = {"session_id": free, "request_id": asked[1]}
    assert found[1] == shared_daemon.call("GetRequest", **wanted, content=False)
    (whole,) = shared_daemon.call("ExportRequests", session_id=free, content=True)["requests"]
    assert whole == shared_daemon.call("GetRequest", **wanted)
    assert shared_daemon.call("ExportRequests", cwd=str(project), since="2100-01-01") == {"requests": []}
    assert shared_daemon.error("ExportRequests", session_id="nobody").code == "not_found"
    for field in ("since", "before"):
        error = shared_daemon.error("ExportRequests", cwd=str(project), **{field: "soon"})
        assert (error.code, error.data) == ("invalid_params", {"field": field})
    assert shared_daemon.error("ExportRequests", cwd=str(project), limit=0).code == "invalid_params"


def test_a_request_too_large_for_an_answer_is_told_without_its_content(
    shared_daemon: DaemonProcess, project: Path
) -> None:
    session = prepared(shared_daemon, project)
    # Of each long message 200,000 characters are kept, and both the history and the messages have them.
    said = [{"role": "user", "content": "x" * 190_000}] * (MAX_FRAME_BYTES // 380_000 + 1)
    reply = ask(shared_daemon, project, session, history=said, format="messages")
    which = {"session_id": session, "request_id": reply["request_id"]}
    error = shared_daemon.error("GetRequest", **which)
    assert error.code == "too_large"
    assert "content = false" in error.message
    bare = shared_daemon.call("GetRequest", **which, content=False)
    assert bare["bytes"] == reply["bytes"]
    (exported,) = shared_daemon.call("ExportRequests", session_id=session, content=True)["requests"]
    assert "too many for an export" in exported["problem"]


def test_what_has_no_message_is_not_recorded(shared_daemon: DaemonProcess, project: Path) -> None:
    session = prepared(shared_daemon, project)
    for params in ({"prompt": ""}, {"prompt": " \n"}, {"session_id": None}):
        assert "request_id" not in ask(shared_daemon, project, session, **params)
    ready = {"cwd": str(project), "session_id": session, "prompt": PROMPT}
    assert shared_daemon.open_ready(project)["state"] == "ready"
    with shared_daemon.subscribed("context.built") as listener:
        if shared_daemon.call("PrepareContext", **ready)["state"] == "preparing":
            next_event(listener, "context.built", session_id=session)
    assert shared_daemon.call("PrepareContext", **ready)["state"] == "ready"
    assert shared_daemon.call("ListRequests", session_id=session) == {"requests": []}


# What came of it


def test_a_reply_is_reported(shared_daemon: DaemonProcess, project: Path) -> None:
    session = prepared(shared_daemon, project)
    reply = ask(shared_daemon, project, session)
    report = {"session_id": session, "request_id": reply["request_id"]}
    tool = {"type": "tool", "name": "read", "server_name": "hub"}
    done = shared_daemon.call(
        "ReportReply", **report, reply="As AGENTS.md says.", used=[tool, {"type": "rule", "name": "no"}]
    )
    assert sorted(one["name"] for one in done["referred"]) == ["AGENTS.md", "read"]
    assert done["unknown"] == [{"type": "rule", "name": "no"}]
    (listed,) = shared_daemon.call("ListRequests", session_id=session)["requests"]
    assert listed["referred"] == 2
    record = recorded(shared_daemon, session, reply)
    assert sorted(one["name"] for one in record["referred"]) == ["AGENTS.md", "read"]
    with pytest.raises(RpcError, match="since must be a time such as"):
        shared_daemon.call("GetItemUsage", cwd=str(project), since="x")
    usage = shared_daemon.call("GetItemUsage", cwd=str(project))
    counts = {one["name"]: (one["requests"], one["reported"], one["referred"]) for one in usage["items"]}
    assert (counts["AGENTS.md"], counts["api"]) == ((1, 1, 1), (1, 1, 0))
    assert (usage["suggestions"], usage["shares"]) == ([], [])
    error = shared_daemon.error("ReportReply", **report, used=[{"type": "tool", "name": "read"}])
    assert (error.code, error.data) == ("invalid_params", {"field": "used.server_name"})
