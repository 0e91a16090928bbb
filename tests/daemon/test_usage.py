"""What contexts cost and what came of them is counted across restarts, by a real daemon."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess, write_files
from tests.daemon.test_timeline import AUTH, SESSIONS, Host

PROMPT = "How does expire() end a session?"


def usage(daemon: DaemonProcess, by: str, **fields: Any) -> Any:
    return daemon.call("GetUsage", by=by, **fields)


def figures(row: dict[str, Any]) -> tuple[int, int, int, int]:
    return row["turns"], row["places_shown"], row["places_used"], row["sessions"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(
        tmp_path / "long",
        {"pyproject.toml": "", "a.py": "def first():\n" + "    x = 1\n" * 2000, "b.py": "y = 2\n"},
    )


def test_usage_by_each_key_adds_up(shared_daemon: DaemonProcess, shop: Path) -> None:
    daemon, of_it = shared_daemon, {"cwd": str(shop)}
    session = f"keys-{shop.parent.name}"
    daemon.open_ready(shop)
    host = Host(daemon, shop, session)
    host.tell("SessionStart", source="startup")
    host.tell("UserPromptSubmit", prompt_id="p1", prompt=PROMPT)
    host.edit(SESSIONS, "t1")
    other = daemon.call("GetContext", cwd=str(shop), focus_paths=[AUTH])
    daemon.call("GetContext", cwd=str(shop), focus_paths=[AUTH])
    daemon.call("GetContext", cwd=str(shop), focus_paths=["web"], preview=True)
    total = usage(daemon, "day", **of_it)["total"]
    assert figures(total) == (4, 1, 1, 1), "the one that was cached counts, the preview doesn't"
    contexts = daemon.call("ListContexts", session_id=session)["contexts"]
    assert total["tokens"] == 2 * other["tokens"] + sum(one["tokens"] for one in contexts)
    assert total["bytes"] == 2 * other["bytes"] + sum(one["bytes"] for one in contexts)
    for by in ("day", "project", "host", "agent", "session"):
        rows = usage(daemon, by, **of_it)["rows"]
        assert sum(row["tokens"] for row in rows) == total["tokens"]
        assert sum(row["turns"] for row in rows) == 4
        assert sum(row["places_used"] for row in rows) == 1
    [row] = usage(daemon, "project", **of_it)["rows"]
    assert (row["key"], row["name"], row["project"]) == (str(shop), "shop", str(shop))
    hosts = {row["key"]: row for row in usage(daemon, "host", **of_it)["rows"]}
    assert set(hosts) == {"", "claude-code"}
    assert hosts["claude-code"]["name"] == "Claude Code"
    names = {row["key"]: row.get("name") for row in usage(daemon, "session", **of_it)["rows"]}
    assert names == {"": None, session: PROMPT}
    types = {row["key"]: row for row in usage(daemon, "type", **of_it)["rows"]}
    assert figures(types["document"]) == (1, 1, 1, 1)
    assert types["focus"]["turns"] == 2
    assert sum(row["tokens"] for row in types.values()) <= total["tokens"]


def test_usage_in_a_time_and_of_a_project(shared_daemon: DaemonProcess, shop: Path, project: Path) -> None:
    daemon, of_it = shared_daemon, {"cwd": str(project)}
    for root in (shop, project):
        daemon.open_ready(root)
        daemon.call("GetContext", cwd=str(root))
    assert usage(daemon, "project", **of_it)["total"]["turns"] == 1
    assert usage(daemon, "day", until="2020-01-01", **of_it)["rows"] == []
    assert (
        usage(daemon, "day", since="2020-01-01", until="2999-01-01T00:00:00Z", **of_it)["total"]["turns"] == 1
    )
    assert daemon.error("GetUsage", by="day", since="soon").data == {"field": "since"}
    assert daemon.error("GetUsage", by="colour").data == {"field": "by"}


def test_files_that_are_never_used(shared_daemon: DaemonProcess, project: Path) -> None:
    daemon, of_it = shared_daemon, {"cwd": str(project)}
    first, second = f"a-{project.parent.name}", f"b-{project.parent.name}"
    daemon.open_ready(project)
    host = Host(daemon, project, first)
    for number in range(5):
        focus = ["a.py", "b.py"] if number % 2 else ["b.py", "a.py"]
        daemon.call("GetContext", cwd=str(project), session_id=first, focus_paths=focus, prompt=f"x{number}")
        if number < 4:
            host.edit("b.py", f"t{number}")
            assert usage(daemon, "day", **of_it)["never_used"] == [], "it wasn't shown often yet"
    assert usage(daemon, "day", **of_it)["never_used"] == [
        {"path": "a.py", "project": str(project), "shown": 5}
    ]
    unheard = {"cwd": str(project), "session_id": second, "focus_paths": ["b.py"]}
    for number in range(6):
        daemon.call("GetContext", **unheard, prompt=f"y{number}")
    [row] = [row for row in usage(daemon, "session", **of_it)["rows"] if row["key"] == second]
    assert figures(row) == (6, 0, 0, 1), "nothing tells what its agent does"
    (project / "foveal.toml").write_text('[agents.intern]\ndeny_paths = ["a.py"]\n')
    for more in ({}, of_it):
        assert daemon.error("GetUsage", by="day", agent_name="intern", **more).code == "permission_denied"
    assert usage(daemon, "day", agent_name="lead", **of_it)["never_used"] != []


def test_what_an_agent_read_by_itself_beside_what_it_was_given(
    shared_daemon: DaemonProcess, project: Path, tmp_path: Path
) -> None:
    daemon, of_it = shared_daemon, {"cwd": str(project)}
    daemon.open_ready(project)
    transcript = tmp_path / "t.jsonl"

    def turn(session_id: str, *tools: tuple[str, str], says: str = "") -> int:
        """Show a part of a.py, let an agent use or name it, and read its transcript; returns the tokens."""
        host = Host(daemon, project, session_id)
        context = daemon.call(
            "GetContext", cwd=str(project), session_id=session_id, focus_paths=["a.py"], max_tokens=2500
        )
        blocks = [
            {
                "type": "tool_use",
                "id": f"{name} {path}",
                "name": name,
                "input": {"file_path": str(project / path)},
            }
            for name, path in tools
        ] + [{"type": "text", "text": says}] * bool(says)
        records: list[dict[str, Any]] = [{"type": "assistant", "message": {"id": "m", "content": blocks}}]
        records += [
            {
                "type": "user",
                "message": {"content": [{"type": "tool_result", "tool_use_id": f"{name} {path}"}]},
            }
            for name, path in tools
        ]
        more = {"sessionId": session_id, "cwd": str(project), "timestamp": "2099-01-01T00:00:00Z"}
        lines = [json.dumps({**record, **more, "uuid": f"u{n}"}) for n, record in enumerate(records)]
        transcript.write_text("\n".join(lines) + "\n")
        told = {"transcript_path": str(transcript), "session_id": session_id}
        daemon.call("GraftExperience", cwd=str(project), **told)
        assert host.used(context["context_id"])
        return int(context["tokens"])

    def afterwards(**more: str) -> tuple[int, ...]:
        found = usage(daemon, "day", **of_it, **more)["afterwards"]
        return tuple(found[name] for name in ("sessions", "files_given", "read_again", "read_elsewhere"))

    daemon.call("GetContext", cwd=str(project), session_id="silent", focus_paths=["a.py"])
    assert afterwards() == (0, 0, 0, 0), "nothing tells what its agent does"
    tokens = turn("namer", says="It is `a.py` that does this.")
    tokens += turn("editor", ("Edit", "a.py"))
    assert afterwards() == (2, 2, 0, 0)
    tokens += turn("reader", ("Read", "a.py"), ("Read", "b.py"), ("Edit", "a.py"))
    assert afterwards() == (3, 3, 1, 1)
    found = usage(daemon, "session", **of_it)
    assert found["afterwards"]["tokens"] == tokens
    assert found["saved"]["characters"] == 0, "nobody knows what would have been read"
    [row] = [row for row in found["rows"] if row["key"] == "reader"]
    assert figures(row) == (1, 1, 1, 1)
    assert afterwards(until="2020-01-01") == (0, 0, 0, 0)
    later = datetime.now(UTC).isoformat()
    daemon.call("GetContext", cwd=str(project), session_id="reader", focus_paths=["b.py"])
    assert afterwards(since=later)[::3] == (1, 0), "what was read before isn't of this time"
