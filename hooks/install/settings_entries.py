"""Our entries in a host's settings file: hooks listed by event, and the MCP server; entries of others stay.

Hosts list handlers under an event, or groups of handlers with a matcher. Ours get a group of their own at the
end, since Codex identifies reviewed hooks by position. A handler is known as ours by the command it runs,
so it is found even if somebody moved it into another group.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from ..hosts.host import NAME, RegisteredHook
from . import jsonc, toml_tables
from .errors import InstallError
from .program import STATUS_LINE, hook_program, is_server_hook, mcp_program, status_line_program

_OURS = frozenset({"command", "args"})
"""Keys that are always set; a person may change any other, such as the tools that are shown."""

HOOKS = "hooks"
"""The section of a settings file that most hosts read hooks from."""

MCP = "mcp"
"""The name of the MCP server among the events that a file registers."""


@dataclass(frozen=True, slots=True)
class Registration:
    """The entry of one event in a settings file; `matcher` is None if the host has no groups."""

    event: str
    handler: Mapping[str, Any]
    matcher: str | None


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Our entries under `section` of a settings file, and what else a new file must hold.

    `in_server` are the entries that call our MCP server, in place of those of the same events; `calls_server`
    says whether they are to be registered, None to leave that as it is.
    """

    registrations: tuple[Registration, ...]
    skeleton: Mapping[str, Any]
    section: str = HOOKS
    in_server: tuple[Registration, ...] = ()
    calls_server: bool | None = None

    def register(self, text: str) -> str:
        """Return the text with our handlers."""
        text = text if text.strip() else "{}\n"
        for key, value in self.skeleton.items():
            root = jsonc.parse(text)
            if root.get(key) is None:
                text = jsonc.insert(text, root, value, key)
        wanted = {entry.event for entry in self.registrations}
        text = self._without(text, {hook.event for hook in registered(text, self.section)} - wanted)
        calls_server = self.calls_server
        if calls_server is None:
            calls_server = any(is_server_hook(hook.handler) for hook in registered(text, self.section))
        served = {entry.event: entry for entry in self.in_server} if calls_server else {}
        for entry in self.registrations:
            text = self._register(text, served.get(entry.event, entry))
        return text

    def strip(self, text: str) -> str:
        """Return the text without our handlers and without the lists that held nothing else."""
        return self._without(text, {hook.event for hook in registered(text, self.section)})

    def holds(self, text: str) -> bool:
        """Whether a text holds a handler of ours."""
        return bool(text.strip()) and bool(registered(text, self.section))

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return (event, program) for each of our handlers."""
        return [(hook.event, hook.program) for hook in registered(text, self.section)]

    def _register(self, text: str, wanted: Registration) -> str:
        found = [hook for hook in registered(text, self.section) if hook.event == wanted.event]
        if len(found) == 1 and found[0].matcher == wanted.matcher:
            if found[0].handler == wanted.handler:
                return text
            return jsonc.replace(text, jsonc.parse(text).at(found[0].path), wanted.handler)
        text = self._without(text, {wanted.event})
        entry: Any = wanted.handler
        if wanted.matcher is not None:
            entry = {"matcher": wanted.matcher} if wanted.matcher else {}
            entry = {**entry, "hooks": [wanted.handler]}
        hooks = _section(text, self.section)
        if hooks is None:
            return jsonc.insert(text, jsonc.parse(text), {wanted.event: [entry]}, self.section)
        handlers = hooks.get(wanted.event)
        if handlers is None:
            return jsonc.insert(text, hooks, [entry], wanted.event)
        if handlers.kind != "array":
            place = f"{self.section}.{wanted.event}"
            raise InstallError(f"{place} isn't a list", "mend the file first, nothing was changed")
        return jsonc.insert(text, handlers, entry)

    def _without(self, text: str, events: AbstractSet[str]) -> str:
        """Remove our handlers of some events, the last first, so that positions stay right."""
        for hook in reversed(registered(text, self.section)):
            if hook.event in events:
                text = _remove(text, hook.path)
        return text


@dataclass(frozen=True, slots=True)
class StatusLine:
    """Our status line under a key of a settings file, which a host runs; with `wanted` it is to be added."""

    key: str
    program: str
    wanted: bool

    def register(self, text: str) -> str:
        """Return the text with our line if it is wanted. Raises `InstallError` if there is another line."""
        found = _root(text).get(self.key)
        if not self.wanted and not self.holds(text):
            return text
        entry = {"type": "command", "command": shlex.join((self.program, STATUS_LINE))}
        if found is None:
            text = text if text.strip() else "{}\n"
            return jsonc.insert(text, jsonc.parse(text), entry, self.key)
        if not self.holds(text):
            raise InstallError(
                "it has a status line already", f"let that one call {self.program} {STATUS_LINE}, too"
            )
        value = {**found.plain(), **entry}
        return text if found.plain() == value else jsonc.replace(text, found, value)

    def strip(self, text: str) -> str:
        """Return the text without our line."""
        return _remove(text, (self.key,)) if self.holds(text) else text

    def holds(self, text: str) -> bool:
        """Whether the line of a text is ours."""
        found = _root(text).get(self.key)
        return found is not None and status_line_program(found.plain()) is not None

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return the program of our line, if there is one."""
        found = _root(text).get(self.key)
        program = status_line_program(found.plain()) if found is not None else None
        return [(STATUS_LINE, program)] if program else []


def registered(text: str, section: str = HOOKS) -> tuple[RegisteredHook, ...]:
    """Return our handlers in a text, in its order. Raises `InstallError` for an unreadable text."""
    hooks = _section(text, section) if text.strip() else None
    if hooks is None:
        return ()
    return tuple(
        hook
        for item in hooks.items
        if item.node.kind == "array"
        for hook in _found(section, item.key, item.node)
    )


def _found(section: str, event: str, handlers: jsonc.JsoncNode) -> Iterator[RegisteredHook]:
    for group, item in enumerate(handlers.items):
        inner = item.node.get("hooks")
        if inner is None or inner.kind != "array":
            value = item.node.plain()
            program = hook_program(value)
            if program is not None:
                yield RegisteredHook(event, 0, group, None, value, program, section)
            continue
        matcher = item.node.get("matcher")
        for position, entry in enumerate(inner.items):
            value = entry.node.plain()
            program = hook_program(value)
            if program is not None:
                named = (matcher.value or "") if matcher else ""
                yield RegisteredHook(event, group, position, named, value, program, section)


def _remove(text: str, path: Sequence[str | int]) -> str:
    """Remove the value at a path, then each container around it that is left empty."""
    container = jsonc.parse(text).at(path[:-1])
    text = jsonc.remove(text, container, container.position(path[-1]))
    if len(path) == 1 or not jsonc.is_bare(text, jsonc.parse(text).at(path[:-1])):
        return text
    # A group without handlers is removed with the list.
    return _remove(text, path[:-2] if path[-2] == "hooks" and len(path) > 2 else path[:-1])


def _root(text: str) -> jsonc.JsoncNode:
    return jsonc.parse(text if text.strip() else "{}")


def _section(text: str, name: str) -> jsonc.JsoncNode | None:
    root = jsonc.parse(text)
    if root.kind != "object":
        raise InstallError("the file holds no object, so no host reads it", "mend the file first")
    section = root.get(name)
    if section is not None and section.kind != "object":
        raise InstallError(f"its {name} are no object", "mend the file first, nothing was changed")
    return section


@dataclass(frozen=True, slots=True)
class McpEntry:
    """Our MCP server's entry under `section` of a file."""

    section: str
    entry: Mapping[str, Any]

    def holds(self, text: str) -> bool:
        """Whether a text holds our entry."""
        return bool(self.entries(text))

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return the program of our server, if it is registered."""
        program = mcp_program(self.found(text))
        return [(MCP, program)] if program else []

    def found(self, text: str) -> Any:
        """Return the value of the entry that has our name, None for none."""
        raise NotImplementedError

    def check_ours(self, found: Any) -> None:
        """Raise `InstallError` if the entry is another server's."""
        if mcp_program(found) is None:
            place = f"{self.section}.{NAME} is another server already"
            raise InstallError(place, "rename that one, or install with --no-mcp")


class McpSettings(McpEntry):
    """Our entry in a JSON file."""

    def register(self, text: str) -> str:
        """Return the text with our entry. Raises `InstallError` if another server has its name."""
        text = text if text.strip() else "{}\n"
        servers = _section(text, self.section)
        if servers is None:
            return jsonc.insert(text, jsonc.parse(text), {NAME: dict(self.entry)}, self.section)
        found = servers.get(NAME)
        if found is None:
            return jsonc.insert(text, servers, dict(self.entry), NAME)
        self.check_ours(found.plain())
        for key, value in self.entry.items():
            if key in _OURS or found.get(key) is None:
                text = self._set(text, key, value)
        return text

    def strip(self, text: str) -> str:
        """Return the text without our entry and without a section that held nothing else."""
        return _remove(text, (self.section, NAME)) if self.holds(text) else text

    def found(self, text: str) -> Any:
        """Return the value of the entry that has our name, None for none."""
        found = self._entry(text) if text.strip() else None
        return found.plain() if found else None

    def _entry(self, text: str) -> jsonc.JsoncNode | None:
        servers = _section(text, self.section)
        return servers.get(NAME) if servers else None

    def _set(self, text: str, key: str, value: Any) -> str:
        node = self._entry(text)
        assert node
        found = node.get(key)
        if found is None:
            return jsonc.insert(text, node, value, key)
        return text if found.plain() == value else jsonc.replace(text, found, value)


class McpTable(McpEntry):
    """Our table in a TOML file."""

    def register(self, text: str) -> str:
        """Return the text with our table. Raises `InstallError` if another server has its name."""
        found, path = self.found(text), (self.section, NAME)
        if found is None:
            return toml_tables.append(text, path, self.entry)
        self.check_ours(found)
        if all(found.get(key) == value for key, value in self.entry.items()):
            return text
        return toml_tables.update(text, path, self.entry)

    def strip(self, text: str) -> str:
        """Return the text without our table and those below it, which would be invalid without it."""
        return toml_tables.remove(text, (self.section, NAME)) if self.holds(text) else text

    def found(self, text: str) -> Any:
        """Return the value of the table that has our name, None for none."""
        return toml_tables.lookup(toml_tables.parse(text), (self.section, NAME))
