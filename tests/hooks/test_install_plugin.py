"""The Claude Code plugin and the OpenCode plugin are installed whole, say what the settings say, and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from foveal import __version__
from foveal.daemon.languages.shared.language import LANGUAGES, language_of
from foveal.hooks.hosts.host import PluginFile, SettingsHooks
from foveal.hooks.install.host_files import (
    installable_host,
    plugin_file,
    plugin_files,
    registrations,
)
from foveal.hooks.install.settings_entries import HookSettings

from tests.conftest import need_tool
from tests.hook_install_cases import Machine, text_of, tree

DATA = Path(__file__).parents[2] / "hooks"
TOOLS = (
    "get_context", "search_code", "record_decision", "set_relevant_context", "recall",
)  # fmt: skip


def hooks_for(program: str) -> dict[str, Any]:
    return {
        one.event: [{**({"matcher": one.matcher} if one.matcher else {}), "hooks": [one.handler]}]
        for one in registrations(installable_host("claude-code"), program)
    }


def test_packaged_plugin_matches_the_settings() -> None:
    folder = DATA / "claude_plugin"
    assert json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"] == hooks_for("foveal")
    assert json.loads((folder / ".mcp.json").read_text()) == {
        "mcpServers": {"foveal": {"command": "foveal", "args": ["mcp"]}}
    }
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == "foveal"
    assert set(manifest) <= {"name", "version", "description", "author", "license"}
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {path for path, _ in plugin_files("foveal", __version__)}


@pytest.mark.parametrize("host", ["codex", "cursor", "copilot"])
def test_plugin_of_other_hosts_matches_their_settings(host: str) -> None:
    folder = DATA / "agent_plugin"
    settings = installable_host(host).hooks
    assert settings
    assert isinstance(settings.settings, SettingsHooks)
    part = HookSettings(registrations(installable_host(host), "foveal"), settings.settings.skeleton)
    assert json.loads((folder / "hooks" / f"{host}.json").read_text()) == json.loads(part.register(""))
    manifest = json.loads((folder / MANIFESTS[host]).read_text())
    assert manifest["hooks"] == f"./hooks/{host}.json"
    assert json.loads((folder / manifest["mcpServers"]).read_text()) == {
        "mcpServers": {"foveal": {"command": "foveal", "args": ["mcp"]}}
    }
    # A host would also load the hooks of a folder's `hooks.json`, which are Claude Code's.
    assert not (folder / "hooks" / "hooks.json").exists()
    skill = Path("skills", "foveal", "SKILL.md")
    assert (folder / skill).read_text() == (DATA / "claude_plugin" / skill).read_text()


MANIFESTS = {
    "codex": ".codex-plugin/plugin.json",
    "cursor": ".cursor-plugin/plugin.json",
    "copilot": ".plugin/plugin.json",
}


@pytest.mark.parametrize(
    ("marketplace", "manifest"),
    [
        (".claude-plugin/marketplace.json", ".claude-plugin/plugin.json"),
        (".agents/plugins/marketplace.json", MANIFESTS["codex"]),
        (".cursor-plugin/marketplace.json", MANIFESTS["cursor"]),
        (".github/plugin/marketplace.json", MANIFESTS["copilot"]),
    ],
)
def test_marketplaces_list_plugins_that_are_there(marketplace: str, manifest: str) -> None:
    listed = json.loads((DATA.parent / marketplace).read_text())
    assert listed["name"] == "foveal"
    for entry in listed["plugins"]:
        source = entry["source"] if isinstance(entry["source"], str) else entry["source"]["path"]
        found = json.loads((DATA.parent / source / manifest).read_text())
        assert (found["name"], found["license"]) == (entry["name"], "Apache-2.0")


def test_language_server_plugin_has_every_language_with_definitions() -> None:
    """It has no others: a host takes only one server for each extension."""
    path = DATA / "editors" / "claude_code" / ".claude-plugin" / "plugin.json"
    server = json.loads(path.read_text())["lspServers"]["foveal"]
    assert (server["command"], server["args"]) == ("foveal", ["lsp"])
    found = {name: record.extensions for name, record in LANGUAGES.items() if record.definitions}
    wanted = {extension: name for name, extensions in found.items() for extension in extensions}
    assert server["extensionToLanguage"] == wanted
    assert all(language_of(f"x{extension}") == name for extension, name in wanted.items())


def test_skill_explains_every_tool() -> None:
    text = (DATA / "claude_plugin" / "skills" / "foveal" / "SKILL.md").read_text()
    found = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{1,1024})\n---\n", text)
    assert found
    assert found.group(1) == "foveal"
    assert ": " not in found.group(2), "YAML would read a key there"
    for tool in TOOLS:
        assert f"`{tool}`" in text


@pytest.mark.parametrize("level", ["user", "project"])
def test_plugin_is_installed_and_removed_whole(machine: Machine, level: str) -> None:
    machine.write({".claude/settings.json": "{}", "work/shop/.claude/skills/mine/SKILL.md": "mine"})
    before = tree(machine.home)
    machine.does("install", "claude-code", "--plugin", f"--{level}", "--yes")
    assert "nothing to do" in machine.does("install", "claude-code", "--plugin", f"--{level}", "--yes")
    base = "work/shop/" if level == "project" else ""
    program = "foveal" if level == "project" else str(machine.program)
    folder = f"{base}.claude/skills/foveal"
    assert machine.read(f"{folder}/.claude-plugin/plugin.json")["version"] == __version__
    assert machine.read(f"{folder}/hooks/hooks.json")["hooks"] == hooks_for(program)
    assert machine.read(f"{folder}/.mcp.json")["mcpServers"]["foveal"] == {
        "command": program,
        "args": ["mcp"],
    }
    assert machine.run("check", "claude")[0] == 0
    machine.does("uninstall", "claude-code", f"--{level}", "--yes")
    assert tree(machine.home) == before


def test_plugin_and_settings_replace_each_other(machine: Machine) -> None:
    machine.does("install", "claude-code", "--yes")
    machine.does("install", "claude-code", "--plugin", "--yes")
    assert not (machine.home / ".claude" / "settings.json").exists()
    assert not (machine.home / ".claude.json").exists()
    machine.does("install", "claude-code", "--yes")
    assert not (machine.home / ".claude" / "skills").exists()
    assert machine.run("check")[0] == 0


def test_older_plugin_is_reported_and_updated(machine: Machine) -> None:
    machine.does("install", "claude-code", "--plugin", "--yes")
    path = machine.home / ".claude" / "skills" / "foveal" / ".claude-plugin" / "plugin.json"
    path.write_text(text_of({**json.loads(path.read_text()), "version": "0.0.1"}))
    code, output, _ = machine.run("check")
    assert code == 1
    assert "run: foveal hooks install claude-code --user --plugin" in output
    machine.does("install", "claude-code", "--plugin", "--yes")
    assert machine.run("check")[0] == 0


def test_foreign_plugin_file_is_refused(machine: Machine) -> None:
    machine.write({".claude/skills/foveal/.claude-plugin/plugin.json": '{"name": "optics"}'})
    assert "isn't foveal's" in machine.refuses("install", "claude-code", "--plugin", "--yes")
    machine.write({".config/opencode/plugins/foveal.js": "export const Mine = 1\n"})
    assert "isn't foveal's" in machine.refuses("install", "opencode", "--yes")
    assert "nothing to do" in machine.does("uninstall", "opencode", "--yes")


def play(folder: Path, program: str, script: str) -> str:
    """Run a script with OpenCode's plugin, which calls this program (or none); return what it prints."""
    hooks = installable_host("opencode").hooks
    assert hooks
    assert isinstance(hooks.settings, PluginFile)
    if program:
        (folder / "foveal").write_text(f"#!/bin/sh\n{program}\n")
        (folder / "foveal").chmod(0o755)
    (folder / "foveal.mjs").write_text(plugin_file(hooks.settings, str(folder / "foveal")).content)
    (folder / "play.mjs").write_text(script)
    done = subprocess.run(
        [need_tool("node"), "play.mjs"], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "FOVEAL_STATE_DIR": str(folder / "state")},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


PLAY = """
import { FovealPlugin } from "./foveal.mjs"
const hooks = await FovealPlugin({ directory: "/p" })
const tell = (type, properties) => hooks.event({ event: { type, properties } })
await tell("session.created", { info: { id: "s1" } })
await tell("unheard.of", null)
await tell("session.created", null)
const place = { messageID: "m1", sessionID: "s1" }
const typed = { ...place, id: "prt_20a44da8c0010123456789ABCD", type: "text", text: "fix it" }
const output = { message: { sessionID: "s1" }, parts: [typed] }
await hooks["chat.message"]({ sessionID: "s1" }, output)
const kept = output.parts.slice(1)
const messages = [{ info: {}, parts: output.parts }, { info: {}, parts: [{ type: "text", text: "own" }] }]
await hooks["experimental.chat.messages.transform"]({}, { messages })
await hooks["experimental.chat.messages.transform"]({}, {})
await hooks["chat.message"](undefined, undefined)
await tell("session.created", { info: { id: "c1", parentID: "s1" } })
await hooks["chat.message"]({ sessionID: "c1" }, { parts: [{ ...typed, text: "sub" }] })
await hooks["chat.message"]({ sessionID: "c1" }, { parts: [{ ...typed, text: "more" }] })
const compacting = { context: [] }
await hooks["experimental.session.compacting"]({ sessionID: "s1" }, compacting)
await hooks.dispose()
console.log(JSON.stringify({
  kept: kept.map((part) => [part.text, part.synthetic, part.ignored, part.messageID, part.sessionID]),
  follows: kept.every((part) => part.id > typed.id && part.id.length === typed.id.length),
  shown: messages.map(({ parts }) => parts.filter((part) => !part.ignored).map((part) => part.text)),
  compacting,
}))
"""


@pytest.mark.parametrize("kind", ["answers", "fails", "talks", "missing"])
def test_the_opencode_plugin_adds_context_or_nothing(tmp_path: Path, kind: str) -> None:
    answer = '{"hookSpecificOutput": {"hookEventName": "x", "additionalContext": "because"}}'
    bodies = {
        "answers": f"cat >> calls; echo >> calls; echo '{answer}'",
        "fails": "exit 9",
        "talks": "echo '{'",
        "missing": "",
    }
    reply = json.loads(play(tmp_path, bodies[kind], PLAY))
    texts = ["because", "because"] if kind == "answers" else []
    assert reply == {
        "kept": [[text, True, True, "m1", "s1"] for text in texts],
        "follows": True,
        "shown": [["fix it", *texts], ["own"]],
        "compacting": {"context": texts[:1]},
    }
    if kind == "answers":
        told = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
        assert {one["hook_event_name"] for one in told} == {
            "SessionStart",
            "UserPromptSubmit",
            "SubagentStart",
            "PreCompact",
            "SessionEnd",
        }
        [task] = [one["prompt"] for one in told if one["hook_event_name"] == "SubagentStart"]
        assert task == "sub", "the task comes with the start, a later message is a prompt"
        assert {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s1",
            "cwd": "/p",
            "prompt": "fix it",
        } in told
        assert all(
            one.get("parent_session_id") == ("s1" if one["session_id"] == "c1" else None) for one in told
        )


IDLE = """
import { FovealPlugin } from "./foveal.mjs"
const user = { info: { id: "m1", role: "user" }, parts: [{ type: "text", text: "x".repeat(30_000) }] }
const reply = { info: { id: "m2", role: "assistant", time: { completed: 1 } }, parts: [{ diff: "unused" }] }
const running = { info: { id: "m3", role: "assistant", time: {} }, parts: [] }
let messages = [user, reply, running]
const session = { messages: async ({ path }) => ({ data: path.id === "lost" ? null : messages }) }
const hooks = await FovealPlugin({ directory: "/p", client: { session } })
const tell = (type, properties) => hooks.event({ event: { type, properties } })
await tell("session.created", { info: { id: "c1", parentID: "s1" } })
await tell("session.idle", { sessionID: "s1" })
messages = [...messages.slice(0, 2), { ...running, info: { ...running.info, error: { name: "aborted" } } }]
await tell("session.idle", { sessionID: "s1" })
await tell("session.idle", { sessionID: "c1" })
session.messages = async () => { throw new Error("gone") }
await tell("session.idle", { sessionID: "s2" })
"""


def test_the_opencode_plugin_writes_finished_messages_once(tmp_path: Path) -> None:
    play(tmp_path, "told=$(cat)\nprintf '%s\\n' \"$told\" >> calls", IDLE)
    folder = tmp_path / "state" / "opencode"
    told = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    stops = [one for one in told if one["hook_event_name"] in {"Stop", "SubagentStop"}]
    assert [one.get("transcript_path") or one.get("agent_transcript_path") for one in stops] == [
        str(folder / "s1.jsonl"), str(folder / "s1.jsonl"), str(folder / "c1.jsonl"), None,
    ]  # fmt: skip
    assert (folder.stat().st_mode & 0o777, (folder / "s1.jsonl").stat().st_mode & 0o777) == (0o700, 0o600)
    first, *rest = [json.loads(line) for line in (folder / "s1.jsonl").read_text().splitlines()]
    assert [message["info"]["id"] for message in rest] == ["m2", "m3"]
    assert len(first["parts"][0]["text"]) < 21_000
    assert rest[0] == {"info": {"id": "m2", "role": "assistant", "time": {"completed": 1}}, "parts": [{}]}
    assert {json.loads(line)["parent"] for line in (folder / "c1.jsonl").read_text().splitlines()} == {"s1"}
