"""Owns files that are ours as a whole: those of the Claude Code plugin, and the OpenCode plugin."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from .errors import InstallError
from .jsonc_edit import render_file
from .program import NAME

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
"""What each file of the plugin says in every version, by which it is known as ours."""

OPENCODE_MARKER = "// The foveal plugin for OpenCode"


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file with a content of ours; `marker` stands in each version of it."""

    content: str
    marker: str

    def register(self, text: str) -> str:
        """Return the content. Raises `InstallError` where somebody else's file lies."""
        if text.strip() and not self.holds(text):
            raise InstallError("it is there already and isn't foveal's", "move it away")
        return self.content

    def strip(self, text: str) -> str:
        """Return nothing for a file that is ours."""
        return "" if self.holds(text) else text

    def holds(self, text: str) -> bool:
        """Whether a file is ours."""
        return self.marker in text


def plugin_files(program: str, version: str) -> Iterator[tuple[str, WholeFile]]:
    """Yield the files of the Claude Code plugin with their paths in its folder, for a program."""
    manifest = {**json.loads(_data("claude_plugin", PLUGIN_MANIFEST)), "version": version}
    yield PLUGIN_MANIFEST, WholeFile(render_file(manifest), _MARKERS[PLUGIN_MANIFEST])
    for path in (PLUGIN_HOOKS, PLUGIN_SERVERS):
        value = _with_program(json.loads(_data("claude_plugin", path)), program)
        yield path, WholeFile(render_file(value), _MARKERS[path])
    yield PLUGIN_SKILL, WholeFile(_data("claude_plugin", PLUGIN_SKILL), _MARKERS[PLUGIN_SKILL])


def opencode_plugin(program: str) -> WholeFile:
    """Return the OpenCode plugin for a program."""
    text = _data("opencode_plugin", "foveal.js")
    line = f'const PROGRAM = "{NAME}"'
    assert text.count(line) == 1
    return WholeFile(text.replace(line, f"const PROGRAM = {json.dumps(program)}"), OPENCODE_MARKER)


def opencode_program(text: str) -> str | None:
    """Return the program that an OpenCode plugin of ours runs."""
    found = text.partition("\nconst PROGRAM = ")[2].partition("\n")[0].rstrip(";")
    try:
        program = json.loads(found)
    except ValueError:
        return None
    return program if isinstance(program, str) and OPENCODE_MARKER in text else None


def _data(folder: str, path: str) -> str:
    """Return a file that comes with the package."""
    package = __package__.rpartition(".")[0]
    return resources.files(package).joinpath(folder, *path.split("/")).read_text(encoding="utf-8")


def _with_program(value: Any, program: str) -> Any:
    """Return a value in which the commands that are the bare name are the program."""
    if isinstance(value, dict):
        named = {key: _with_program(inner, program) for key, inner in value.items()}
        return {**named, "command": program} if named.get("command") == NAME else named
    return [_with_program(inner, program) for inner in value] if isinstance(value, list) else value
