"""What is registered with a host, and what keeps it from working; changes nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..hosts.host import Host, Level, Obstacle, RegisteredHook, SettingsPlace, Switch
from . import jsonc, toml_tables
from .errors import InstallError
from .host_files import host_files, registered_program
from .plan import Target, plan_install
from .program import ProgramState, program_state
from .settings_entries import MCP, HookSettings, registered
from .settings_file import read

MANAGED_MAX = 1 << 20
"""Maximum characters read of an administrator's settings."""


@dataclass(frozen=True, slots=True)
class SettingsFileState:
    """Our entries in one file of a host. `problem` says why it can't be read, "" if it can."""

    path: str
    exists: bool
    holds: bool
    events: tuple[str, ...]
    programs: tuple[str, ...]
    problem: str = ""
    hooks: tuple[RegisteredHook, ...] = ()


@dataclass(frozen=True, slots=True)
class HostState:
    """A host at a level. `problem` is set if the host has no files there, as git outside a repository."""

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
        """The registered programs, each once."""
        return tuple(dict.fromkeys(program for file in self.files for program in file.programs))


def inspect(host: Host, level: Level, place: SettingsPlace, program: str, version: str) -> HostState:
    """Return what is registered with a host at a level. `program` is the running one."""
    try:
        files = host_files(host, level, place, registered_program(program, host, level), version)
    except InstallError as error:
        return HostState(host, level, (), problem=str(error))
    states = tuple(_file_state(target) for target in files.all())
    is_plugin = any(state.holds for state in states[len(files.hooks) + len(files.mcp) :])
    return HostState(host, level, states, is_plugin)


def problems(state: HostState, place: SettingsPlace, program: str, version: str) -> Iterator[Obstacle]:
    """Yield what is wrong with a host at a level, and what to do about it."""
    again = f"foveal hooks install {state.host.name} --{state.level}{' --plugin' if state.is_plugin else ''}"
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
    yield from _switched_off(state, place)
    yield from _unreviewed(state, place)


def _older(state: HostState, place: SettingsPlace, version: str, again: str) -> Iterator[Obstacle]:
    """Yield a registration that differs from what this version registers for the same program."""
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
    entries = [entry for part in target.parts for entry in part.entries(text)]
    sections = [part.section for part in target.parts if isinstance(part, HookSettings)]
    hooks = registered(text, sections[0]) if sections else ()
    events = tuple(dict.fromkeys(event for event, _ in entries))
    programs = tuple(dict.fromkeys(program for _, program in entries if program))
    return SettingsFileState(target.path, True, True, events, programs, hooks=hooks)


def _switched_off(state: HostState, place: SettingsPlace) -> Iterator[Obstacle]:
    """Yield the settings that keep hooks from running. An unreadable file says nothing here."""
    for switch in state.host.switches(state.level, place):
        value: Any = _toml(switch.path) if switch.path.endswith(".toml") else _json(switch)
        for key in switch.keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is switch.off or (isinstance(value, list) and switch.off in value):
            yield Obstacle(switch.text, switch.fix)


def _unreviewed(state: HostState, place: SettingsPlace) -> Iterator[Obstacle]:
    review = state.host.review
    for file in state.files:
        if review and file.hooks:
            config = _toml(review.path(place))
            yield from review.missing(state.level, place, config, file.path, file.hooks)


def _json(switch: Switch) -> Mapping[str, Any]:
    try:
        value = jsonc.parse(_text(switch.path, managed=switch.managed)).plain()
    except (InstallError, OSError):  # `check` names unreadable files among those that are ours to change
        return {}
    return value if isinstance(value, dict) else {}


def _toml(path: str) -> Mapping[str, Any]:
    try:
        return toml_tables.parse(_text(path))
    except (InstallError, OSError):  # as above
        return {}


def _text(path: str, *, managed: bool = False) -> str:
    """Return a file's text, "" if it doesn't exist. A managed file belongs to root and is only read."""
    if not managed:
        return (read(path).data or b"").decode(errors="replace").removeprefix("\ufeff")
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(MANAGED_MAX)
