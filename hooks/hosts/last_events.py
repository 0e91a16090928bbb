"""The file that says when each host last sent an event. The daemon writes it, the command line reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

NAME = "hook-events.json"
MAX_BYTES = 64 * 1024


def read(state: str) -> Mapping[str, tuple[str, str]]:
    """Return the last event of each host and its time (ISO 8601), nothing if the file can't be read."""
    try:
        with open(os.path.join(state, NAME), "rb") as file:
            values = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {
        str(host): (str(found[0]), str(found[1]))
        for host, found in values.items()
        if isinstance(found, list) and len(found) == 2
    }
