"""Requests are listed, shown as they were sent and exported from the command line, over a real daemon."""

from __future__ import annotations

import json
from typing import Any

import pytest
from foveal.cli.requests import describe

from tests.command_cases import CommandLine
from tests.conftest import write_files

REQUEST: dict[str, Any] = {
    "request_id": "req_1",
    "at": "2026-01-31T12:00:00.000Z",
    "tokens": 1234,
    "bytes": 4936,
    "elapsed_ms": 2.25,
    "items": [],
    "considered": [],
    "slices": [],
    "steps_ms": {},
    "degraded": [],
    "referred": None,
    "problem": "",
}


def ask(foveal: CommandLine, session: str, prompt: str) -> dict[str, Any]:
    reply = foveal.json("context", prompt, "--session", session, "--focus", "web/money.ts")
    assert isinstance(reply, dict)
    return reply


def test_what_was_sent_is_shown_as_it_was(foveal: CommandLine) -> None:
    session = foveal.says("sessions", "create").strip()
    assert foveal.says("requests", "list", session) == "no requests\n"
    reply = ask(foveal, session, "add up prices")
    request = reply["request_id"]
    write_files(foveal.folder, {"web/money.ts": "// other\n", "CLAUDE.md": "other\n"})
    header, row = foveal.says("requests", "list", session).splitlines()
    assert header.split() == ["REQUEST", "AT", "ITEMS", "REFERRED", "TOKENS", "MS", "REMARK"]
    assert row.startswith(request)
    show = ("requests", "show", session, request)
    assert foveal.says(*show, "--sent") == reply["context"]
    messages = json.loads(foveal.says(*show, "--messages"))
    assert messages["messages"][-1] == {"role": "user", "content": "add up prices"}
    shown = foveal.says(*show)
    assert shown.startswith(f"{request}\n20")
    assert "\nrules:\n  always    300        CLAUDE.md\n" in shown
    assert "tokens  focus        web/money.ts\n" in shown
    assert foveal.json(*show)["context"] == reply["context"]


def test_requests_are_exported_the_first_first(foveal: CommandLine) -> None:
    sessions = [foveal.says("sessions", "create").strip() for _ in range(2)]
    asked = [ask(foveal, session, prompt)["request_id"] for session in sessions for prompt in ("one", "two")]
    lines = [json.loads(line) for line in foveal.says("requests", "export").splitlines()]
    assert [line["request_id"] for line in lines] == asked
    assert "context" not in lines[0]
    [first, second] = foveal.says("requests", "export", sessions[1], "--content").splitlines()
    assert json.loads(first)["request_id"] == asked[2]
    assert json.loads(second)["messages"][-1]["content"] == "two"
    code, output, errors = foveal("requests", "list", sessions[0], "--limit", "1")
    assert (code, len(output.splitlines())) == (0, 2)
    assert errors == "note: only the latest 1; --limit shows more\n"
    assert len(foveal.says("requests", "list", sessions[0], "--limit", "2").splitlines()) == 3
    assert len(foveal.json("requests", "list", sessions[0], "--limit", "1")["requests"]) == 1
    assert foveal("contexts", "--limit", "3")[2] == "note: only the latest 3; --limit shows more\n"
    assert len(foveal("contexts", "--limit", "3")[1].splitlines()) == 4
    assert foveal.says("requests", "export", "--since", "2100-01-01") == ""
    assert len(foveal.says("requests", "export", "--before", "2100-01-01").splitlines()) == 4
    assert "2026-01-31" in foveal.fails("requests", "export", "--since", "soon", code=2)


def test_a_request_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    request = {
        **REQUEST,
        "items": [
            {
                "type": "rule",
                "name": "a\x1b",
                "include_mode": "agent",
                "similarity_score": 0.625,
                "priority_level": 500,
            },
            {"type": "rule", "name": "zed", "include_mode": "always", "priority_level": 1},
            {"type": "tool", "name": "get", "server_name": "x", "include_mode": "manual"},
        ],
        "considered": [
            {"type": "rule", "name": "b", "similarity_score": 0.2, "reason": "floor", "priority_level": 100}
        ],
        "slices": [
            {
                "id": "f",
                "type": "document",
                "layer": "focus",
                "tokens": 1200,
                "compressed": True,
                "path": "a.py",
            },
            {"id": "map", "type": "skeleton", "layer": "horizon", "tokens": 34, "compressed": False},
        ],
        "steps_ms": {"search": 1.5},
        "degraded": ["no model"],
        "referred": [{"type": "tool", "name": "get", "server_name": "x"}],
    }
    head, about, *lines = describe(request, {("tool", "get", "x"): "Get a thing"})
    assert head == "req_1"
    assert about.endswith(", 1,234 tokens, 4.9 kB, 2.2 ms")
    assert lines == [
        "rules:",
        "  always    001        zed",
        "  agent     500  0.62  a\\x1b",
        "tools:",
        "  manual               get of x  (the reply referred to it)  Get a thing",
        "considered and left out:",
        "  floor     100  0.20  rule b",
        "slices:",
        "  focus    1,200 tokens  document     a.py (shortened)",
        "  horizon     34 tokens  skeleton     map",
        "degraded:",
        "  no model",
        "time:",
        "        1.5 ms  search",
    ]
    assert len(list(describe(REQUEST, {}))) == 2


def test_without_ids_it_is_the_last_one(foveal: CommandLine) -> None:
    nothing = foveal.fails("requests", "show")
    assert nothing.startswith("error: no session of this project has a request yet\nhint: foveal last ")
    sessions = [foveal.says("sessions", "create").strip() for _ in range(2)]
    assert "has no request yet" in foveal.fails("requests", "show", sessions[0])
    first, second = (ask(foveal, session, "one") for session in sessions)
    assert foveal.says("requests", "show", "--sent") == second["context"]
    assert foveal.json("requests", "show", sessions[0])["request_id"] == first["request_id"]
    assert second["request_id"] in foveal.says("requests", "list")
    assert [request["request_id"] for request in foveal.json("requests", "export")["requests"]] == [
        first["request_id"], second["request_id"],
    ]  # fmt: skip
