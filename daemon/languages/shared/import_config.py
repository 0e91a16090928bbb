"""The configuration files that decide what imports mean: reading them, and how much of them counts.

They are untrusted: whatever a file holds, reading it ends and raises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .lazy_pattern import lazy_pattern

MAX_CONFIG_BYTES = 1 << 20
"""A larger configuration file is treated as if it were empty."""

MAX_TARGETS = 32
"""Targets taken of one alias or one `exports` entry, and nesting of its conditions."""

MAX_STARS = 1_000
"""Patterns with a star taken of one configuration file; they are tried one by one."""

MAX_PACKAGES = 5_000
"""Manifests of one kind that are read in one project."""


class ImportConfig:
    """Reads configuration files, each once, and remembers which were asked for, present or not."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._objects: dict[str, dict[str, object]] = {}
        self.asked: set[str] = set()

    def clear(self) -> None:
        """Forget the contents. What was asked for stays known until it is asked for again."""
        self._objects.clear()

    def text(self, path: str) -> str:
        """Return a file's text, empty when there is none or it is too large."""
        self.asked.add(path)
        data = self._read(path)
        if data is None or len(data) > MAX_CONFIG_BYTES:
            return ""
        return data.decode("utf-8-sig", "replace")

    def json(self, path: str) -> dict[str, object]:
        """Return the object that a JSON file holds, which may have comments and trailing commas; else {}."""
        known = self._objects.get(path)
        if known is None:
            known = self._objects[path] = _json_object(self.text(path))
        return known


# Strings are matched so that what looks like a comment inside one stays. Nothing here can backtrack.
_JSON_COMMENT = lazy_pattern(r'"(?:[^"\\]++|\\.)*+\\?"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_JSON_COMMA = lazy_pattern(r'"(?:[^"\\]++|\\.)*+\\?"?|,(?=\s*[}\]])', re.DOTALL)


def _json_object(text: str) -> dict[str, object]:
    """Return the object in a JSON text with comments and trailing commas, {} when it isn't one."""
    for pattern in (_JSON_COMMENT, _JSON_COMMA):
        text = pattern.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
