"""Sessions are made, seen, changed and resumed from the command line, over a real daemon."""

from __future__ import annotations

from typing import Any

import click
import pytest
from foveal.cli.sessions import describe, parse_selection

from tests.command_cases import CommandLine

SESSION: dict[str, Any] = {
    "session_id": "s-1",
    "project": "/p/shop",
    "name": "",
    "agent_name": "",
    "created": "2026-01-31T12:00:00.000Z",
    "last_observed": None,
    "last_idle": None,
    "ended": None,
    "current_intent": "",
    "env_hint": "",
    "context": {},
    "items": [],
    "removed": [],
    "selection": {},
}


def test_a_session_from_its_beginning_to_its_end(foveal: CommandLine) -> None:
    assert foveal.says("sessions", "list") == "no sessions\n"
    session = foveal.says("sessions", "create", "--name", "bug 7", "--agent", "claude").strip()
    row = foveal.says("sessions", "list").splitlines()[1]
    assert row.startswith(f"{session}  bug 7  claude  20")
    assert row.split()[-2:] == ["1", "0"]
    assert str(foveal.folder) in foveal.says("sessions", "list", "--all")

    code, output, errors = foveal("sessions", "resume", session)
    assert (code, output) == (0, "")
    assert errors.startswith("note: nothing to resume with: ")
    shown = foveal.says("sessions", "set", session, "--intent", "fix it", "--env", "py 3.12")
    assert "intent:        fix it\nenvironment:   py 3.12\nitems: 1\n  always  rule CLAUDE.md\n" in shown
    assert foveal.says("sessions", "show", session) == shown
    assert foveal.says("sessions", "resume", session) == (
        "Context of this session, as it was left:\nIntent: fix it\nEnvironment: py 3.12\n"
    )
    assert foveal.json("sessions", "set", session, "--intent", "")["current_intent"] == ""
    assert foveal.says("sessions", "end", session) == f"ended: {session}\n"
    assert "(ended)" in foveal.says("sessions", "list")
    assert foveal.json("sessions", "show", session)["ended"]


def test_items_go_in_and_out(foveal: CommandLine) -> None:
    foveal.says("items", "put", "rule", "sql", "--include", "manual", "--text", "Bind values.")
    session = foveal.json("sessions", "create")["session_id"]
    add, remove = ("sessions", "add", session), ("sessions", "remove", session)
    assert foveal.says(*add, "rule", "sql") == "Added the rule sql.\n"
    assert (
        foveal.says(*add, "rule", "sql") == "The rule sql is in the session already; nothing was changed.\n"
    )
    assert foveal.json(*remove, "rule", "CLAUDE.md")["changed"] is True
    assert foveal.says("sessions", "show", session).endswith(
        "items: 1\n  manual  rule sql\nremoved by hand:\n  rule CLAUDE.md\n"
    )
    assert foveal.fails(*add, "rule", "nope").endswith("hint: foveal sessions list, foveal items list\n")
    assert "a tool is named with its server" in foveal.fails(*add, "tool", "search", code=2)


def test_context_sets(foveal: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    session = foveal.json("sessions", "create")["session_id"]
    sets = ("sessions", "context", session)
    assert foveal.says(*sets) == "no context sets\n"
    assert foveal.says(*sets, "ports") == "ports is empty\n"
    assert (
        foveal.says(*sets, "files", "CLAUDE.md", "gone.py") == "files has 2 entries (2 added, 0 removed).\n"
    )
    monkeypatch.chdir(foveal.folder / "web")
    foveal.says(*sets, "files", "app.ts", "--merge")
    assert foveal.json(*sets, "files")["items"] == [
        f"{foveal.folder}/{name}" for name in ("CLAUDE.md", "gone.py", "web/app.ts")
    ]
    assert "fles: did you mean files?" in foveal.says(*sets, "fles", "x")
    foveal.says(*sets, "applet", "cart", "id=1")
    assert foveal.says(*sets).splitlines()[-5:] == ["applet:", "  cart", "  id=1", "fles:", "  x"]
    code, output, errors = foveal("sessions", "resume", session)
    assert (code, errors) == (0, f"note: not found: {foveal.folder}/gone.py\n")
    assert "(1 file not found)\nLast applet: cart (id=1)\n" in output
    assert foveal.says(*sets, "files", "--clear") == "files was cleared (3 removed).\n"
    code, output, errors = foveal(*sets, "fles")
    assert (code, output, errors) == (0, "fles:\n  x\n", "warning: fles: did you mean files?\n")
    assert "ports takes numbers from 1 to 65535" in foveal.fails(*sets, "ports", "http")
    for wrong in (("--clear",), ("files", "x", "--clear"), ("files", "--merge")):
        assert foveal.fails(*sets, *wrong, code=2).startswith("error: --")


def test_selections(foveal: CommandLine) -> None:
    assert parse_selection("aggressive") == "aggressive"
    assert parse_selection("") == {}
    assert parse_selection('{"tools": "off"}') == {"tools": "off"}
    for wrong in ("agressive", "[1]", "{", '"off"', "[" * 100_000):
        with pytest.raises(click.BadParameter, match="aggressive, normal, conservative, off"):
            parse_selection(wrong)
    session = foveal.json("sessions", "create", "--selection", "off")["session_id"]
    assert 'selection:     {"preset": "off"}\n' in foveal.says("sessions", "show", session)
    assert foveal.json("sessions", "set", session, "--selection", "")["selection"] == {}


def test_a_session_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    session = {
        **SESSION,
        "name": "a\x1b[2J",
        "current_intent": "one\ntwo",
        "items": [{"type": "tool", "name": "search", "server_name": "git\x1bhub", "include": "manual"}],
        "context": {"fi\x07les": ["/a\x1b"]},
    }
    lines = list(describe(session))
    assert lines[:3] == ["s-1", "project:       /p/shop", "name:          a\\x1b[2J"]
    assert lines[5:] == [
        "intent:        one\n               two",
        "items: 1",
        "  manual  tool search of git\\x1bhub",
        "fi\\x07les:",
        "  /a\\x1b",
    ]
    assert "items: none" in list(describe(SESSION))
