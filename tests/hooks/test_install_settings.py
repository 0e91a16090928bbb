"""Our handlers come and go in any settings text while every byte and value of others stays."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.hooks.install.host_files import installable_host, registrations
from foveal.hooks.install.jsonc import parse
from foveal.hooks.install.program import hook_program
from foveal.hooks.install.settings_entries import HookSettings, registered
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hook_install_cases import FORMS, Machine, tree
from tests.properties import examples

OTHERS = st.sampled_from(
    [
        {"type": "command", "command": "beep"},
        {"type": "command", "command": "foveal", "args": ["status"]},
        {"type": "command", "command": "foveal hook claude-code; beep"},
        {"type": "http", "url": "http://localhost/"},
        {"type": "command", "bash": "it's open"},
    ]
)
TEXT_FORMS = [name for name in FORMS if name != "bom"]
"""A BOM is taken off before a text comes here."""


def event_names(host: str) -> list[str]:
    hooks = installable_host(host).hooks
    assert hooks
    return [event.name for event in hooks.events]


@st.composite
def values(draw: st.DrawFn, host: str) -> dict[str, Any]:
    """Draw settings of others, with at least one handler in each event that they use."""
    names = [*event_names(host), "Unknown"]
    hooks: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=4)):
        handlers = draw(st.lists(OTHERS, min_size=1, max_size=2))
        matcher = draw(st.sampled_from([{}, {"matcher": ""}, {"matcher": "startup"}]))
        hooks[name] = handlers if host in {"cursor", "copilot"} else [{**matcher, "hooks": handlers}]
    before = draw(st.dictionaries(st.sampled_from(["a", "b"]), st.integers() | st.none(), max_size=2))
    return {**before, "version": 1, "hooks": hooks, "z": {"mcpServers": {}}}


def others(hooks: dict[str, Any]) -> dict[str, Any]:
    """Return hooks without our handlers, by their values alone."""
    left: dict[str, Any] = {}
    for event, entries in hooks.items():
        kept = []
        for entry in entries:
            if "hooks" in entry:
                inner = [one for one in entry["hooks"] if hook_program(one) is None]
                kept += [{**entry, "hooks": inner}] if inner else []
            elif hook_program(entry) is None:
                kept.append(entry)
        if kept:
            left[event] = kept
    return left


@pytest.mark.parametrize("host", ["claude-code", "codex", "cursor", "gemini", "copilot"])
@settings(max_examples=examples(15))
@given(data=st.data())
def test_register_and_strip_undo_each_other(host: str, data: st.DataObject) -> None:
    value = data.draw(values(host))
    text = FORMS[data.draw(st.sampled_from(TEXT_FORMS))](value)
    part = HookSettings(registrations(installable_host(host), "/a b/foveal"), {})
    after = part.register(text)
    assert part.register(after) == after
    found = parse(after).plain()
    assert others(found["hooks"]) == value["hooks"]
    assert {**found, "hooks": None} == {**value, "hooks": None}
    assert sorted(one.event for one in registered(after)) == sorted(event_names(host))
    assert part.strip(after) == text
    newer = HookSettings(registrations(installable_host(host), "/new/foveal"), {}).register(after)
    assert {one.program for one in registered(newer)} == {"/new/foveal"}
    assert part.strip(newer) == text


@pytest.mark.parametrize(
    ("entry", "program"),
    [
        ({"command": "foveal", "args": ["hook", "claude-code"]}, "foveal"),
        ({"command": "/b/foveal hook codex"}, "/b/foveal"),
        ({"command": "'/a b/foveal' hook codex"}, "/a b/foveal"),
        ({"bash": "foveal hook copilot sessionStart"}, "foveal"),
        ({"command": ["foveal", "hook", "codex"]}, "foveal"),
        ({"command": "foveal hook codex --more"}, None),
        ({"command": "foveal hook codex | tee log"}, None),
        ({"command": "foveal hook codex; beep"}, None),
        ({"command": "foveal hook codex a b"}, None),
        ({"command": "foveal 'hook codex'"}, None),
        ({"command": "foveal hook codex", "args": []}, None),
        ({"command": "foveal", "args": "hook codex"}, None),
        ({"command": "foveal", "args": ["hook", 1]}, None),
        ({"command": "foveal.sh hook codex"}, None),
        ({"command": "echo 'foveal hook codex"}, None),
        ({"command": None}, None),
        ({}, None),
        (None, None),
        ("foveal hook codex", None),
    ],
)
def test_handler_is_ours_by_its_command(entry: Any, program: str | None) -> None:
    assert hook_program(entry) == program


def test_hooks_in_the_server_come_and_go(machine: Machine) -> None:
    def kinds() -> set[str]:
        hooks = machine.read(".claude/settings.json")["hooks"]
        return {name for name, (group,) in hooks.items() if group["hooks"][0]["type"] == "mcp_tool"}

    machine.write({".claude/settings.json": "{}\n"})
    before = tree(machine.home)
    machine.does("install", "claude-code", "--in-server", "--yes")
    assert kinds() == {"UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"}
    assert "nothing to do" in machine.does("install", "claude-code", "--yes"), "they stay"
    assert machine.run("check", "claude-code")[0] == 0
    machine.does("install", "claude-code", "--no-in-server", "--yes")
    assert kinds() == set()
    machine.does("install", "claude-code", "--in-server", "--yes")
    machine.does("uninstall", "claude-code", "--yes")
    assert tree(machine.home) == before
    for words in (("codex",), ("claude-code", "--plugin"), ("claude-code", "--no-mcp")):
        assert machine.run("install", *words, "--in-server", "--yes")[0] == 2
    old = machine.program.with_name("claude")
    old.write_text("#!/bin/sh\necho '2.1.117 (Claude Code)'\n")
    old.chmod(0o755)
    said = machine.refuses("install", "claude-code", "--in-server", "--yes")
    assert "Claude Code 2.1.117 has no such hooks" in said
