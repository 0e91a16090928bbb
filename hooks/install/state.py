"""Owns what is registered now, and what is wrong with it; changes nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .errors import InstallError
from .hook_settings import HookSettings, Registered, registered
from .hosts import Host
from .mcp_settings import McpSettings, McpTable
from .places import Level, SettingsPlace, host_files, registered_program
from .plan import plan_install
from .program import ProgramState, program_state
from .script_block import ScriptBlock, block_program
from .settings_file import read
from .switches import Obstacle, switched_off, untrusted
from .target import Target, TargetPart
from .whole_file import OPENCODE_MARKER, PLUGIN_HOOKS, PLUGIN_SERVERS, WholeFile, opencode_program

MCP = "mcp"
"""How the MCP server is named among the events that a file registers."""


@dataclass(frozen=True, slots=True)
class SettingsFileState:
    """One file of a host: what of us it holds. `problem` says why it can't be read, "" where it can."""

    path: str
    exists: bool
    holds: bool
    events: tuple[str, ...]
    programs: tuple[str, ...]
    problem: str = ""
    hooks: tuple[Registered, ...] = ()


@dataclass(frozen=True, slots=True)
class HostState:
    """A host at a level. `problem` is set where the host has no files there at all, as git outside of one."""

    host: Host
    level: Level
    files: tuple[SettingsFileState, ...]
    is_plugin: bool = False
    problem: str = ""

    @property
    def is_registered(self) -> bool:
        """Whether any file holds us."""
        return any(file.holds for file in self.files)

    @property
    def events(self) -> tuple[str, ...]:
        """The events for which we are registered, each once, without the MCP server."""
        found = {event: None for file in self.files for event in file.events if event != MCP}
        return tuple(found)

    @property
    def has_mcp(self) -> bool:
        """Whether the MCP server is registered."""
        return any(MCP in file.events for file in self.files)

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that are registered, each once."""
        return tuple(dict.fromkeys(program for file in self.files for program in file.programs))


def inspect(host: Host, level: Level, place: SettingsPlace, program: str, version: str) -> HostState:
    """Return what is registered with a host at a level. `program` is the one that runs."""
    try:
        files = host_files(host, level, place, registered_program(program, host, level), version)
    except InstallError as error:
        return HostState(host, level, (), problem=str(error))
    states = tuple(_file_state(target) for target in files.all())
    is_plugin = any(state.holds for state in states[len(files.hooks) + len(files.mcp) :])
    return HostState(host, level, states, is_plugin)


def problems(state: HostState, place: SettingsPlace, program: str, version: str) -> Iterator[Obstacle]:
    """Yield what is wrong with a host at a level, each with what to do about it."""
    again = f"foveal hooks install {state.host} --{state.level}{' --plugin' if state.is_plugin else ''}"
    for file in state.files:
        if file.problem:
            yield Obstacle(file.problem, "mend that file")
    if not state.is_registered:
        return
    for found in state.programs:
        condition = program_state(found, program, place.environ)
        if condition != "this":
            yield _wrong_program(found, condition, program, again)
    if not any(file.problem for file in state.files):
        yield from _older(state, place, version, again)
    yield from switched_off(state.host, state.level, place)
    if state.host == "codex":
        for file in state.files:
            if file.hooks:
                yield from untrusted(state.level, place, file.path, file.hooks)


def _older(state: HostState, place: SettingsPlace, version: str, again: str) -> Iterator[Obstacle]:
    """Compare what is registered with what this version would register for the same program."""
    if not state.programs:
        yield Obstacle("it can't be told what is registered", again)
        return
    try:
        wanted = host_files(state.host, state.level, place, state.programs[0], version)
        changes = plan_install(wanted, mcp=state.has_mcp, plugin=state.is_plugin)
    except InstallError as error:
        yield Obstacle(str(error), error.hint)
        return
    if changes:
        files = ", ".join(change.target.path for change in changes)
        yield Obstacle(f"not registered as this version does it: {files}", again)


def _wrong_program(found: str, condition: ProgramState, program: str, again: str) -> Obstacle:
    if condition == "missing":
        return Obstacle(f"{found} is registered, but there is no such program", again)
    return Obstacle(f"{found} is registered, which is another foveal than {program}", again)


def _file_state(target: Target) -> SettingsFileState:
    try:
        found = read(target.path, target.within)
        holds = target.holds(found.data)
    except InstallError as error:
        return SettingsFileState(target.path, True, False, (), (), str(error))
    except OSError as error:
        return SettingsFileState(target.path, True, False, (), (), f"{target.path}: {error.strerror}")
    if not holds or found.data is None:
        return SettingsFileState(target.path, found.data is not None, False, (), ())
    text = found.data.decode(target.encoding).removeprefix("\ufeff")
    entries = [entry for part in target.parts for entry in _entries(target.path, part, text)]
    hooks = registered(text) if any(isinstance(part, HookSettings) for part in target.parts) else ()
    events = tuple(dict.fromkeys(event for event, _ in entries))
    programs = tuple(dict.fromkeys(program for _, program in entries if program))
    return SettingsFileState(target.path, True, True, events, programs, hooks=hooks)


def _entries(path: str, part: TargetPart, text: str) -> Sequence[tuple[str, str | None]]:
    """Return (event, program) for each command of ours in a file."""
    if isinstance(part, HookSettings) or (isinstance(part, WholeFile) and path.endswith(PLUGIN_HOOKS)):
        return [(one.event, one.program) for one in registered(text)]
    if isinstance(part, McpSettings | McpTable):
        program = part.program(text)
        return [(MCP, program)] if program else []
    if isinstance(part, ScriptBlock):
        return [(part.hook, block_program(text))]
    if isinstance(part, WholeFile) and path.endswith(PLUGIN_SERVERS):
        return [(MCP, McpSettings("mcpServers", {}).program(text))]
    if isinstance(part, WholeFile) and part.marker == OPENCODE_MARKER:
        return [("plugin", opencode_program(text))]
    return []
