"""When each host last sent an event, for ListHosts; a file tells `foveal hooks check` without a daemon."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Mapping

from ...hooks.hosts.last_events import NAME, read
from ..core.system import System

log = logging.getLogger(__name__)

WRITE_S = 30.0
"""Seconds between two writes of the file, which is a convenience."""


class LastEvents:
    """The last event of each host. On the event loop only; `run` must be running as a task."""

    def __init__(self, state_dir: str, system: System) -> None:
        self._path = os.path.join(state_dir, NAME)
        self._system = system
        self._seen: dict[str, list[str]] = {}
        self._changed = asyncio.Event()

    def note(self, host: str, event: str) -> None:
        """Note that a host sent an event now."""
        self._seen[host] = [event, self._system.now().isoformat(timespec="seconds")]
        self._changed.set()

    async def all(self) -> Mapping[str, tuple[str, str]]:
        """Return the last event of each host and its time (ISO 8601), also from earlier daemons."""
        kept = await asyncio.to_thread(read, os.path.dirname(self._path))
        return {**kept, **{host: (event, at) for host, (event, at) in self._seen.items()}}

    async def run(self) -> None:
        """Write the file whenever something changed, at most every half minute; never returns."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await asyncio.to_thread(self._write, dict(self._seen))
            except OSError as error:
                log.warning("the time of the last event can't be kept: %s", error)
            await asyncio.sleep(WRITE_S)

    def _write(self, seen: dict[str, list[str]]) -> None:
        folder = os.path.dirname(self._path)
        known = {host: list(found) for host, found in read(folder).items()}
        self._system.write_atomic(self._path, json.dumps(known | seen).encode())
