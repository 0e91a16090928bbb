"""Files that are ours as a whole: those of the Claude Code plugin, and plugins that run in a host."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..hosts.host import NAME, PluginFile
from .errors import InstallError
from .jsonc import render_file
from .settings_entries import McpSettings, registered

PLUGIN_MANIFEST = ".claude-plugin/plugin.json"
PLUGIN_HOOKS = "hooks/hooks.json"
PLUGIN_SERVERS = ".mcp.json"
PLUGIN_SKILL = "skills/foveal/SKILL.md"

_MARKERS = {
    PLUGIN_MANIFEST: f'"name": "{NAME}"',
    PLUGIN_HOOKS: f'"description": "{NAME}',
    PLUGIN_SERVERS: f'"{NAME}": {{',
    PLUGIN_SKILL: f"name: {NAME}\n",
}
"""A text in every version of each file, by which it is known as ours."""

Entries = Callable[[str], list[tuple[str, str | None]]]
"""Returns (event, program) for each command of ours in a file."""


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file with our content; `marker` stands in every version of it."""

    content: str
    marker: str
    find_entries: Entries = lambda text: []

    def register(self, text: str) -> str:
        """Return the content. Raises `InstallError` for somebody else's file."""
        if text.strip() and not self.holds(text):
            raise InstallError("it is there already and isn't foveal's", "move it away")
        return self.content

    def strip(self, text: str) -> str:
        """Return "" for a file that is ours."""
        return "" if self.holds(text) else text

    def holds(self, text: str) -> bool:
        """Whether a file is ours."""
        return self.marker in text

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return (event, program) for each command of ours."""
        return self.find_entries(text)


def plugin_files(program: str, version: str) -> Iterator[tuple[str, WholeFile]]:
    """Yield the files of the Claude Code plugin with their paths in its folder, for a program."""
    manifest = {**json.loads(_data("claude_plugin", PLUGIN_MANIFEST)), "version": version}
    yield PLUGIN_MANIFEST, WholeFile(render_file(manifest), _MARKERS[PLUGIN_MANIFEST])
    for path, entries in ((PLUGIN_HOOKS, _hook_entries), (PLUGIN_SERVERS, _server_entries)):
        value = _with_program(json.loads(_data("claude_plugin", path)), program)
        yield path, WholeFile(render_file(value), _MARKERS[path], entries)
    yield PLUGIN_SKILL, WholeFile(_data("claude_plugin", PLUGIN_SKILL), _MARKERS[PLUGIN_SKILL])


def plugin_file(plugin: PluginFile, program: str) -> WholeFile:
    """Return the file of a plugin that runs in a host, for a program."""
    folder, _, path = plugin.source.partition("/")
    text = _data(folder, path)
    line = f'const PROGRAM = "{NAME}"'
    assert text.count(line) == 1
    text = text.replace(line, f"const PROGRAM = {json.dumps(program)}")
    return WholeFile(text, plugin.marker, lambda found: [("plugin", plugin_program(found))])


def plugin_program(text: str) -> str | None:
    """Return the program that a plugin of ours runs."""
    found = text.partition("\nconst PROGRAM = ")[2].partition("\n")[0].rstrip(";")
    try:
        program = json.loads(found)
    except ValueError:
        return None
    return program if isinstance(program, str) else None


def _hook_entries(text: str) -> list[tuple[str, str | None]]:
    return [(hook.event, hook.program) for hook in registered(text)]


def _server_entries(text: str) -> list[tuple[str, str | None]]:
    return McpSettings("mcpServers", {}).entries(text)


def _data(folder: str, path: str) -> str:
    """Return a file of the package."""
    package = __package__.rpartition(".")[0]
    return resources.files(package).joinpath(folder, *path.split("/")).read_text(encoding="utf-8")


def _with_program(value: Any, program: str) -> Any:
    """Return a value with the program in place of commands that are the bare name."""
    if isinstance(value, dict):
        named = {key: _with_program(inner, program) for key, inner in value.items()}
        return {**named, "command": program} if named.get("command") == NAME else named
    return [_with_program(inner, program) for inner in value] if isinstance(value, list) else value
