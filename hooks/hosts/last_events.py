"""The file that says when each host last sent an event. The daemon writes it, the command line reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

NAME = "hook-events.json"
MAX_BYTES = 64 * 1024


def read(state: str) -> Mapping[str, tuple[str, str]]:
    """Return the last event of each host and its time (ISO 8601), nothing if the file can't be read."""
    try:
        with open(os.path.join(state, NAME), "rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=dict[str, tuple[str, str]])
    except (OSError, msgspec.MsgspecError, ValueError):
        return {}
