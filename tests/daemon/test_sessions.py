"""Sessions over the socket: what is always in them, their context sets, and what others hear of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, next_event, write_files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write_files(tmp_path / "p", {"AGENTS.md": "Be kind.\n", "src/a.py": "x = 1\n", ".git/HEAD": "x"})
    return root.resolve()


@pytest.fixture
def session(shared_daemon: DaemonProcess, project: Path) -> str:
    """Give a session with the items: the rule AGENTS.md, which came by itself."""
    return str(shared_daemon.call("CreateSession", cwd=str(project))["session_id"])


def names(session: Any) -> list[tuple[str, str]]:
    return [(one["name"], one["include"]) for one in session["items"]]


def put(daemon: DaemonProcess, root: Path, name: str, include: str, **fields: Any) -> Any:
    item = {"type": "rule", "name": name, "include": include, "text": f"Text of {name}.", **fields}
    return daemon.call("PutItem", cwd=str(root), item=item)


# Life


def test_a_new_session_takes_what_is_always_in(shared_daemon: DaemonProcess, project: Path) -> None:
    put(shared_daemon, project, "house", "always")
    put(shared_daemon, project, "other", "manual")
    made = shared_daemon.call(
        "CreateSession", cwd=str(project / "src"), session_id="mine", name="A  name", agent_name="codex"
    )
    assert sorted(names(made)) == [("AGENTS.md", "always"), ("house", "always")]
    assert (made["session_id"], made["name"], made["agent_name"]) == ("mine", "A name", "codex")
    assert (made["project"], made["ended"], made["removed"]) == (str(project), None, [])
    assert shared_daemon.call("GetSession", session_id="mine") == made
    error = shared_daemon.error("CreateSession", cwd=str(project), session_id="mine")
    assert error.code == "invalid_params"
    assert error.data is not None
    assert error.data["field"] == "session_id"
    assert "ResumeSession" in error.data["advice"]


def test_lists_are_of_a_project_or_of_all(
    shared_daemon: DaemonProcess, project: Path, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "q", {".git/HEAD": "x"})
    first = shared_daemon.call("CreateSession", cwd=str(project), name="first")["session_id"]
    second = shared_daemon.call("CreateSession", cwd=str(project))["session_id"]
    third = shared_daemon.call("CreateSession", cwd=str(other))["session_id"]
    shared_daemon.call("UpdateSession", session_id=first, name="again")
    of_project = shared_daemon.call("ListSessions", cwd=str(project))["sessions"]
    assert {one["session_id"] for one in of_project} == {first, second}
    assert {one["name"] for one in of_project} == {"again", ""}
    assert all(one["items"] == 1 for one in of_project)
    everywhere = {one["session_id"] for one in shared_daemon.call("ListSessions")["sessions"]}
    assert everywhere >= {first, second, third}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("GetSession", {}),
        ("ResumeSession", {}),
        ("RemoveSessionItem", {"type": "rule", "name": "x"}),
        ("SetRelevantContext", {"set_name": "ports", "items": ["80"]}),
        ("ListRequests", {}),
        ("ReportReply", {"request_id": "req_0", "reply": "x"}),
    ],
)
def test_an_unknown_session_is_not_found(
    shared_daemon: DaemonProcess, method: str, params: dict[str, Any]
) -> None:
    assert shared_daemon.error(method, session_id="nobody", **params).code == "not_found"
    error = shared_daemon.error(method, **params)
    assert (error.code, error.data) == ("invalid_params", {"field": "session_id"})


# Items


def test_items_are_added_and_removed_by_hand(
    shared_daemon: DaemonProcess, project: Path, session: str
) -> None:
    put(shared_daemon, project, "b", "manual")
    call = shared_daemon.call
    rule = {"session_id": session, "type": "rule"}
    added = call("AddSessionItem", **rule, name="b")
    assert (added["changed"], added["text"]) == (True, "Added the rule b.")
    assert names(added) == [("AGENTS.md", "always"), ("b", "manual")]
    again = call("AddSessionItem", **rule, name="b")
    assert again["changed"] is False
    assert "already" in again["text"]
    assert call("RemoveSessionItem", **rule, name="AGENTS.md")["changed"]
    gone = call("RemoveSessionItem", **rule, name="AGENTS.md")
    assert gone["changed"] is False
    assert "not in the session" in gone["text"]
    call("ResumeSession", session_id=session)
    assert names(call("GetSession", session_id=session)) == [("b", "manual")]
    assert names(call("AddSessionItem", **rule, name="AGENTS.md"))[-1] == ("AGENTS.md", "manual")


def test_what_is_always_in_by_now_comes_with_a_resume(
    shared_daemon: DaemonProcess, project: Path, session: str
) -> None:
    put(shared_daemon, project, "new", "always")
    assert names(shared_daemon.call("GetSession", session_id=session)) == [("AGENTS.md", "always")]
    shared_daemon.call("ResumeSession", session_id=session)
    found = names(shared_daemon.call("GetSession", session_id=session))
    assert found == [("AGENTS.md", "always"), ("new", "always")]


# Context sets


def test_context_sets_are_replaced_merged_and_cleared(shared_daemon: DaemonProcess, session: str) -> None:
    call = shared_daemon.call
    ports = {"session_id": session, "set_name": "ports"}
    assert call("SetRelevantContext", **ports, items=["80", "443", "80"]) == {
        "text": "ports has 2 entries (2 added, 0 removed).",
        "set_name": "ports",
        "items": ["80", "443"],
        "added": ["80", "443"],
        "removed": [],
        "warnings": [],
    }
    merged = call("SetRelevantContext", **ports, items=["8080"], mode="merge")
    assert merged["items"] == ["80", "443", "8080"]
    call("SetRelevantContext", session_id=session, set_name="fles", items=["x"])
    assert call("GetRelevantContext", session_id=session) == {
        "context": {"ports": ["80", "443", "8080"], "fles": ["x"]}
    }
    one = call("GetRelevantContext", session_id=session, set_name="fles")
    assert (one["items"], one["warnings"]) == (["x"], ["fles: did you mean files?"])
    assert call("SetRelevantContext", **ports, items=[])["text"] == "ports was cleared (3 removed)."
    assert call("GetRelevantContext", session_id=session)["context"] == {"fles": ["x"]}


def test_an_update_of_all_at_once(shared_daemon: DaemonProcess, session: str) -> None:
    updated = shared_daemon.call(
        "UpdateSession",
        session_id=session,
        name="n",
        current_intent="i",
        selection={"preset": "aggressive", "tools": "off"},
        context={"ports": ["1"], "notes": ["a"]},
        set_context={"set_name": "applet", "items": ["shop", "page=2"]},
        union_context={"set_name": "ports", "items": ["2"]},
    )
    assert updated["context"] == {"applet": ["shop", "page=2"], "ports": ["1", "2"], "notes": ["a"]}
    assert updated["applet"] == {"slug": "shop", "parameters": {"page": "2"}, "url": ""}
    assert updated["selection"] == {"preset": "aggressive", "tools": "off"}
    assert (updated["name"], updated["current_intent"]) == ("n", "i")
    assert len(updated["warnings"]) == 1


def test_a_resume_tells_what_is_there(shared_daemon: DaemonProcess, project: Path, session: str) -> None:
    files = [str(project / "src/a.py"), "/nowhere/at/all.py"]
    shared_daemon.call("UpdateSession", session_id=session, env_hint="staging", context={"files": files})
    resumed = shared_daemon.call("ResumeSession", session_id=session)
    assert resumed == {
        "session_id": session,
        "text": "Context of this session, as it was left (1 file):\nEnvironment: staging\nRelevant files:\n"
        f"- {files[0]}\n(1 file not found)",
        "context": {"files": files},
        "missing_files": ["/nowhere/at/all.py"],
        "summary": "1 file",
        "applet": None,
    }


def test_others_hear_of_changes(shared_daemon: DaemonProcess, project: Path, session: str) -> None:
    applet = ["shop", "page=2"]
    with shared_daemon.subscribed("context.changed", "context.resumed") as listener:
        call = shared_daemon.call
        call("SetRelevantContext", session_id=session, set_name="ports", items=["80"])
        call("SetRelevantContext", session_id=session, set_name="ports", items=["80"])
        call("UpdateSession", session_id=session, name="no set of it")
        call("UpdateSession", session_id=session, context={"applet": applet, "files": ["/etc/hosts"]})
        call("ResumeSession", session_id=session)
        first = next_event(listener, "context.changed", session_id=session)["data"]
        assert (first["added"], first["removed"], first["applet"]) == ({"ports": ["80"]}, {}, None)
        second = next_event(listener, "context.changed", session_id=session)["data"]
        assert second == {
            "session_id": session,
            "project": str(project),
            "context": {"files": ["/etc/hosts"], "applet": applet},
            "files": ["/etc/hosts"],
            "applet": {"slug": "shop", "parameters": {"page": "2"}},
            "added": {"files": ["/etc/hosts"], "applet": applet},
            "removed": {"ports": ["80"]},
        }
        resumed = next_event(listener, "context.resumed", session_id=session)["data"]
        assert (resumed["files"], resumed["missing_files"]) == (["/etc/hosts"], [])


# Many
