"""The description of a host: its hooks, its MCP servers, its settings files and its native rules."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from .fields import Fields
from .hook_format import HookFormat
from .mcp_format import McpPlace, ServerDefinition, ServerSettings, VariableSyntax

NAME = "foveal"

Level = Literal["user", "project"]
LEVELS: tuple[Level, ...] = ("user", "project")

START_S = 5
PROMPT_S = 3
END_S = 5
"""Seconds that a host waits for a hook: at the start of a session, which may also start the daemon, while a
person waits, and at the end of a session. A hook takes a fraction of it; the rest is for a busy machine. A
host drops a slow hook, some tell their users so, and some wait a second or less without a number."""


SERVER_HOOK = "mcp_tool"
"""The type of a handler that calls a tool of an MCP server."""

HOOK_TOOL = "hook"
"""The tool that answers such handlers; it isn't listed, since no model needs it."""

SERVER_FIELDS = (
    *("session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id", "prompt", "source"),
    *("agent_id", "agent_type", "tool_name", "tool_input", "tool_response", "tool_use_id"),
)
"""The fields of a payload that such a handler passes on; objects come as their JSON text."""


class SettingsPlace(Struct, frozen=True):
    """A user's home, a project's root (both absolute) and the environment, read once."""

    home: str
    root: str
    environ: Mapping[str, str]

    def folder(self, variable: str, *default: str) -> str:
        """Return a folder that a variable may name, else one below the home."""
        named = self.environ.get(variable, "")
        return named if os.path.isabs(named) else os.path.join(self.home, *default)


class SettingsPath(Struct, frozen=True):
    """A settings file, and the number of its parent folders that are removed with it if they are empty; the
    outer `shared` of these aren't the host's alone, so that they tell nothing of it."""

    path: str
    folders: int = 1
    shared: int = 0


PathOf = Callable[[Level, SettingsPlace], SettingsPath]


class SettingsFolder(Struct, frozen=True):
    """A host's folder of settings: `user` in the home, unless `variable` names another, `project` in a
    project ("" for the same name)."""

    user: str
    variable: str = ""
    project: str = ""

    def at(self, level: Level, place: SettingsPlace) -> str:
        """Return the folder's path."""
        if level == "project":
            return os.path.join(place.root, self.project or self.user)
        return place.folder(self.variable, self.user)

    def file(self, name: str, folders: int = 1) -> PathOf:
        """Return what finds a file of the folder."""
        return lambda level, place: SettingsPath(os.path.join(self.at(level, place), name), folders)

    def all_off(self, title: str) -> Callable[[Level, SettingsPlace], Iterable[Switch]]:
        """Return what finds the switches `disableAllHooks` in the user's and the project's settings."""
        return lambda level, place: [
            switch_all_off(title, os.path.join(self.at(each, place), "settings.json"))
            for each in LEVELS[: 1 + (level == "project")]
        ]


class HookEvent(Struct, frozen=True):
    """An event to register for: its matcher ("" for all) and its timeout."""

    name: str
    timeout_s: int | None = PROMPT_S
    matcher: str = ""


class SettingsHooks(Struct, frozen=True):
    """Hooks that a JSON settings file lists by event.

    They are under `section`. With `grouped` handlers are in groups with a matcher, but for the events `flat`.
    `skeleton` is what the file must contain besides the hooks. A handler's command is a line for a shell
    under `command_key`, or a program with its arguments (`as_words`); it names the event (`names_event`) if
    payloads don't. Its timeout is under `timeout_key` in units of 1/`unit` second. `named` handlers have our
    name. The events `in_server` can also go to our MCP server, by versions from `in_server_since` on.
    """

    path: PathOf
    section: str = "hooks"
    grouped: bool = True
    flat: tuple[str, ...] = ()
    skeleton: Mapping[str, Any] = field(default_factory=dict)
    command_key: str = "command"
    as_words: bool = False
    names_event: bool = False
    timeout_key: str = "timeout"
    unit: int = 1
    named: bool = False
    in_server: frozenset[str] = frozenset()
    in_server_since: tuple[int, ...] = ()

    def server_handler(self, event: HookEvent) -> dict[str, Any]:
        """Return the entry of an event that goes to our MCP server; fields that it lacks come empty."""
        given = {name: f"${{{name}}}" for name in SERVER_FIELDS}
        called = {"type": SERVER_HOOK, "server": NAME, "tool": HOOK_TOOL, "input": given}
        return called if event.timeout_s is None else {**called, self.timeout_key: event.timeout_s}

    def handler(self, event: HookEvent, command: Sequence[str]) -> dict[str, Any]:
        """Return the entry of an event that runs a command."""
        words = [*command, event.name] if self.names_event else command
        made: dict[str, Any] = {"type": "command", self.command_key: command_line(words)}
        if self.as_words:
            made |= program_entry(words)
        made |= {"name": NAME} if self.named else {}
        made |= {"matcher": event.matcher} if event.matcher and not self.grouped else {}
        return made if event.timeout_s is None else {**made, self.timeout_key: event.timeout_s * self.unit}


class PluginFile(Struct, frozen=True):
    """A plugin of ours for a host. `source` is its path in hooks/, `marker` a text contained in every
    version."""

    path: PathOf
    source: str
    marker: str


class HookScripts(Struct, frozen=True):
    """Hooks that are executables, each named for its event, in the folder at `path`."""

    path: PathOf


class HookFile(Struct, frozen=True):
    """A JSON file of ours that registers hooks; `made` returns its content for events and their commands."""

    path: PathOf
    made: Callable[[Sequence[tuple[HookEvent, str]]], Mapping[str, Any]]


class Hooks(HookFormat, frozen=True, kw_only=True):
    """The hooks of a host.

    `events` are those to register for, in `settings` (None for git, whose hooks are scripts).
    `project_variable` is the variable that holds the project's folder. `task_in` finds the task of a subagent
    that is about to start in its parent's transcript, given the end of that and the subagent's type, or for
    the type "" the prompt that the agent of the transcript answers.
    """

    events: tuple[HookEvent, ...] = ()
    settings: SettingsHooks | HookScripts | HookFile | PluginFile | None = None
    project_variable: str = ""
    task_in: Callable[[str, str], str] | None = None


def program_entry(command: Sequence[str]) -> dict[str, Any]:
    """Return the entry of an MCP server in the form that most hosts take."""
    return {"command": command[0], "args": list(command[1:])}


class McpConfig(Struct, frozen=True):
    """Where a host lists MCP servers (`places`) and how it defines them (`read`, `variables`).

    `path` and `entry` are the place and content of foveal's own registration; None for a host, or a level,
    that foveal isn't registered with. `project_variable` is set by the host for a project's servers.
    """

    places: tuple[McpPlace, ...]
    read: Callable[[ServerDefinition], ServerSettings]
    variables: VariableSyntax | None = None
    strict_json: bool = False
    path: Callable[[Level, SettingsPlace], SettingsPath | None] | None = None
    entry: Callable[[Sequence[str]], Mapping[str, Any]] = program_entry
    project_variable: str = ""


class NativeRules(Struct, frozen=True):
    """The instruction files that a host reads itself.

    `names` matches their names; files at the root with these names (`roots`) count by their content too.
    `above` are names that are read from the root down to the agent's folder. `otherwise` matches files that
    are read if no file of `roots` exists, by versions from `otherwise_since` on. `summary` names all these
    for people.
    """

    names: re.Pattern[str]
    roots: tuple[str, ...]
    above: frozenset[str] = frozenset()
    otherwise: re.Pattern[str] | None = None
    otherwise_since: tuple[int, ...] = ()
    summary: str = ""


class Switch(Struct, frozen=True):
    """A setting that disables hooks: the value `off`, or a list that contains it, under `keys`."""

    path: str
    keys: tuple[str, ...]
    off: object
    text: str
    fix: str
    managed: bool = False
    """Whether the file belongs to an administrator, so that another owner is acceptable."""


class Obstacle(Struct, frozen=True):
    """The reason why hooks don't run, and the remedy."""

    text: str
    fix: str


class RegisteredHook(Struct, frozen=True):
    """A handler of ours in a file; `group` is its position, 0 if the host has no groups."""

    event: str
    group: int
    position: int
    matcher: str | None
    handler: Mapping[str, Any]
    program: str
    section: str = "hooks"

    @property
    def path(self) -> tuple[str | int, ...]:
        """The keys and positions that lead to the handler."""
        inner = (self.position,) if self.matcher is None else (self.group, "hooks", self.position)
        return (self.section, self.event, *inner)


class HookReview(Struct, frozen=True):
    """A host's record of the hooks that its user reviewed: the TOML file, and a check of ours in it.

    `missing` takes the level, the place, the file's tables, and the path and the hooks of a settings file.
    """

    path: Callable[[SettingsPlace], str]
    missing: Callable[
        [Level, SettingsPlace, Mapping[str, Any], str, Sequence[RegisteredHook]], Iterable[Obstacle]
    ]


class Host(Struct, frozen=True):
    """A program that runs agents, or git.

    `runs_hooks_of` names a host whose registered hooks this host runs too, and `sent` detects that from a
    payload and the environment. `next_step` is what a person does for a registration to take effect.
    `default_level` is "project" only if a project's settings belong to one clone, as git's hooks do.
    """

    name: str
    title: str
    hooks: Hooks | None = None
    mcp: McpConfig | None = None
    native_rules: NativeRules | None = None
    aliases: tuple[str, ...] = ()
    runs_hooks_of: str = ""
    sent: Callable[[Fields, Mapping[str, str]], bool] = lambda fields, variables: False
    plugin_folder: Callable[[Level, SettingsPlace], str] | None = None
    switches: Callable[[Level, SettingsPlace], Iterable[Switch]] = lambda level, place: ()
    review: HookReview | None = None
    default_level: Level = "user"
    next_step: str = ""
    program: str = ""
    """The name of the host's own program, which tells its version."""
    status_line: str = ""
    """The key of a command for the host's status line, beside its hooks; "" if it runs none."""
    version: Callable[[Mapping[str, str]], str] = lambda variables: ""
    """Finds the host's version in the variables that it sets for hooks; "" if none tells it."""


def command_line(command: Sequence[str]) -> str:
    """Return a command as one line for a shell."""
    return shlex.join(command)


def switch_all_off(title: str, path: str, *, managed: bool = False) -> Switch:
    """Return the switch `disableAllHooks` in a file."""
    return Switch(
        path,
        ("disableAllHooks",),
        True,
        f"{title}'s hooks are off: disableAllHooks in {path}",
        f"set it to false in {path}",
        managed,
    )
