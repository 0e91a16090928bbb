"""Owns our handlers in a settings file that lists handlers by event; never touches those of others.

Hosts either list handlers under an event, or groups of handlers with a matcher. Ours get a group of their own
at the end, since Codex knows the hooks that a person trusted by their position. A handler is known as ours by
what it runs, so one that somebody moved into another group is found too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import jsonc_edit
from .errors import InstallError
from .hosts import Registration
from .jsonc_tree import JsoncNode, parse
from .program import hook_program


@dataclass(frozen=True, slots=True)
class Registered:
    """A handler of ours as it stands in a file; `group` is its position, 0 throughout where none exist."""

    event: str
    group: int
    position: int
    matcher: str | None
    handler: Mapping[str, Any]
    program: str


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The `hooks` of a settings file: what belongs there, and what else a new file must say."""

    registrations: tuple[Registration, ...]
    skeleton: Mapping[str, Any]

    def register(self, text: str) -> str:
        """Return the text with our handlers as they should be."""
        text = self._with_skeleton(text if text.strip() else "{}\n")
        wanted = {one.event for one in self.registrations}
        for event in {one.event: None for one in registered(text)}:
            if event not in wanted:
                text = _strip_event(text, event)
        for one in self.registrations:
            text = _register(text, one)
        return text

    def strip(self, text: str) -> str:
        """Return the text without our handlers, nor the lists that held nothing else."""
        for event in {one.event: None for one in registered(text)}:
            text = _strip_event(text, event)
        return text

    def holds(self, text: str) -> bool:
        """Whether a text holds a handler of ours."""
        return bool(text.strip()) and bool(registered(text))

    def _with_skeleton(self, text: str) -> str:
        for key, value in self.skeleton.items():
            root = parse(text)
            if root.get(key) is None:
                text = jsonc_edit.insert(text, root, value, key)
        return text


def registered(text: str) -> tuple[Registered, ...]:
    """Return our handlers in a text, in its order. Raises `InstallError` for one that no host could read."""
    hooks = _hooks(text)
    if hooks is None:
        return ()
    return tuple(
        one for item in hooks.items if item.node.kind == "array" for one in _found(item.key, item.node)
    )


def _found(event: str, handlers: JsoncNode) -> Iterator[Registered]:
    for group, item in enumerate(handlers.items):
        inner = item.node.get("hooks")
        if inner is None or inner.kind != "array":
            value = item.node.plain()
            program = hook_program(value)
            if program:
                yield Registered(event, 0, group, None, value, program)
            continue
        matcher = item.node.get("matcher")
        for position, entry in enumerate(inner.items):
            value = entry.node.plain()
            program = hook_program(value)
            if program:
                named = (matcher.value or "") if matcher else ""
                yield Registered(event, group, position, named, value, program)


def _register(text: str, wanted: Registration) -> str:
    found = [one for one in registered(text) if one.event == wanted.event]
    if len(found) == 1 and found[0].matcher == wanted.matcher:
        if found[0].handler == wanted.handler:
            return text
        return jsonc_edit.replace(text, _node(text, found[0]), wanted.handler)
    if found:
        text = _strip_event(text, wanted.event)
    entry: Any = wanted.handler
    if wanted.matcher is not None:
        entry = {"matcher": wanted.matcher} if wanted.matcher else {}
        entry = {**entry, "hooks": [wanted.handler]}
    hooks = _hooks(text)
    if hooks is None:
        return jsonc_edit.insert(text, parse(text), {wanted.event: [entry]}, "hooks")
    handlers = hooks.get(wanted.event)
    if handlers is None:
        return jsonc_edit.insert(text, hooks, [entry], wanted.event)
    if handlers.kind != "array":
        raise InstallError(f"hooks.{wanted.event} isn't a list", "mend the file first, nothing was changed")
    return jsonc_edit.insert(text, handlers, entry)


def _strip_event(text: str, event: str) -> str:
    """Take our handlers out of one event, the last one first, so that positions hold."""
    for one in reversed([one for one in registered(text) if one.event == event]):
        path: Sequence[str | int] = ("hooks", event, one.position)
        if one.matcher is not None:
            path = ("hooks", event, one.group, "hooks", one.position)
        text = _remove(text, path)
    return text


def _remove(text: str, path: Sequence[str | int]) -> str:
    """Take out what stands at a path, then each container around it that is bare then."""
    container = parse(text)
    for key in path[:-1]:
        container = container.items[_position(container, key)].node
    text = jsonc_edit.remove(text, container, _position(container, path[-1]))
    if len(path) == 1:
        return text
    left = parse(text)
    for key in path[:-1]:
        left = left.items[_position(left, key)].node
    if not jsonc_edit.is_bare(text, left):
        return text
    # A group is nothing without its handlers, so that it goes with the list that was the last of it.
    return _remove(text, path[:-2] if path[-2] == "hooks" and len(path) > 2 else path[:-1])


def _position(container: JsoncNode, key: str | int) -> int:
    if isinstance(key, int):
        return key
    index = container.index(key)
    assert index is not None
    return index


def _node(text: str, one: Registered) -> JsoncNode:
    hooks = _hooks(text)
    assert hooks
    handlers = hooks.get(one.event)
    assert handlers
    if one.matcher is None:
        return handlers.items[one.position].node
    inner = handlers.items[one.group].node.get("hooks")
    assert inner
    return inner.items[one.position].node


def _hooks(text: str) -> JsoncNode | None:
    if not text.strip():
        return None
    root = parse(text)
    if root.kind != "object":
        raise InstallError("the file holds no object, so no host reads it", "mend the file first")
    hooks = root.get("hooks")
    if hooks is not None and hooks.kind != "object":
        raise InstallError("its hooks are no object", "mend the file first, nothing was changed")
    return hooks
