"""`list` says what is registered, `check` what keeps it from working and what to do; neither runs anything."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from foveal.cli.text import local_time

from tests.hook_cases import HOSTS
from tests.hook_install_cases import Machine, text_of, tree

AGENTS = (*HOSTS, "amp", "git")


def checked(machine: Machine, *arguments: str) -> tuple[int, str]:
    before = tree(machine.home)
    code, output, errors = machine.run("check", *arguments)
    assert (errors, tree(machine.home)) == ("", before)
    return code, output


def trust_all(machine: Machine) -> None:
    """Write what Codex notes when a person reviewed the hooks."""
    path = machine.home / ".codex" / "hooks.json"
    lines = []
    for event, groups in json.loads(path.read_text())["hooks"].items():
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")
        lines += [
            f'[hooks.state."{path}:{snake}:{number}:0"]\ntrusted_hash = "sha256:00"\n'
            for number in range(len(groups))
        ]
    config = machine.home / ".codex" / "config.toml"
    config.write_text((config.read_text() if config.exists() else "") + "\n" + "\n".join(lines))


def test_check_without_registration(machine: Machine) -> None:
    assert checked(machine) == (0, "foveal is registered nowhere\n")
    code, output = checked(machine, "cursor")
    assert code == 1
    assert "cursor: not registered\n    run: foveal hooks install cursor" in output


@pytest.mark.parametrize("host", AGENTS)
@pytest.mark.parametrize("level", ["user", "project"])
def test_check_after_install(machine: Machine, host: str, level: str) -> None:
    if (host, level) == ("git", "user"):
        machine.write({".gitconfig": "[core]\n\thooksPath = ~/.githooks\n"})
    machine.does("install", host, f"--{level}", "--yes")
    if host == "codex":
        code, output = checked(machine, host)
        assert code == 1
        assert "Codex silently doesn't run these hooks before you reviewed them: SessionStart" in output
        if level == "project":
            assert "doesn't trust" in output
            return
        trust_all(machine)
    assert checked(machine, host)[0] == 0
    if level == "user":
        assert checked(machine)[0] == 0


def test_list_shows_files_events_and_program(machine: Machine) -> None:
    machine.does("install", "claude-code", "--yes")
    machine.does("install", "cursor", "--project", "--no-mcp", "--yes")
    output = machine.does("list")
    assert "claude-code, user\n  ~/.claude/settings.json: SessionStart, UserPromptSubmit" in output
    assert "~/.claude.json: MCP server" in output
    assert f"  runs {machine.program}\n" in output
    assert "cursor, project\n  ~/work/shop/.cursor/hooks.json: sessionStart" in output
    reply = json.loads(machine.does("list", "--json"))
    found = {(one["host"], one["level"]): one for one in reply["hosts"]}
    assert len(found) == 2 * len(AGENTS)
    assert found["claude-code", "user"]["mcp"]
    assert found["cursor", "project"]["programs"] == ["foveal"]
    assert not found["cursor", "project"]["mcp"]
    assert not found["gemini", "user"]["registered"]


def test_check_reports_a_moved_program(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.does("install", "claude-code", "--yes")
    moved = machine.program.parent.parent / "new" / "foveal"
    moved.parent.mkdir()
    machine.program.rename(moved)
    monkeypatch.setattr("sys.argv", [str(moved)])
    code, output = checked(machine)
    assert code == 1
    assert f"{machine.program} is registered, but there is no such program" in output
    assert "run: foveal hooks install claude-code --user" in output
    machine.does("install", "claude-code", "--yes")
    assert checked(machine)[0] == 0


def test_check_reports_another_program_without_running_it(machine: Machine) -> None:
    ran = machine.home / "ran"
    evil = machine.root / "bin" / "foveal"
    evil.parent.mkdir()
    evil.write_text(f"#!/bin/sh\ntouch {ran}\n")
    evil.chmod(0o755)
    handler = {"type": "command", "command": f"{evil} hook cursor"}
    machine.write({"work/shop/.cursor/hooks.json": text_of({"version": 1, "hooks": {"stop": [handler]}})})
    code, output = checked(machine)
    assert code == 1
    assert "which is another foveal than" in output
    assert not ran.exists()


def test_check_reports_an_older_registration(machine: Machine) -> None:
    machine.does("install", "gemini", "--yes")
    values = machine.read(".gemini/settings.json")
    del values["hooks"]["BeforeAgent"]
    machine.write({".gemini/settings.json": text_of(values)})
    code, output = checked(machine, "gemini")
    assert code == 1
    assert "not registered as this version does it" in output


def test_check_reports_unreadable_settings(machine: Machine) -> None:
    machine.write({".cursor/hooks.json": '{"a"'})
    code, output = checked(machine)
    assert code == 1
    assert "hooks.json, line 1, column 5: a colon" in output


@pytest.mark.parametrize(
    ("host", "path", "value", "problem"),
    [
        ("claude-code", ".claude/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("gemini", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        (
            "gemini",
            ".gemini/settings.json",
            {"hooksConfig": {"disabled": ["foveal"]}},
            "hooksConfig.disabled",
        ),
        ("copilot", ".copilot/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("droid", ".factory/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("qwen-code", ".qwen/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        (
            "claude-code",
            "work/shop/.claude/settings.local.json",
            {"disableAllHooks": True},
            "disableAllHooks",
        ),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", "features.hooks"),
    ],
)
def test_check_reports_disabled_hooks(
    machine: Machine, host: str, path: str, value: Any, problem: str
) -> None:
    machine.write({path: value if isinstance(value, str) else text_of(value)})
    machine.does("install", host, "--project" if path.startswith("work/") else "--user", "--yes")
    code, output = checked(machine)
    assert code == 1
    assert problem in output


def test_check_reports_hooks_disabled_in_codex(machine: Machine) -> None:
    machine.does("install", "codex", "--yes")
    trust_all(machine)
    config = machine.home / ".codex" / "config.toml"
    config.write_text(
        config.read_text().replace(
            'trusted_hash = "sha256:00"', 'enabled = false\ntrusted_hash = "sha256:00"', 1
        )
    )
    code, output = checked(machine)
    assert code == 1
    assert "switched off: SessionStart" in output


def test_control_characters_are_not_printed(machine: Machine) -> None:
    handler = {"type": "command", "command": "'/x\x1b[2J/foveal' hook cursor"}
    machine.write({".cursor/hooks.json": text_of({"version": 1, "hooks": {"st\x1bop": [handler]}})})
    assert "\x1b" not in machine.run("list")[1] + machine.run("check")[1]
    assert "\x1b" not in machine.run("uninstall", "cursor", "--dry-run")[1]


def test_check_says_what_is_known_of_the_host(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, state = machine.home / "programs", machine.home / "state"
    for folder in (programs, state):
        folder.mkdir()
    program = programs / "claude"
    program.write_text("#!/bin/sh\necho '2.1.197 (Claude Code)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("FOVEAL_STATE_DIR", str(state))
    machine.does("install", "claude-code", "--yes")
    _, output = checked(machine, "claude-code")
    assert "  claude-code: version 2.1.197\n    reads by itself: CLAUDE.md" in output
    assert "last event: none yet" in output
    (state / "hook-events.json").write_text('{"claude-code": ["Stop", "2026-11-23T21:00:00+00:00"]}')
    _, output = checked(machine, "claude-code")
    assert f"last event: Stop at {local_time('2026-11-23T21:00:00+00:00')}" in output
    program.write_text("#!/bin/sh\nexit 1\n")
    assert "claude-code: no program of it in PATH" in checked(machine, "claude-code")[1]
    machine.does("install", "git", "--yes")
    assert re.search(r"^  git: version \d+\.\d+", checked(machine, "git")[1], re.MULTILINE)
