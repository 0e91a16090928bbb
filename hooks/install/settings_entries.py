"""Our entries in a host's settings file: hooks listed by event, and the MCP server; entries of others stay.

Hosts list handlers under an event, or groups of handlers with a matcher. Ours get a group of their own at the
end, since Codex identifies reviewed hooks by position. A handler is known as ours by the command it runs,
so it is found even if somebody moved it into another group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..hosts.host import NAME, RegisteredHook
from . import jsonc, toml_tables
from .errors import InstallError
from .program import hook_program, mcp_program

_OURS = frozenset({"command", "args"})
"""Keys that are always set; a person may change any other, such as the tools that are shown."""

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
    """Our entries under `hooks` of a settings file, and what else a new file must hold."""

    registrations: tuple[Registration, ...]
    skeleton: Mapping[str, Any]

    def register(self, text: str) -> str:
        """Return the text with our handlers."""
        text = self._with_skeleton(text if text.strip() else "{}\n")
        wanted = {entry.event for entry in self.registrations}
        for event in {hook.event: None for hook in registered(text)}:
            if event not in wanted:
                text = _strip_event(text, event)
        for entry in self.registrations:
            text = _register(text, entry)
        return text

    def strip(self, text: str) -> str:
        """Return the text without our handlers and without the lists that held nothing else."""
        for event in {hook.event: None for hook in registered(text)}:
            text = _strip_event(text, event)
        return text

    def holds(self, text: str) -> bool:
        """Whether a text holds a handler of ours."""
        return bool(text.strip()) and bool(registered(text))

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return (event, program) for each of our handlers."""
        return [(hook.event, hook.program) for hook in registered(text)]

    def _with_skeleton(self, text: str) -> str:
        for key, value in self.skeleton.items():
            root = jsonc.parse(text)
            if root.get(key) is None:
                text = jsonc.insert(text, root, value, key)
        return text


def registered(text: str) -> tuple[RegisteredHook, ...]:
    """Return our handlers in a text, in its order. Raises `InstallError` for an unreadable text."""
    hooks = _hooks(text)
    if hooks is None:
        return ()
    return tuple(
        hook for item in hooks.items if item.node.kind == "array" for hook in _found(item.key, item.node)
    )


def _found(event: str, handlers: jsonc.JsoncNode) -> Iterator[RegisteredHook]:
    for group, item in enumerate(handlers.items):
        inner = item.node.get("hooks")
        if inner is None or inner.kind != "array":
            value = item.node.plain()
            program = hook_program(value)
            if program:
                yield RegisteredHook(event, 0, group, None, value, program)
            continue
        matcher = item.node.get("matcher")
        for position, entry in enumerate(inner.items):
            value = entry.node.plain()
            program = hook_program(value)
            if program:
                named = (matcher.value or "") if matcher else ""
                yield RegisteredHook(event, group, position, named, value, program)


def _register(text: str, wanted: Registration) -> str:
    found = [hook for hook in registered(text) if hook.event == wanted.event]
    if len(found) == 1 and found[0].matcher == wanted.matcher:
        if found[0].handler == wanted.handler:
            return text
        return jsonc.replace(text, _node(text, found[0]), wanted.handler)
    if found:
        text = _strip_event(text, wanted.event)
    entry: Any = wanted.handler
    if wanted.matcher is not None:
        entry = {"matcher": wanted.matcher} if wanted.matcher else {}
        entry = {**entry, "hooks": [wanted.handler]}
    hooks = _hooks(text)
    if hooks is None:
        return jsonc.insert(text, jsonc.parse(text), {wanted.event: [entry]}, "hooks")
    handlers = hooks.get(wanted.event)
    if handlers is None:
        return jsonc.insert(text, hooks, [entry], wanted.event)
    if handlers.kind != "array":
        raise InstallError(f"hooks.{wanted.event} isn't a list", "mend the file first, nothing was changed")
    return jsonc.insert(text, handlers, entry)


def _strip_event(text: str, event: str) -> str:
    """Remove our handlers of an event, the last first, so that positions stay right."""
    for hook in reversed([hook for hook in registered(text) if hook.event == event]):
        path: Sequence[str | int] = ("hooks", event, hook.position)
        if hook.matcher is not None:
            path = ("hooks", event, hook.group, "hooks", hook.position)
        text = _remove(text, path)
    return text


def _remove(text: str, path: Sequence[str | int]) -> str:
    """Remove the value at a path, then each container around it that is left empty."""
    container = jsonc.parse(text)
    for key in path[:-1]:
        container = container.items[_position(container, key)].node
    text = jsonc.remove(text, container, _position(container, path[-1]))
    if len(path) == 1:
        return text
    left = jsonc.parse(text)
    for key in path[:-1]:
        left = left.items[_position(left, key)].node
    if not jsonc.is_bare(text, left):
        return text
    # A group without handlers is removed with the list.
    return _remove(text, path[:-2] if path[-2] == "hooks" and len(path) > 2 else path[:-1])


def _position(container: jsonc.JsoncNode, key: str | int) -> int:
    if isinstance(key, int):
        return key
    index = container.index(key)
    assert index is not None
    return index


def _node(text: str, hook: RegisteredHook) -> jsonc.JsoncNode:
    hooks = _hooks(text)
    assert hooks
    handlers = hooks.get(hook.event)
    assert handlers
    if hook.matcher is None:
        return handlers.items[hook.position].node
    inner = handlers.items[hook.group].node.get("hooks")
    assert inner
    return inner.items[hook.position].node


def _hooks(text: str) -> jsonc.JsoncNode | None:
    if not text.strip():
        return None
    root = jsonc.parse(text)
    if root.kind != "object":
        raise InstallError("the file holds no object, so no host reads it", "mend the file first")
    hooks = root.get("hooks")
    if hooks is not None and hooks.kind != "object":
        raise InstallError("its hooks are no object", "mend the file first, nothing was changed")
    return hooks


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Our MCP server's entry under `section` of a JSON file."""

    section: str
    entry: Mapping[str, Any]

    def register(self, text: str) -> str:
        """Return the text with our entry. Raises `InstallError` if another server has its name."""
        text = text if text.strip() else "{}\n"
        servers = _servers(text, self.section)
        if servers is None:
            return jsonc.insert(text, jsonc.parse(text), {NAME: dict(self.entry)}, self.section)
        found = servers.get(NAME)
        if found is None:
            return jsonc.insert(text, servers, dict(self.entry), NAME)
        _check_ours(found.plain(), f"{self.section}.{NAME}")
        for key, value in self.entry.items():
            if key in _OURS or found.get(key) is None:
                text = _set(text, (self.section, NAME), key, value)
        return text

    def strip(self, text: str) -> str:
        """Return the text without our entry and without a section that held nothing else."""
        if not self.holds(text):
            return text
        root = jsonc.parse(text)
        servers = _servers(text, self.section)
        index = servers.index(NAME) if servers else None
        assert servers
        assert index is not None
        text = jsonc.remove(text, servers, index)
        root = jsonc.parse(text)
        servers, position = root.get(self.section), root.index(self.section)
        assert servers
        assert position is not None
        return jsonc.remove(text, root, position) if jsonc.is_bare(text, servers) else text

    def holds(self, text: str) -> bool:
        """Whether a text holds our entry."""
        return self.program(text) is not None

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return the program of our server, if it is registered."""
        program = self.program(text)
        return [(MCP, program)] if program else []

    def program(self, text: str) -> str | None:
        """Return the program of our entry."""
        servers = _servers(text, self.section) if text.strip() else None
        found = servers.get(NAME) if servers else None
        return mcp_program(found.plain()) if found else None


@dataclass(frozen=True, slots=True)
class McpTable:
    """Our MCP server's table under `section` of a TOML file."""

    section: str
    entry: Mapping[str, Any]

    @property
    def path(self) -> tuple[str, str]:
        """The keys that lead to the table."""
        return self.section, NAME

    def register(self, text: str) -> str:
        """Return the text with our table. Raises `InstallError` if another server has its name."""
        found = toml_tables.lookup(toml_tables.parse(text), self.path)
        if found is None:
            return toml_tables.append(text, self.path, self.entry)
        _check_ours(found, ".".join(self.path))
        if all(found.get(key) == value for key, value in self.entry.items()):
            return text
        return toml_tables.update(text, self.path, self.entry)

    def strip(self, text: str) -> str:
        """Return the text without our table and those below it, which would be invalid without it."""
        return toml_tables.remove(text, self.path) if self.holds(text) else text

    def holds(self, text: str) -> bool:
        """Whether a text holds our table."""
        return self.program(text) is not None

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return the program of our server, if it is registered."""
        program = self.program(text)
        return [(MCP, program)] if program else []

    def program(self, text: str) -> str | None:
        """Return the program of our table."""
        return mcp_program(toml_tables.lookup(toml_tables.parse(text), self.path))


def _servers(text: str, section: str) -> jsonc.JsoncNode | None:
    root = jsonc.parse(text)
    if root.kind != "object":
        raise InstallError("the file holds no object, so no host reads it", "mend the file first")
    servers = root.get(section)
    if servers is not None and servers.kind != "object":
        raise InstallError(f"its {section} are no object", "mend the file first, nothing was changed")
    return servers


def _check_ours(found: Any, place: str) -> None:
    if mcp_program(found) is None:
        raise InstallError(f"{place} is another server already", "rename that one, or install with --no-mcp")


def _set(text: str, path: tuple[str, ...], key: str, value: Any) -> str:
    node = jsonc.parse(text)
    for part in path:
        inner = node.get(part)
        assert inner
        node = inner
    found = node.get(key)
    if found is None:
        return jsonc.insert(text, node, value, key)
    return text if found.plain() == value else jsonc.replace(text, found, value)
