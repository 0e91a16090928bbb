"""Owns the warnings of a reply: they go to the standard error, behind what was printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import terminal


def say_warnings(reply: Mapping[str, Any]) -> None:
    """Write the warnings of a reply, if it has any."""
    terminal.flush()
    for warning in reply.get("warnings", ()):
        terminal.warn(warning)
