"""Servers run only after a person saw what would run and said yes; then their tools are listed and set."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from foveal.cli.tools import OWN, describe_files, review

from tests.command_cases import CommandLine, Terminal
from tests.conftest import DaemonProcess, git, write_files
from tests.server_cases import RAW_SERVER

SERVER: dict[str, Any] = {
    "name": "notes",
    "line": 3,
    "transport": "stdio",
    "runs": "npx -y notes a b",
    "command": "npx",
    "arguments": ["-y", "notes", "a b"],
    "folder": "/p",
    "environment": ["TOKEN"],
    "headers": [],
    "variables": ["MY_TOKEN", "PROXY"],
    "left_out": "",
    "listed_at": "2026-01-31T12:00:00Z",
    "problem": "",
    "tools": [],
    "tools_left_out": 0,
}
FILE: dict[str, Any] = {
    "path": "/p/.mcp.json",
    "section": "mcpServers",
    "host": "claude-code",
    "scope": "project",
    "digest": "ab" * 32,
    "approved": True,
    "problem": "",
    "servers": [SERVER],
}


@pytest.fixture
def foveal(
    shared_daemon: DaemonProcess,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    ran = tmp_path / "ran"
    note = f"open({str(ran)!r}, 'w').close()\n"
    servers = {
        "notes": {"command": sys.executable, "args": ["raw.py", "pages"], "env": {"KEY": "${FOVEAL_NO_SUCH}"}}
    }
    root = write_files(
        tmp_path / "shop",
        {"raw.py": note + RAW_SERVER, ".mcp.json": json.dumps({"mcpServers": servers}, indent=1)},
    )
    git(root, "init", "-q")
    return CommandLine(shared_daemon, root, monkeypatch, capsys)


def has_run(foveal: CommandLine) -> bool:
    return (foveal.folder.parent / "ran").exists()


def without_variable(foveal: CommandLine) -> None:
    """Configure the server so that it needs no variable."""
    text = (foveal.folder / ".mcp.json").read_text()
    write_files(foveal.folder, {".mcp.json": text.replace("${FOVEAL_NO_SUCH}", "x")})


def test_nothing_runs_before_a_person_said_yes(foveal: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    code, output, errors = foveal("tools", "list")
    assert code == 0
    assert output.splitlines() == [
        f"{foveal.folder}/.mcp.json (claude-code, for everyone in this project): not approved",
        f"  notes: {sys.executable} raw.py pages",
    ]
    assert errors == "note: 1 file isn't approved: foveal tools approve shows what it runs\n"
    refused = "error: can't prompt: stdin is not a terminal; pass a PATH and --yes\nhint: foveal tools list\n"
    assert foveal.fails("tools", "approve") == refused
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    code, output, errors = foveal("tools", "approve", ".mcp.json")
    assert code == 1
    assert f"{sys.executable} raw.py pages\n" in output
    assert "    reads:       FOVEAL_NO_SUCH\n" in output
    [file] = foveal.json("tools", "list")["files"]
    assert f"mcpServers, sha256 {file['digest']}\n" in output
    assert "Let foveal run this to list the tools? [y/N]: " in errors
    assert errors.endswith(f"note: not approved: {foveal.folder}/.mcp.json\n")
    assert not file["approved"]
    assert not has_run(foveal)


def test_approved_servers_are_listed_and_their_modes_set(
    foveal: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_variable(foveal)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    code, output, _ = foveal("tools", "approve")
    assert code == 0
    assert output.endswith("\nnotes: 3 tools\n")
    assert has_run(foveal)
    assert foveal.says("tools", "approve") == "all files are approved\n"
    assert foveal.says("tools", "mode", "notes", "agent") == "agent   page0\nagent   page1\nagent   page2\n"
    assert foveal.says("tools", "mode", "notes", "manual", "--tool", "page1") == "manual  page1\n"
    code, _, errors = foveal("tools", "mode", "notes", "manual", "--tool", "page1")
    assert (code, errors) == (0, "note: the mode was set already\n")
    assert foveal.says("tools", "list").splitlines()[1:] == [
        "  notes: 3 tools", "    page0  agent", "    page1  manual", "    page2  agent",
    ]  # fmt: skip
    assert foveal.json("tools", "mode", "notes", "default", "--tool", "page1")["changed"] is True
    assert "Did you mean 'page1'?" in foveal.fails("tools", "mode", "notes", "agent", "--tool", "page11")
    assert foveal.fails("tools", "mode", "nots", "agent").endswith("hint: foveal tools list\n")
    assert foveal.says("tools", "revoke", ".mcp.json") == f"revoked: {foveal.folder}/.mcp.json\n"
    assert foveal.json("items", "list", "--type", "tool")["items"] == []
    assert foveal.fails("tools", "revoke", ".mcp.json").endswith("See: foveal tools list\n")


def test_what_changed_since_is_not_approved(foveal: CommandLine) -> None:
    approved = foveal.json("tools", "approve", ".mcp.json", "--yes")["approved"]
    assert [one["path"] for one in approved] == [f"{foveal.folder}/.mcp.json"]
    _, output, errors = foveal("tools", "list")
    assert "  notes: it could not be listed: the variable FOVEAL_NO_SUCH isn't set for the daemon" in output
    assert errors == "note: to try again, run: foveal tools list --again\n"
    without_variable(foveal)
    assert not foveal.json("tools", "list")["files"][0]["approved"]
    assert not has_run(foveal)


def test_what_can_not_be_approved(foveal: CommandLine, tmp_path: Path) -> None:
    assert "--yes needs a PATH" in foveal.fails("tools", "approve", "--yes", code=2)
    assert "because it can't ask" in foveal.fails("tools", "approve", "--json", code=2)
    wrong = foveal.fails("tools", "approve", "other.json", "--yes")
    assert wrong == "error: other.json configures no servers for this project\nhint: foveal tools list\n"
    write_files(foveal.folder, {".mcp.json": "{"})
    code, _, errors = foveal("tools", "approve", ".mcp.json", "--yes")
    assert code == 1
    assert errors.startswith(
        f"warning: this file can't be approved: {foveal.folder}/.mcp.json can't be understood"
    )
    (foveal.folder / ".mcp.json").unlink()
    assert foveal.says("tools", "list") == "no servers are configured\n"
    assert foveal.says("tools", "approve") == "no servers are configured\n"


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("HOME", "/home/me")


@pytest.mark.usefixtures("plain")
def test_a_review_shows_all_that_would_run() -> None:
    remote = {**SERVER, "transport": "http", "runs": "https://x.org/mcp", "headers": ["Authorization"]}
    remote |= {"environment": [], "variables": [], "left_out": "it is disabled there"}
    assert list(review({**FILE, "problem": "one is left out.", "servers": [SERVER, remote]})) == [
        "/p/.mcp.json (claude-code, for everyone in this project)",
        f"mcpServers, sha256 {'ab' * 32}",
        "! one is left out.",
        "",
        "  notes (line 3)",
        "    runs:        npx -y notes 'a b'",
        "    in folder:   /p",
        "    sets:        TOKEN",
        "    reads:       MY_TOKEN, PROXY",
        "",
        "  notes (line 3)",
        "    connects to: https://x.org/mcp (http)",
        "    headers:     Authorization",
        "    state:       it is disabled there",
    ]


@pytest.mark.usefixtures("plain")
def test_nothing_hides_in_a_review() -> None:
    hostile = {
        **SERVER,
        "name": "a\x1b[2J",
        "command": "n\u200bpx",
        "arguments": ["\u202egpj.x", "x" * 5000, "\n"],
        "environment": ["A\u00ad"],
    }
    text = "\n".join(review({**FILE, "section": "\x1b", "servers": [hostile]}))
    assert not {"\x1b", "\u200b", "\u202e", "\u00ad"}.intersection(text)
    for shown in ("a\\x1b[2J", "n\\u200bpx", "\\u202egpj.x", "x" * 5000, "'\\n'", "A\\xad"):
        assert shown in text


@pytest.mark.usefixtures("plain")
def test_files_with_their_tools() -> None:
    tools = [{"name": "get", "description": "Get\n one"}, {"name": "search", "description": "d" * 100}]
    file = {**FILE, "path": "/home/me/x", "scope": "user", "servers": [{**SERVER, "tools": tools}]}
    assert list(describe_files([file], {("notes", "get"): "always"})) == [
        "~/x (claude-code, for you in all projects): approved",
        "  notes: 2 tools",
        "    get     always  Get one",
        "    search          " + "d" * 69 + "…",
    ]
    own = {**FILE, "approved": False, "servers": [{**SERVER, "left_out": OWN}]}
    assert next(iter(describe_files([own], {}))).endswith(": only foveal itself")
    assert list(describe_files([{**FILE, "approved": False, "problem": "odd\x1b."}], {}))[1:] == [
        "  ! odd\\x1b.",
        "  notes: npx -y notes a b",
    ]
