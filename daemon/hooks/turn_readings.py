"""Reads what agents did in a turn as soon as it ends; its decisions wait until the conversation rests."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ...hooks.hosts.events import Event, Origin
from ..core.errors import FovealError, InvalidRequest

log = logging.getLogger(__name__)

WAITING_MAX = 100
"""Maximum number of transcripts that wait; those beyond it are read when their conversation rests."""

REFUSED_MAX = 1_000
"""Maximum number of transcripts remembered as unreadable."""

ReadTurn = Callable[[Origin, str], Awaitable[None]]
"""Reads the new part of a transcript, given the origin of the event and the file."""


class TurnReadings:
    """The transcripts to read. On the event loop only; `run` must be running as a task."""

    def __init__(self, read: ReadTurn) -> None:
        self._read = read
        self._waiting: dict[str, Origin] = {}
        self._changed = asyncio.Event()
        self._refused: dict[str, None] = {}

    def note(self, event: Event) -> None:
        """Note that a turn ended."""
        path = event.transcript_path
        if os.path.isabs(path) and path not in self._refused and len(self._waiting) < WAITING_MAX:
            self._waiting[path] = event.origin
            self._changed.set()

    async def run(self) -> None:
        """Read one transcript after the other; never returns."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._waiting:
                path = next(iter(self._waiting))
                await self._take(self._waiting.pop(path), path)

    async def _take(self, origin: Origin, path: str) -> None:
        try:
            await self._read(origin, path)
        except InvalidRequest:
            with suppress(OSError):
                if not os.stat(path).st_size:
                    return  # the host hasn't written it yet
            self._refused[path] = None
            if len(self._refused) > REFUSED_MAX:
                del self._refused[next(iter(self._refused))]
        except (FovealError, OSError) as error:
            log.debug("what happened in a turn isn't read yet: %s", error)
        except Exception:
            log.exception("what happened in a turn can't be read")
