"""Owns where each host keeps its settings, for a user and a project, and what of us belongs into them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .errors import InstallError
from .git_folder import project_folder, user_folder
from .hook_settings import HookSettings
from .hosts import EVENTS, SKELETONS, Host, registrations
from .mcp_settings import McpSettings, McpTable
from .program import NAME, mcp_command
from .script_block import ScriptBlock
from .target import Target, TargetPart
from .whole_file import opencode_plugin, plugin_files

Level = Literal["user", "project"]

LEVELS: tuple[Level, ...] = ("user", "project")


@dataclass(frozen=True, slots=True)
class SettingsPlace:
    """A user's home, a project's root (both absolute) and the environment, read once."""

    home: str
    root: str
    environ: Mapping[str, str]

    def folder(self, variable: str, *default: str) -> str:
        """Return a folder that a variable may name, else one below the home."""
        named = self.environ.get(variable, "")
        return named if os.path.isabs(named) else os.path.join(self.home, *default)


@dataclass(frozen=True, slots=True)
class HostFiles:
    """The files of a host at a level: its hooks, its list of MCP servers, and for Claude Code the plugin."""

    hooks: tuple[Target, ...]
    mcp: tuple[Target, ...]
    plugin: tuple[Target, ...] = ()

    def all(self) -> tuple[Target, ...]:
        """Return the files one after the other."""
        return (*self.hooks, *self.mcp, *self.plugin)


def project_root(folder: str) -> str:
    """Return the nearest folder above with a `.git`, as git finds it, else the folder itself."""
    above = folder
    while not os.path.lexists(os.path.join(above, ".git")):
        if above == os.path.dirname(above):
            return folder
        above = os.path.dirname(above)
    return above


def default_level(host: Host) -> Level:
    """Return where a host is told without a wish: for the user; git per repository, as it has it."""
    return "project" if host == "git" else "user"


def registered_program(program: str, host: Host, level: Level) -> str:
    """Return how the program is registered: by its path, since a host's PATH isn't the shell's.

    A project's settings are shared with people who have it elsewhere, so there it is the name alone.
    """
    return NAME if level == "project" and host != "git" else program


def host_files(host: Host, level: Level, place: SettingsPlace, program: str, version: str = "") -> HostFiles:
    """Return the files of a host for a program as it is to be registered. Raises `InstallError`."""
    if host == "git":
        return HostFiles(tuple(_git(level, place, program)), ())
    within = place.root if level == "project" else None
    if host == "claude-code":
        return _claude(level, place, program, version)
    if host == "opencode":
        return _opencode(level, place, program)
    hooks = HookSettings(registrations(host, program), SKELETONS.get(host, {}))
    servers = McpSettings("mcpServers", _server(program))
    if host == "gemini":
        path = os.path.join(place.root if within else place.home, ".gemini", "settings.json")
        # One file for both: each part is planned by itself, and the plan joins them.
        return HostFiles((Target(path, (hooks,), 1, within),), (Target(path, (servers,), 1, within),))
    if host == "cursor":
        folder = os.path.join(place.root if within else place.home, ".cursor")
        return HostFiles(
            (Target(os.path.join(folder, "hooks.json"), (hooks,), 1, within),),
            (Target(os.path.join(folder, "mcp.json"), (servers,), 1, within),),
        )
    if host == "codex":
        folder = os.path.join(place.root, ".codex") if within else place.folder("CODEX_HOME", ".codex")
        table = McpTable(_server(program))
        return HostFiles(
            (Target(os.path.join(folder, "hooks.json"), (hooks,), 1, within),),
            (Target(os.path.join(folder, "config.toml"), (table,), 1, within),),
        )
    if within:
        # Copilot reads a project's .mcp.json too, which is Claude Code's and registered with that.
        path = os.path.join(place.root, ".github", "hooks", f"{NAME}.json")
        return HostFiles((Target(path, (hooks,), 2, within),), ())
    folder = place.folder("COPILOT_HOME", ".copilot")
    servers = McpSettings("mcpServers", {"type": "local", **_server(program), "tools": ["*"]})
    return HostFiles(
        (Target(os.path.join(folder, "hooks", f"{NAME}.json"), (hooks,), 2),),
        (Target(os.path.join(folder, "mcp-config.json"), (servers,), 1),),
    )


def _claude(level: Level, place: SettingsPlace, program: str, version: str) -> HostFiles:
    hooks = HookSettings(registrations("claude-code", program), {})
    servers: tuple[TargetPart, ...] = (McpSettings("mcpServers", _server(program)),)
    if level == "project":
        folder, within = os.path.join(place.root, ".claude"), place.root
        mcp = Target(os.path.join(place.root, ".mcp.json"), servers, 0, within)
    else:
        folder, within = place.folder("CLAUDE_CONFIG_DIR", ".claude"), None
        beside = folder if place.environ.get("CLAUDE_CONFIG_DIR") else place.home
        mcp = Target(os.path.join(beside, ".claude.json"), servers, 0)
    # A folder with a plugin.json among the skills is loaded as a plugin, from where it lies.
    plugin = os.path.join(folder, "skills", NAME)
    files = tuple(
        Target(os.path.join(plugin, path), (whole,), path.count("/") + 3, within, is_made=True)
        for path, whole in plugin_files(program, version)
    )
    return HostFiles((Target(os.path.join(folder, "settings.json"), (hooks,), 1, within),), (mcp,), files)


def _opencode(level: Level, place: SettingsPlace, program: str) -> HostFiles:
    if level == "project":
        folder, config, within = os.path.join(place.root, ".opencode"), place.root, place.root
    else:
        folder = config = os.path.join(place.folder("XDG_CONFIG_HOME", ".config"), "opencode")
        within = None
    path = os.path.join(folder, "plugins", f"{NAME}.js")
    above = 0 if within else 1  # the user's folder of settings, where ours were the first
    plugin = Target(path, (opencode_plugin(program),), 2 + above, within, is_made=True)
    entry = {"type": "local", "command": mcp_command(program), "enabled": True}
    names = ("opencode.json", "opencode.jsonc")
    found = [name for name in names if os.path.lexists(os.path.join(config, name))]
    settings = os.path.join(config, (found or names)[0])
    servers = Target(settings, (McpSettings("mcp", entry),), 2 * above, within)
    return HostFiles((plugin,), (servers,))


def _git(level: Level, place: SettingsPlace, program: str) -> Iterator[Target]:
    found = (
        user_folder(place.home, place.environ)
        if level == "user"
        else project_folder(place.root, place.environ)
    )
    for event in EVENTS["git"]:
        yield Target(
            os.path.join(found.path, event.name),
            (ScriptBlock(event.name, program),),
            1,
            found.within,
            encoding="latin-1",  # any bytes: comments of a script may be in any encoding
            executable=True,
        )


def _server(program: str) -> dict[str, str | list[str]]:
    command, *arguments = mcp_command(program)
    return {"command": command, "args": arguments}


def check_level(host: Host, level: Level, place: SettingsPlace) -> None:
    """Raise `InstallError` where a level makes no sense: the home as a project would be the user's files."""
    if level == "project" and host != "git" and os.path.realpath(place.root) == os.path.realpath(place.home):
        raise InstallError("the home folder is no project", f"foveal hooks install {host} --user")
