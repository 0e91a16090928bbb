"""The configuration files that decide how imports resolve, read within limits.

They are untrusted: reading ends for any content and raises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .lazy_pattern import lazy_pattern

MAX_CONFIG_BYTES = 1 << 20
"""Maximum bytes of a configuration file; a larger one counts as empty."""

MAX_TARGETS = 32
"""Maximum targets of an alias or an `exports` entry, and maximum nesting of its conditions."""

MAX_STARS = 1_000
"""Maximum patterns with a star in a configuration file; each is tried in turn."""

MAX_PACKAGES = 5_000
"""Maximum manifests of each kind in a project."""


class ImportConfig:
    """Reads configuration files, each once, and records which were requested, whether or not they exist."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._objects: dict[str, dict[str, object]] = {}
        self.asked: set[str] = set()

    def clear(self) -> None:
        """Drop the contents. The record of requested files stays until they are requested again."""
        self._objects.clear()

    def text(self, path: str) -> str:
        """Return a file's text, empty if it doesn't exist or is too large."""
        self.asked.add(path)
        data = self._read(path)
        if data is None or len(data) > MAX_CONFIG_BYTES:
            return ""
        return data.decode("utf-8-sig", "replace")

    def json(self, path: str) -> dict[str, object]:
        """Return the object in a JSON file, which may have comments and trailing commas; else {}."""
        known = self._objects.get(path)
        if known is None:
            known = self._objects[path] = _json_object(self.text(path))
        return known


# Strings are matched too, so that text inside a string isn't taken for a comment. Nothing here can backtrack.
_JSON_COMMENT = lazy_pattern(r'"(?:[^"\\]++|\\.)*+\\?"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_JSON_COMMA = lazy_pattern(r'"(?:[^"\\]++|\\.)*+\\?"?|,(?=\s*[}\]])', re.DOTALL)


def _json_object(text: str) -> dict[str, object]:
    """Return the object in a JSON text with comments and trailing commas, {} for anything else."""
    for pattern in (_JSON_COMMENT, _JSON_COMMA):
        text = pattern.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
