"""Tolerant reading of a hook's payload: a missing or null field, or one of another type, reads as empty."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

TEXT_MAX = 100_000
"""Maximum characters read of a prompt, a task or a report."""

TIME_MAX_MS = 1 << 53
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_ADDED = ("<hook_context>", "<foveal-context>", "&lt;foveal-context&gt;", "[foveal-context]")
_ELEMENT = re.compile(
    r"<hook_context>.*?</hook_context>"
    r"|(?P<open><|&lt;|\[)foveal-context(?:>|&gt;|\]).*?(?P=open)/foveal-context(?:>|&gt;|\])",
    re.DOTALL,
)

_UNSTABLE = frozenset(("hook_event_name", "hookEventName", "timestamp", "model", "permission_mode"))
"""Fields that may differ between two payloads of the same event."""


class Fields:
    """The fields of a payload. Each is read under several names, since hosts spell them differently."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def has(self, *names: str) -> bool:
        """Whether one of the fields is present and not null."""
        return any(self._values.get(name) is not None for name in names)

    def flag(self, *names: str) -> bool:
        """Whether one of the fields is set: neither false nor 0 nor empty."""
        return any(self._values.get(name) for name in names)

    def value(self, name: str) -> object:
        """Return a field as it is, None if it is missing."""
        return self._values.get(name)

    def text(self, *names: str) -> str:
        """Return the first field that is a non-empty string, as valid UTF-8."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, str) and value:
                return value[:TEXT_MAX].encode("utf-8", "replace").decode()
        return ""

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the strings of the first field that is a list."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, list):
                return tuple(Fields({"": item}).text("") for item in value if isinstance(item, str))
        return ()

    def milliseconds(self, name: str) -> int:
        """Return a time, in milliseconds since 1970 or in ISO 8601, as milliseconds since 1970; else 0."""
        value = self._values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < TIME_MAX_MS:
            return int(value)
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else EPOCH
            return max(0, int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))
        except (ValueError, OverflowError):
            return 0

    def part(self, *names: str) -> Fields:
        """Return the first field that is an object, or its JSON text; else no fields."""
        for name in names:
            value = self._values.get(name)
            if isinstance(value, str):
                value = parsed(value)
            if isinstance(value, Mapping):
                return Fields(value)
        return Fields({})

    def strings(self) -> tuple[str, ...]:
        """Return every field that is a string, and the strings of every list."""
        found: list[str] = []
        for value in self._values.values():
            found += [
                item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)
            ]
        return tuple(found)

    def digest(self) -> str:
        """Return a digest that two payloads of the same event share."""
        kept = {str(name): value for name, value in self._values.items() if name not in _UNSTABLE}
        text = json.dumps(kept, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def typed(prompt: str) -> str:
    """Return a prompt without the elements before it that hooks added; the host may have escaped them.

    Without an element's end all of it is a hook's.
    """
    while (stripped := prompt.lstrip()).startswith(_ADDED):
        found = _ELEMENT.match(stripped)
        prompt = stripped[found.end() :].lstrip() if found else ""
    return prompt


def value_at(text: str, position: int) -> object:
    """Return the JSON value that begins at a position of a text, None if it is invalid."""
    try:
        return _DECODER.raw_decode(text, position)[0]
    except (ValueError, RecursionError):
        return None


_DECODER = json.JSONDecoder(strict=False)


def parsed(text: str) -> object:
    """Return the value of a JSON text, None if it is invalid."""
    try:
        return json.loads(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))
    except (ValueError, RecursionError):
        return None
