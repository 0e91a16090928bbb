"""Owns the grafts that hooks hand over: kept on the disk until they are done, one after the other."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Awaitable, Callable

from .errors import InvalidRequest
from .hook.dialects import speaker_of
from .hook.events import Event, SubagentStopped
from .hook.fields import fields_in
from .hook.spool import Spool, Spooled
from .system import System

log = logging.getLogger(__name__)

REPORTS = "hook-reports"
"""The folder of last words that came without a transcript, as long as they are being read."""

Graft = Callable[[str, str, str, str], Awaitable[object]]
"""Grafts a transcript, given the agent's folder, the file, the session and the agent."""


class HookGrafts:
    """The grafts of hooks. On the event loop only; `run` must be running as a task."""

    def __init__(self, state_dir: str, graft: Graft, system: System) -> None:
        self._state_dir = state_dir
        self._graft = graft
        self._system = system
        self._spool = Spool(state_dir, system)
        self._waiting = asyncio.Event()
        self._waiting.set()  # what the last daemon left, and hooks that found none
        self._put_off: set[str] = set()

    async def run(self) -> None:
        """Graft what is spooled, at the start and whenever something is; never ends by itself.

        What fails for a reason that may pass is tried again at the next start.
        """
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            for spooled in await asyncio.to_thread(self._spool.waiting):
                if spooled.path not in self._put_off:
                    await self._take(spooled)

    def look(self) -> None:
        """Look for what hooks spooled because there was no time to answer them."""
        self._waiting.set()

    async def keep(self, host: str, event: str, cwd: str, payload: str) -> None:
        """Keep an event until it is grafted; durable when this returns."""
        if not await asyncio.to_thread(self._spool.put, (host, event, cwd), payload):
            log.warning("a subagent's end isn't grafted: too many wait already")
        self._waiting.set()

    async def _take(self, spooled: Spooled) -> None:
        """Graft what a spooled event tells and remove it; the one place that takes its failures."""
        try:
            event = _event_of(spooled)
            if isinstance(event, SubagentStopped):
                await self._graft_event(event)
        except InvalidRequest as error:
            log.warning("a subagent's end can't be grafted: %s", error)
        except Exception:
            self._put_off.add(spooled.path)
            log.exception("a subagent's end wasn't grafted; it is tried again at the next start")
            return
        await asyncio.to_thread(self._spool.remove, spooled.path)

    async def _graft_event(self, event: SubagentStopped) -> None:
        """Graft a transcript, or the last words where there is none that can be read."""
        origin = event.origin
        agent = origin.agent_type or origin.host
        if event.transcript_path:
            try:
                await self._graft(origin.cwd, event.transcript_path, origin.session_id, agent)
            except InvalidRequest:
                if not event.report:
                    raise
            else:
                return
        if event.report:
            path = await asyncio.to_thread(self._write_report, event)
            try:
                await self._graft(origin.cwd, path, origin.session_id, agent)
            finally:
                await asyncio.to_thread(os.unlink, path)

    def _write_report(self, event: SubagentStopped) -> str:
        """Write last words as a transcript in the plain format, and return its path."""
        folder = os.path.join(self._state_dir, REPORTS)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{hashlib.sha256(repr(event).encode()).hexdigest()[:32]}.jsonl")
        line = json.dumps({"role": "report", "content": event.report})
        self._system.write_atomic(path, line.encode() + b"\n")
        return path


def _event_of(spooled: Spooled) -> Event | None:
    fields = fields_in(spooled.payload)
    name = spooled.event or fields.text("hook_event_name", "hookEventName")
    return speaker_of(spooled.host, fields, name, {}).reads.read(fields, name, spooled.cwd)
