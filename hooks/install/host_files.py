"""The files of a host that registering foveal changes, and what goes into each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..hosts.host import (
    NAME,
    HookEvent,
    HookFile,
    HookScripts,
    Host,
    Level,
    PluginFile,
    SettingsHooks,
    SettingsPlace,
    command_line,
)
from ..hosts.registry import HOSTS
from .errors import InstallError
from .git_hooks import ScriptBlock, project_folder, user_folder
from .jsonc import render_file
from .plan import HostFiles, Target, TargetPart
from .program import hook_command, hook_program, mcp_command
from .settings_entries import HookSettings, McpSettings, McpTable, Registration, StatusLine

INSTALLABLE = tuple(host for host in HOSTS if host.hooks or (host.mcp and host.mcp.path))
"""The hosts that foveal can be registered with."""


def installable_host(name: str) -> Host:
    """Return the host of a name or an alias. Raises `InstallError`."""
    for host in INSTALLABLE:
        if name == host.name or name in host.aliases:
            return host
    names = ", ".join(host.name for host in INSTALLABLE)
    raise InstallError(f"there is no host {name!r}", f"hosts are {names}")


def project_root(folder: str) -> str:
    """Return the nearest folder above with a `.git`, as git finds it, else the folder itself."""
    above = folder
    while not os.path.lexists(os.path.join(above, ".git")):
        if above == os.path.dirname(above):
            return folder
        above = os.path.dirname(above)
    return above


def registered_program(program: str, host: Host, level: Level) -> str:
    """Return the program as a host's settings name it: its path, since a host's PATH isn't the shell's.

    In a project's settings it is the bare name, since people who share them have the program elsewhere.
    """
    return NAME if level == "project" and host.default_level == "user" else program


def check_level(host: Host, level: Level, place: SettingsPlace) -> None:
    """Raise `InstallError` if the project is the home folder: its settings are the user's."""
    is_shared = level == "project" and host.default_level == "user"
    if is_shared and os.path.realpath(place.root) == os.path.realpath(place.home):
        raise InstallError("the home folder is no project", f"foveal hooks install {host.name} --user")


def host_files(
    host: Host,
    level: Level,
    place: SettingsPlace,
    program: str,
    version: str = "",
    *,
    line: bool = False,
    calls_server: bool | None = None,
) -> HostFiles:
    """Return the files of a host for a program as it is to be registered.

    With `line` a status line comes with it. `calls_server` says whether hooks call our MCP server where the
    host can; None leaves that as it is. Raises `InstallError`.
    """
    within = place.root if level == "project" else None
    return HostFiles(
        tuple(_hook_targets(host, level, place, program, line, calls_server)),
        tuple(_mcp_targets(host, level, place, program)),
        tuple(
            Target(path, (whole,), folders, within, is_made=True)
            for path, whole, folders in _plugin_parts(host, level, place, program, version)
        ),
    )


def registrations(host: Host, program: str) -> tuple[Registration, ...]:
    """Return the entries of a host whose settings list handlers by event, none for other hosts."""
    hooks = host.hooks
    if hooks is None or not isinstance(hooks.settings, SettingsHooks):
        return ()
    settings, command = hooks.settings, hook_command(program, host.name)

    def entry(event: HookEvent) -> Registration:
        matcher = event.matcher if settings.grouped and event.name not in settings.flat else None
        return Registration(event.name, settings.handler(event, command), matcher)

    return tuple(entry(event) for event in hooks.events)


def _hook_targets(
    host: Host, level: Level, place: SettingsPlace, program: str, line: bool, calls_server: bool | None
) -> Iterator[Target]:
    if host.hooks is None:
        return
    settings, events = host.hooks.settings, host.hooks.events
    if not settings:
        yield from _scripts(host, level, place, program)
        return
    file = settings.path(level, place)
    within = place.root if level == "project" else None
    if isinstance(settings, HookScripts):
        above = os.path.dirname(file.path)
        if level == "project" and os.path.isfile(above):
            raise InstallError(f"{above} is a file, so there are no hooks below it", "use --user")
        for event in events:
            whole, path = hook_script(program, host.name, event.name), os.path.join(file.path, event.name)
            yield Target(
                path, (whole,), file.folders, within, executable=True, shared=file.shared, is_made=True
            )
        return
    part: TargetPart
    if isinstance(settings, SettingsHooks):
        in_server = tuple(
            Registration(event.name, settings.server_handler(event), event.matcher)
            for event in events
            if event.name in settings.in_server
        )
        entries = registrations(host, program)
        part = HookSettings(entries, settings.skeleton, settings.section, in_server, calls_server)
    elif isinstance(settings, HookFile):
        part = hook_file(settings, program, host.name, events)
    else:
        part = plugin_file(settings, program)
    parts = (part, StatusLine(host.status_line, program, line)) if host.status_line else (part,)
    is_made = not isinstance(settings, SettingsHooks)
    yield Target(file.path, parts, file.folders, within, shared=file.shared, is_made=is_made)


def _mcp_targets(host: Host, level: Level, place: SettingsPlace, program: str) -> Iterator[Target]:
    mcp = host.mcp
    file = mcp.path(level, place) if mcp and mcp.path else None
    if mcp is None or file is None:
        return
    entry = mcp.entry(mcp_command(program))
    section = next(found.keys[-1] for found in mcp.places if found.scope == level)
    part = McpTable(section, entry) if file.path.endswith(".toml") else McpSettings(section, entry)
    within = place.root if level == "project" else None
    yield Target(file.path, (part,), file.folders, within, shared=file.shared)


def _plugin_parts(
    host: Host, level: Level, place: SettingsPlace, program: str, version: str
) -> Iterator[tuple[str, TargetPart, int]]:
    if host.plugin_folder:
        folder = host.plugin_folder(level, place)
        for path, whole in plugin_files(program, version):
            yield os.path.join(folder, path), whole, path.count("/") + 3


def _scripts(host: Host, level: Level, place: SettingsPlace, program: str) -> Iterator[Target]:
    found = (
        user_folder(place.home, place.environ)
        if level == "user"
        else project_folder(place.root, place.environ)
    )
    for event in host.hooks.events if host.hooks else ():
        yield Target(
            os.path.join(found.path, event.name),
            (ScriptBlock(event.name, program),),
            1,
            found.within,
            encoding="latin-1",  # any bytes: comments of a script may be in any encoding
            executable=True,
        )


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
    for path, entries in (
        (PLUGIN_HOOKS, HookSettings((), {}).entries),
        (PLUGIN_SERVERS, McpSettings("mcpServers", {}).entries),
    ):
        value = _with_program(json.loads(_data("claude_plugin", path)), program)
        yield path, WholeFile(render_file(value), _MARKERS[path], entries)
    yield PLUGIN_SKILL, WholeFile(_data("claude_plugin", PLUGIN_SKILL), _MARKERS[PLUGIN_SKILL])


def hook_script(program: str, host: str, event: str) -> WholeFile:
    """Return the executable that answers an event of a host. It never fails, even without the program."""
    marker = f"# Made by `{NAME} hooks install {host}`.\n"
    command = command_line(hook_command(program, host, event))

    def entries(text: str) -> list[tuple[str, str | None]]:
        line = text.partition(marker)[2].removesuffix(_SILENT)
        return [(event, hook_program({"command": line}))]

    return WholeFile(f"#!/bin/sh\n{marker}{command}{_SILENT}", marker, entries)


def hook_file(settings: HookFile, program: str, host: str, events: Sequence[HookEvent]) -> WholeFile:
    """Return a file that registers the hooks of a host."""
    names = {command_line(hook_command(program, host, event.name)): event for event in events}
    made = settings.made([(event, command) for command, event in names.items()])

    def entries(text: str) -> list[tuple[str, str | None]]:
        found = re.findall(r'"command": ("(?:[^"\\]|\\.)*")', text)
        return [
            (command.split()[-1], hook_program({"command": command})) for command in map(json.loads, found)
        ]

    return WholeFile(render_file(made), f" hook {host} ", entries)


_SILENT = " 2>/dev/null || :\n"


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
