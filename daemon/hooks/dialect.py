"""Owns what an adapter for a host is: payload to event, answer to the bytes that the host accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from msgspec import Struct

from .answer import NO_ROOM, HookAnswer, OutputLimit
from .events import Event
from .fields import Fields


class Dialect(Struct, frozen=True):
    """How one host speaks.

    `read` takes the payload, the event's name as the host writes it, and the folder to fall back on; None is
    an event that means nothing to us. `write` gives the text to print, "" for none. `rooms` has the events
    whose answer may bring text to the model, by that name.
    """

    host: str
    read: Callable[[Fields, str, str], Event | None]
    write: Callable[[str, HookAnswer], str]
    rooms: Mapping[str, OutputLimit]

    def room(self, event_name: str) -> OutputLimit:
        """Return how much text an event's answer may bring to the model."""
        return self.rooms.get(event_name, NO_ROOM)


def written(fields: Mapping[str, object]) -> str:
    """Return a JSON object on one line, in ASCII whatever the locale; "" for an empty one."""
    return json.dumps(fields, separators=(",", ":")) if fields else ""
