"""Owns the tolerant reading of a payload: what is missing, null or of another type than expected is empty."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..core.errors import InvalidRequest, TooLarge

MAX_CHARACTERS = 8 * 1024 * 1024
"""Of a payload that comes as text, as much as a hook reads."""

TEXT_MAX = 100_000
"""Of a prompt, a task or a report the beginning is enough."""

_UNSTABLE = frozenset(("hook_event_name", "hookEventName", "timestamp", "model", "permission_mode"))
"""What two hooks that hear of the same event may be told differently."""


class Fields:
    """The fields of a payload, each under one of several names, since hosts differ in their spelling."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def has(self, *names: str) -> bool:
        """Whether one of the fields is there and not null."""
        return any(self._values.get(name) is not None for name in names)

    def text(self, *names: str) -> str:
        """Return the first that is a string and not empty, fit to be stored."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, str) and value:
                return value[:TEXT_MAX].encode("utf-8", "replace").decode()
        return ""

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the strings of the first that is a list."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, list):
                return tuple(Fields({"": one}).text("") for one in value if isinstance(one, str))
        return ()

    def part(self, *names: str) -> Fields:
        """Return the first that is a map, also one that is written as a JSON text; else an empty one."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, str):
                value = _loaded(value)
            if isinstance(value, Mapping):
                return Fields(value)
        return Fields({})

    def strings(self) -> tuple[str, ...]:
        """Return every field that is a string, or a list's string."""
        found: list[str] = []
        for value in self._values.values():
            found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        return tuple(found)

    def with_text(self, name: str, value: str) -> Fields:
        """Return fields with one more."""
        return Fields({**self._values, name: value})

    def digest(self) -> str:
        """Return a digest that two tellings of the same event share."""
        kept = {str(name): value for name, value in self._values.items() if name not in _UNSTABLE}
        text = json.dumps(kept, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def fields_in(payload: object) -> Fields:
    """Return the fields of a payload, a map or the text of a JSON object. Raises `InvalidRequest`."""
    if isinstance(payload, str):
        if len(payload) > MAX_CHARACTERS:
            raise TooLarge(f"payload has {len(payload):,} characters; at most {MAX_CHARACTERS:,} are taken")
        if not payload.strip():
            return Fields({})
        payload = _loaded(payload)
    if not isinstance(payload, Mapping):
        raise InvalidRequest("payload must be a map, or the text of a JSON object", "payload")
    return Fields(payload)


def _loaded(text: str) -> object:
    try:
        return json.loads(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))
    except (ValueError, RecursionError):
        return None
