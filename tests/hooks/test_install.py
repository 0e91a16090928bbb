"""Installing registers exactly what each host accepts beside what others registered; uninstalling gives all back."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.hook_cases import HOSTS
from tests.hook_install_cases import (
    CLAUDE_LIKE,
    FLAT,
    FORMS,
    OTHERS_COMMAND,
    SERVERS,
    TOML,
    Machine,
    text_of,
    tree,
)

COMMON = "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PreCompact SubagentStart SubagentStop Stop"
EVENTS: Mapping[str, tuple[str, frozenset[str]]] = {
    "claude-code": (COMMON, frozenset({"type", "command", "args", "timeout", "async"})),
    "codex": (COMMON, frozenset({"type", "command", "timeout", "async"})),
    "cursor": (
        (
            "sessionStart sessionEnd beforeSubmitPrompt preToolUse subagentStart subagentStop afterFileEdit"
            " postToolUse preCompact stop"
        ),
        frozenset({"type", "command", "timeout", "matcher"}),
    ),
    "gemini": (
        "SessionStart SessionEnd BeforeAgent AfterAgent AfterTool PreCompress",
        frozenset({"type", "command", "timeout", "name"}),
    ),
    "copilot": (
        "sessionStart sessionEnd userPromptSubmitted postToolUse agentStop subagentStart subagentStop preCompact",
        frozenset({"type", "bash", "timeoutSec"}),
    ),
    "droid": (
        "SessionStart UserPromptSubmit PostToolUse SubagentStop PreCompact Stop SessionEnd",
        frozenset({"type", "command", "timeout"}),
    ),
    "qwen-code": (
        "SessionStart UserPromptSubmit PostToolUse SubagentStop PreCompact Stop SessionEnd",
        frozenset({"type", "command", "timeout", "name", "async"}),
    ),
}
"""For each host the events that it documents and we ask for, and the keys of a handler that it knows."""

FILES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "claude-code": {
        "user": {".claude/settings.json": CLAUDE_LIKE, ".claude.json": SERVERS},
        "project": {"work/shop/.claude/settings.json": CLAUDE_LIKE, "work/shop/.mcp.json": SERVERS},
    },
    "codex": {
        "user": {".codex/hooks.json": {"hooks": CLAUDE_LIKE["hooks"]}, ".codex/config.toml": TOML},
        "project": {
            "work/shop/.codex/hooks.json": {"hooks": CLAUDE_LIKE["hooks"]},
            "work/shop/.codex/config.toml": TOML,
        },
    },
    "cursor": {
        "user": {".cursor/hooks.json": FLAT, ".cursor/mcp.json": SERVERS},
        "project": {"work/shop/.cursor/hooks.json": FLAT, "work/shop/.cursor/mcp.json": SERVERS},
    },
    "gemini": {
        "user": {".gemini/settings.json": {**CLAUDE_LIKE, **SERVERS}},
        "project": {"work/shop/.gemini/settings.json": {**CLAUDE_LIKE, **SERVERS}},
    },
    "kiro": {
        "user": {".kiro/settings/mcp.json": SERVERS},
        "project": {"work/shop/.kiro/settings/mcp.json": SERVERS},
    },
    "amp": {
        "user": {".config/amp/settings.json": {"amp.mcpServers": {"others": {"url": "https://x"}}}},
        "project": {"work/shop/.amp/settings.json": {"amp.url": "https://x"}},
    },
    "antigravity": {
        "user": {
            ".gemini/config/hooks.json": {
                "others": {"Stop": [{"type": "command", "command": OTHERS_COMMAND}]}
            },
            ".gemini/config/mcp_config.json": SERVERS,
        },
        "project": {"work/shop/.agents/mcp_config.json": SERVERS},
    },
    "droid": {
        "user": {".factory/settings.json": CLAUDE_LIKE, ".factory/mcp.json": SERVERS},
        "project": {"work/shop/.factory/settings.json": CLAUDE_LIKE, "work/shop/.factory/mcp.json": SERVERS},
    },
    "qwen-code": {
        "user": {".qwen/settings.json": {**CLAUDE_LIKE, **SERVERS}},
        "project": {"work/shop/.qwen/settings.json": {**CLAUDE_LIKE, **SERVERS}},
    },
    "cline": {
        "user": {
            "Documents/Cline/Hooks/PreToolUse": "#!/bin/sh\n",
            ".cline/data/settings/cline_mcp_settings.json": SERVERS,
        },
        "project": {"work/shop/.clinerules/hooks/PreToolUse": "#!/bin/sh\n"},
    },
    "copilot": {
        "user": {".copilot/hooks/foveal.json": FLAT, ".copilot/mcp-config.json": SERVERS},
        "project": {"work/shop/.github/hooks/foveal.json": FLAT},
    },
    "opencode": {
        "user": {
            ".config/opencode/opencode.json": {"mcp": {"others": {"type": "remote", "url": "https://x"}}}
        },
        "project": {"work/shop/opencode.jsonc": {"mcp": {"others": {"type": "remote", "url": "https://x"}}}},
    },
}

CASES = [(host, level) for host in (*HOSTS, "amp") for level in ("user", "project")]


def settings_of(host: str, level: str, form: str) -> dict[str, str]:
    return {
        path: value if isinstance(value, str) else FORMS[form](value)
        for path, value in FILES[host][level].items()
    }


def handlers(values: Any) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Return (event, matcher, handler) for all handlers of a file in either layout."""
    found: list[tuple[str, str | None, dict[str, Any]]] = []
    for event, entries in values.get("hooks", {}).items():
        for entry in entries:
            if "hooks" in entry:
                found += [(event, entry.get("matcher"), handler) for handler in entry["hooks"]]
            else:
                found.append((event, None, entry))
    return found


def is_ours(handler: Mapping[str, Any]) -> bool:
    return "foveal" in json.dumps(handler)


@pytest.mark.parametrize(
    ("host", "level", "form"),
    [
        *((host, level, list(FORMS)[number % len(FORMS)]) for number, (host, level) in enumerate(CASES)),
        *(("gemini", "user", form) for form in FORMS),
    ],
)
def test_uninstall_restores_every_byte(machine: Machine, host: str, level: str, form: str) -> None:
    for files in ({}, settings_of(host, level, form)):
        machine.write(files)
        before = tree(machine.home)
        machine.does("install", host, f"--{level}", "--yes")
        installed = tree(machine.home)
        assert installed != before
        assert "nothing to do" in machine.does("install", host, f"--{level}", "--yes")
        assert tree(machine.home) == installed
        machine.does("uninstall", host, f"--{level}", "--yes")
        assert tree(machine.home) == before
        assert "nothing to do" in machine.does("uninstall", host, f"--{level}", "--yes")


def test_scripts_of_others_stay_and_the_rest_is_installed(machine: Machine) -> None:
    theirs = "Documents/Cline/Hooks/PostToolUse"
    machine.write({theirs: ""})
    (machine.home / theirs).write_bytes(b"\x7fELF\xff")
    before = tree(machine.home)
    for _ in range(2):
        code, said, remarks = machine.run("install", "cline", "--yes")
        assert code == 0
        assert f"{theirs} isn't foveal's, so it stays" in remarks
    assert "nothing to do" in said
    assert "TaskStart" in " ".join(path.name for path in (machine.home / theirs).parent.iterdir())
    assert "foveal" in (machine.home / ".cline/data/settings/cline_mcp_settings.json").read_text()
    machine.does("uninstall", "cline", "--yes")
    assert tree(machine.home) == before


def test_rules_in_place_of_the_folder_for_hooks_stay(machine: Machine) -> None:
    machine.write({"work/shop/.clinerules": "Use tabs.\n"})
    said = machine.refuses("install", "cline", "--project", "--yes")
    assert "is a file" in said
    assert "use --user" in said
    assert "move" not in said


@pytest.mark.parametrize("text", ["", "{ }", '{"hooks": {"Stop": [ // x\n ]}}'])
def test_uninstall_restores_empty_files(machine: Machine, text: str) -> None:
    machine.write({".claude/settings.json": text, ".claude.json": text, ".gemini/settings.json": text})
    before = tree(machine.home)
    for host in ("claude-code", "gemini"):
        machine.does("install", host, "--yes")
    for host in ("claude-code", "gemini"):
        machine.does("uninstall", host, "--yes")
    assert tree(machine.home) == before


@pytest.mark.parametrize(("host", "level"), [case for case in CASES if case[0] in EVENTS])
def test_install_registers_events_beside_those_of_others(machine: Machine, host: str, level: str) -> None:
    files = settings_of(host, level, "plain")
    machine.write(files)
    path = next(iter(files))
    before = handlers(json.loads(files[path]))
    machine.does("install", host, f"--{level}", "--yes")
    values = machine.read(path)
    found = handlers(values)
    ours = [one for one in found if is_ours(one[2])]
    assert [one for one in found if not is_ours(one[2])] == before
    events, keys = EVENTS[host]
    assert sorted(event for event, _, _ in ours) == sorted(events.split())
    program = "foveal" if level == "project" else str(machine.program)
    for event, matcher, handler in ours:
        assert set(handler) <= keys
        assert handler["type"] == "command"
        line = handler.get("bash") or shlex.join([handler["command"], *handler.get("args", [])])
        if "args" not in handler and "bash" not in handler:
            line = handler["command"]
        assert shlex.split(line) == [program, "hook", host, *([event] if host == "copilot" else [])]
        limit = handler.get("timeout", handler.get("timeoutSec", 1))
        assert isinstance(limit, int)
        assert 1 <= limit <= (5000 if host in {"gemini", "qwen-code"} else 5)
        if host in {"cursor", "copilot"}:
            assert matcher is None
        if event.casefold() == "sessionend":
            seconds = limit / 1000 if host in {"gemini", "qwen-code"} else limit
            assert seconds == (3 if host == "codex" else 5), "hosts end a hook early without a limit"
    if host in {"cursor", "copilot"}:
        assert values["version"] == 1
    for event in values["hooks"]:
        ranks = [is_ours(handler) for name, _, handler in found if name == event]
        assert ranks == sorted(ranks), "those of others keep their positions"


@pytest.mark.parametrize(
    ("host", "path", "place", "entry"),
    [
        ("cursor", ".cursor/mcp.json", ("mcpServers", "foveal"), {"command": "P", "args": ["mcp"]}),
        ("gemini", ".gemini/settings.json", ("mcpServers", "foveal"), {"command": "P", "args": ["mcp"]}),
        ("qwen-code", ".qwen/settings.json", ("mcpServers", "foveal"), {"command": "P", "args": ["mcp"]}),
        ("copilot", ".copilot/mcp-config.json", ("mcpServers", "foveal"), {"type": "local", "command": "P", "args": ["mcp"], "tools": ["*"]}),
        ("opencode", ".config/opencode/opencode.json", ("mcp", "foveal"), {"type": "local", "command": ["P", "mcp"], "enabled": True}),
        ("antigravity", ".gemini/config/mcp_config.json", ("mcpServers", "foveal"), {"command": "P", "args": ["mcp"]}),
        ("kiro", ".kiro/settings/mcp.json", ("mcpServers", "foveal"), {"command": "P", "args": ["mcp"]}),
        ("amp", ".config/amp/settings.json", ("amp.mcpServers", "foveal"), {"command": "P", "args": ["mcp"]}),
        ("droid", ".factory/mcp.json", ("mcpServers", "foveal"), {"type": "stdio", "command": "P", "args": ["mcp"]}),
        ("cline", ".cline/data/settings/cline_mcp_settings.json", ("mcpServers", "foveal"), {"command": "P", "args": ["mcp"], "disabled": False}),
        ("codex", ".codex/config.toml", ("mcp_servers", "foveal"), {"command": "P", "args": ["mcp"]}),
    ],
)  # fmt: skip
def test_install_registers_the_mcp_server(
    machine: Machine, host: str, path: str, place: tuple[str, str], entry: dict[str, Any]
) -> None:
    machine.does("install", host, "--yes")
    text = (machine.home / path).read_text()
    values = tomllib.loads(text) if path.endswith("toml") else json.loads(text)
    assert values[place[0]][place[1]] == json.loads(
        json.dumps(entry).replace('"P"', json.dumps(str(machine.program)))
    )
    machine.does("uninstall", host, "--yes")
    machine.does("install", host, "--no-mcp", "--yes")
    assert not (machine.home / path).exists() or "mcpServers" not in (machine.home / path).read_text()


def test_install_registers_antigravitys_hooks_under_our_name(machine: Machine) -> None:
    machine.does("install", "antigravity", "--yes")
    found = machine.read(".gemini/config/hooks.json")["foveal"]
    assert set(found) == {"PreInvocation", "PostToolUse", "Stop"}
    assert found["Stop"][0]["command"] == f"{machine.program} hook antigravity Stop"
    assert found["PostToolUse"][0]["hooks"][0]["command"].endswith(" antigravity PostToolUse")


def test_install_registers_kiros_hooks_in_a_file_of_ours(machine: Machine) -> None:
    machine.does("install", "kiro", "--yes")
    found = machine.read(".kiro/hooks/foveal.json")
    assert found["version"] == "v1"
    commands = {hook["trigger"]: hook["action"]["command"] for hook in found["hooks"]}
    assert commands == {
        event: f"{machine.program} hook kiro {event}"
        for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
    }
    assert "~/.kiro/hooks/foveal.json: SessionStart, UserPromptSubmit" in machine.does("list")


def test_installed_scripts_of_cline_never_fail(machine: Machine) -> None:
    own = machine.home / "Documents" / "Cline" / "Hooks" / "TaskStart"
    machine.does("install", "cline", "--no-mcp", "--yes")
    assert os.access(own, os.X_OK)
    machine.program.unlink()
    done = subprocess.run([own], input="{}", capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_uninstall_keeps_later_changes(machine: Machine) -> None:
    machine.does("install", "claude-code", "--yes")
    path = machine.home / ".claude" / "settings.json"
    values = json.loads(path.read_text())
    mine = {"type": "command", "command": OTHERS_COMMAND}
    values["hooks"]["Stop"][0]["hooks"].append(mine)  # into our own group
    values["hooks"]["Setup"] = [{"hooks": [mine]}]
    values["model"] = "later"
    path.write_text(json.dumps(values, indent=3))
    machine.does("uninstall", "claude-code", "--yes")
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [mine]}], "Setup": [{"hooks": [mine]}]},
        "model": "later",
    }


def test_install_updates_an_older_registration(machine: Machine) -> None:
    old = {"type": "command", "command": "/gone/bin/foveal hook claude-code", "timeout": 60}
    other = {"type": "command", "command": OTHERS_COMMAND}
    lookalikes = [
        {"type": "command", "command": f"foveal hook claude-code | tee {number}"} for number in "12"
    ]
    hooks = {
        "SessionEnd": [{"hooks": [other, old]}, {"matcher": "clear", "hooks": lookalikes}],
        "Notification": [{"hooks": [old]}],
        "Stop": [{"hooks": [old]}, {"hooks": [old]}],
    }
    machine.write({".claude/settings.json": text_of({"hooks": hooks})})
    machine.does("install", "claude-code", "--yes")
    found = machine.read(".claude/settings.json")["hooks"]
    run = {"type": "command", "command": str(machine.program), "args": ["hook", "claude-code"]}
    assert found["SessionEnd"] == [
        {"hooks": [other, {**run, "timeout": 5}]},
        {"matcher": "clear", "hooks": lookalikes},
    ]
    assert "Notification" not in found
    assert found["Stop"] == [{"hooks": [{**run, "timeout": 3}]}]


def test_install_keeps_user_settings_of_the_server(machine: Machine) -> None:
    entry = {"command": "/old/foveal", "args": ["mcp"], "env": {"X": "1"}, "alwaysLoad": True}
    machine.write({".claude.json": text_of({"mcpServers": {"foveal": entry}})})
    machine.does("install", "claude-code", "--yes")
    assert machine.read(".claude.json")["mcpServers"]["foveal"] == {**entry, "command": str(machine.program)}


def test_foreign_server_named_foveal_is_refused(machine: Machine) -> None:
    machine.write({".cursor/mcp.json": text_of({"mcpServers": {"foveal": {"command": "optics"}}})})
    assert "mcpServers.foveal is another server" in machine.refuses("install", "cursor", "--yes")
    machine.does("install", "cursor", "--no-mcp", "--yes")
    machine.does("uninstall", "cursor", "--yes")
    assert machine.read(".cursor/mcp.json")["mcpServers"]["foveal"] == {"command": "optics"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "settings.json, line 3, column 3: a comma or } was expected"),
        ("[]", "holds no object"),
        ('{"hooks": []}', "its hooks are no object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop isn't a list"),
        ('{"hooks": {}, "hooks": {}}', "'hooks' stands there twice"),
        (b'{\n"a": "\xff"}', "line 2: it isn't UTF-8"),
    ],
)
def test_unreadable_settings_are_refused(machine: Machine, text: str | bytes, problem: str) -> None:
    machine.write({".claude/settings.json": ""})
    (machine.home / ".claude" / "settings.json").write_bytes(
        text if isinstance(text, bytes) else text.encode()
    )
    assert problem in machine.refuses("install", "claude-code", "--yes")
    machine.write({".claude/settings.json": "{}", ".claude.json": "{"})
    assert ".claude.json, line 1" in machine.refuses("install", "claude-code", "--yes"), "nothing is written"


@pytest.mark.parametrize(
    ("problem", "make"),
    [
        ("is a folder", lambda path: path.mkdir()),
        ("is no regular file", os.mkfifo),
        ("which doesn't exist", lambda path: path.symlink_to("nowhere")),
        ("isn't a folder", lambda path: path.parent.rmdir() or path.parent.write_text("")),
    ],
)
def test_folder_in_place_of_settings_is_refused(
    machine: Machine, problem: str, make: Callable[[Path], object]
) -> None:
    path = machine.home / ".claude" / "settings.json"
    path.parent.mkdir()
    make(path)
    assert problem in machine.refuses("install", "claude-code", "--yes")


def test_a_file_of_another_user_is_refused(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write({".claude/settings.json": "{}"})
    uid = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: uid + 1)
    assert "another user" in machine.refuses("install", "claude-code", "--yes")


def test_project_links_may_not_leave_the_project(machine: Machine) -> None:
    machine.write({".claude/settings.json": "{}"})
    (machine.root / ".claude").symlink_to(machine.home / ".claude")
    assert "leads out of the project" in machine.refuses("install", "claude-code", "--project", "--yes")


def test_links_and_modes_stay(machine: Machine) -> None:
    machine.write({"dotfiles/claude.json": text_of(CLAUDE_LIKE)})
    kept = machine.home / "dotfiles" / "claude.json"
    kept.chmod(0o640)
    path = machine.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.symlink_to("../dotfiles/claude.json")
    before = tree(machine.home)
    machine.does("install", "claude-code", "--yes")
    assert path.is_symlink()
    assert "foveal" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o640
    machine.does("uninstall", "claude-code", "--yes")
    assert tree(machine.home) == before


def test_each_change_is_backed_up_five_times(machine: Machine) -> None:
    path = machine.home / ".claude" / "settings.json"
    written = []
    machine.write({".claude/settings.json": ""})
    for number in range(7):
        written.append(text_of({"number": number}))
        path.write_text(written[-1])
        path.chmod(0o600)
        machine.does("install", "claude-code", "--no-mcp", "--yes")
    copies = sorted(one for one in path.parent.iterdir() if "backup" in one.name)
    assert [one.read_text() for one in copies] == written[-5:]
    assert {one.stat().st_mode & 0o777 for one in copies} == {0o600}
    machine.does("uninstall", "claude-code", "--yes")
    assert path.read_text() == written[-1]
    left = sorted(one.read_text() for one in path.parent.iterdir() if "backup" in one.name)
    assert left == written[-5:-1], "those of other contents are somebody's to delete"


def test_dry_run_shows_the_difference_and_changes_nothing(machine: Machine) -> None:
    machine.write({".claude/settings.json": text_of(CLAUDE_LIKE)})
    before = tree(machine.home)
    output = machine.does("install", "claude-code", "--dry-run")
    assert tree(machine.home) == before
    assert "--- ~/.claude/settings.json\n+++ ~/.claude/settings.json\n@@" in output
    assert "--- /dev/null\n+++ ~/.claude.json" in output
    assert re.search(r'^\+ +"SessionEnd": \[', output, re.MULTILINE)
    removed = re.findall(r"^-(?!--)", output, re.MULTILINE)
    assert len(removed) <= 3, "only commas are put behind what was there"


def test_concurrent_change_of_settings_is_not_lost(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write({".claude/settings.json": "{}"})
    path = machine.home / ".claude" / "settings.json"

    def answer(text: str) -> str:
        path.write_text('{"model": "new"}')
        return "y"

    monkeypatch.setattr("foveal.cli.terminal.is_terminal", lambda stream: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", answer)
    code, _, errors = machine.run("install", "claude-code")
    assert code == 1
    assert "was changed meanwhile" in errors
    assert machine.read(".claude/settings.json") == {"model": "new"}
    assert not (machine.home / ".claude.json").exists()


def test_install_asks_without_yes(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(machine.home)
    code, output, errors = machine.run("install", "claude-code")
    assert (code, tree(machine.home)) == (1, before)
    # Before the difference, not behind it.
    assert (output, errors) == ("", "error: can't prompt: stdin is not a terminal; pass --yes\n")
    monkeypatch.setattr("foveal.cli.terminal.is_terminal", lambda stream: True)
    for answer, expected in (("n\n", 1), ("y\n", 0)):
        monkeypatch.setattr("click.termui.visible_prompt_func", lambda text, answer=answer: answer.strip())
        assert machine.run("install", "claude-code")[0] == expected
        assert (tree(machine.home) == before) is (expected == 1)


def test_install_json_output(machine: Machine) -> None:
    machine.write({".claude/settings.json": "{}"})
    reply = json.loads(machine.does("install", "claude-code", "--yes", "--json"))
    assert [(Path(one["path"]).name, one["action"]) for one in reply["changes"]] == [
        ("settings.json", "change"),
        (".claude.json", "create"),
    ]
    assert reply["backups"] == [str(machine.home / ".claude" / "settings.json.foveal-backup-0001")]
    assert reply["changed"] is True
    again = json.loads(machine.does("install", "claude-code", "--yes", "--json"))
    assert (again["changed"], again["changes"]) == (False, [])
    assert machine.run("install", "claude-code", "--json")[0] == 2
    assert json.loads(machine.does("uninstall", "claude-code", "--dry-run", "--json"))["changed"] is False
    gone = json.loads(machine.does("uninstall", "claude-code", "--yes", "--purge", "--json"))
    assert (gone["changed"], len(gone["changes"]), gone["copies_left"]) == (True, 2, [])
    assert json.loads(machine.does("uninstall", "claude-code", "--yes", "--json"))["changed"] is False


def test_host_folders_from_variables(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {"CLAUDE_CONFIG_DIR": "c", "CODEX_HOME": "x", "COPILOT_HOME": "p", "XDG_CONFIG_HOME": "g"}
    for name, folder in folders.items():
        monkeypatch.setenv(name, str(machine.home / folder))
    for host in ("claude-code", "codex", "copilot", "opencode"):
        machine.does("install", host, "--yes")
    found = {name for name, (_, content) in tree(machine.home).items() if isinstance(content, bytes)}
    assert {name for name in found if not name.startswith("work/")} == {
        "c/settings.json", "c/.claude.json", "x/hooks.json", "x/config.toml", "p/hooks/foveal.json", "p/mcp-config.json",
        "g/opencode/plugins/foveal.js", "g/opencode/opencode.json",
    }  # fmt: skip


def test_home_is_refused_as_project(machine: Machine) -> None:
    assert "no project" in machine.refuses(
        "install", "claude-code", "--project", "--cwd", str(machine.home), "--yes"
    )


def test_uninstall_names_the_copies_that_stay(machine: Machine) -> None:
    path = machine.home / ".claude" / "settings.json"
    machine.write({".claude/settings.json": text_of({"a": 1})})
    copy = path.with_name("settings.json.foveal-backup-0001")
    machine.does("install", "claude-code", "--yes")
    path.write_text(text_of({**json.loads(path.read_text()), "b": 2}))
    assert "copy of earlier settings kept (--purge deletes it)" in machine.does(
        "uninstall", "claude-code", "--yes"
    )
    assert copy.exists()
    assert "deleted" in machine.does("uninstall", "claude-code", "--purge", "--yes")
    assert not copy.exists()
    assert json.loads(path.read_text()) == {"a": 1, "b": 2}
    assert "copy" not in machine.does("uninstall", "claude-code", "--purge", "--yes")
