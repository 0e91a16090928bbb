"""Owns what is left of a reply for an agent: without what names a hidden path or item, secrets masked.

It knows things by their fields, whichever method tells of them, so that a new method is held to the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from ..privacy.policy import Policy

PATH_FIELDS = ("path", "node_id", "file")
"""What tells of one file has its path in one of these; the whole goes where that is hidden."""

SENT_FIELDS = ("context", "system_prompt", "user_prompt", "messages", "tools")
"""The texts of a request as they were sent."""

_GONE = object()


class Sight(Struct, frozen=True):
    """What an agent may see of one project: its policy, and the items that it doesn't get, as (type, name,
    server). With `masks` false texts come as they were sent once, masked or not."""

    policy: Policy
    root: str
    denied_items: frozenset[tuple[str, str, str]] = frozenset()
    masks: bool = True

    @property
    def changes_anything(self) -> bool:
        """Whether there is something that is hidden, or looked for to be masked."""
        return self.masks or bool(self.denied_items or self.policy.deny_paths or self.policy.deny_items)

    def of_text(self, text: str) -> str:
        """Return a text, empty where it names what is hidden."""
        if self.hides_text(text):
            return ""
        return self.policy.mask(text) if self.masks else text

    def hides_text(self, text: str) -> bool:
        """Whether a text is a hidden path or node id, or names one."""
        policy = self.policy
        if not policy.deny_paths:
            return False
        path = text.removeprefix(f"{self.root.rstrip('/')}/")
        return (
            policy.denies(path)
            or policy.denies(path.partition("#")[0])
            or policy.names_denied(text, self.root)
        )


def visible_reply(sight: Sight, reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply as an agent may see it. Fields keep their names and types: a text that names what is
    hidden is empty, and entries of lists that do are gone, from `total` too."""
    if not sight.changes_anything:
        return dict(reply)
    found = _map(sight, reply)
    lists = [(name, value) for name, value in reply.items() if isinstance(value, list) and name in found]
    lost = sum(len(value) - len(found[name]) for name, value in lists)
    if lost and isinstance(total := reply.get("total"), int):
        found["total"] = max(total - lost, 0)
    return found


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a value that would be masked: not the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)


def without_texts(reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request as it was recorded without what was sent, which may show what is hidden now."""
    found = {name: value for name, value in reply.items() if name not in SENT_FIELDS}
    if len(found) < len(reply):
        found["problem"] = "what was sent isn't given to an agent from whom something is hidden"
    return found


def _value(sight: Sight, value: Any) -> Any:
    """Return what is left of a value, or `_GONE`."""
    if isinstance(value, str):
        return sight.of_text(value)
    if isinstance(value, Mapping):
        return _GONE if _is_hidden(sight, value) else _map(sight, value)
    if isinstance(value, list | tuple):
        kept = [one for one in value if not (isinstance(one, str) and sight.hides_text(one))]
        return [left for one in kept if (left := _value(sight, one)) is not _GONE]
    return value


def _map(sight: Sight, value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, one in value.items():
        if isinstance(name, str) and sight.hides_text(name):
            continue
        shown = one
        if name == "tools" and isinstance(one, list) and isinstance(value.get("name"), str):
            shown = [tool for tool in one if not _is_denied_tool(sight, tool, value["name"])]
        left = _value(sight, shown)
        if left is not _GONE:
            found[name] = left
    return found


def _is_hidden(sight: Sight, value: Mapping[str, Any]) -> bool:
    """Whether what a map tells of is hidden as a whole: a file, an item, an experience."""
    if any(isinstance(path := value.get(name), str) and sight.hides_text(path) for name in PATH_FIELDS):
        return True
    kind, name = value.get("type"), value.get("name")
    if isinstance(kind, str) and isinstance(name, str):
        server = value.get("server_name") or ""
        if (kind, name, server) in sight.denied_items or sight.policy.denies_item(kind, name, str(server)):
            return True
        if kind != "tool" and sight.hides_text(name):
            return True
    return _is_hidden_experience(sight, value)


def _is_hidden_experience(sight: Sight, value: Mapping[str, Any]) -> bool:
    decision, files = value.get("decision"), value.get("files_touched")
    if not isinstance(decision, str) or not isinstance(files, list | tuple):
        return False
    texts = [decision, value.get("rationale"), (value.get("outcome") or {}).get("error")]
    if any(isinstance(text, str) and sight.hides_text(text) for text in texts):
        return True
    return bool(files) and all(isinstance(path, str) and sight.hides_text(path) for path in files)


def _is_denied_tool(sight: Sight, tool: Any, server_name: str) -> bool:
    if not isinstance(tool, Mapping) or not isinstance(name := tool.get("name"), str):
        return False
    return sight.policy.denies_item("tool", name, server_name)
