"""The queue of transcripts that hooks submit for grafting, stored on disk until each is done."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial

from msgspec import Struct

from ...hooks.hosts.events import Event
from ..core.errors import InvalidRequest
from ..core.quarantine import MARK, clear_file, quarantine
from ..core.system import System
from .payloads import fields_in, formats_of

log = logging.getLogger(__name__)

REPORTS = "hook-reports"
"""The folder of reports without a transcript, while they are read."""

REST_S = 120.0
"""Seconds without a turn after which a conversation is grafted; a person who continues does so sooner."""

LATEST_S = 900.0
"""Seconds between the grafts of a conversation that is never idle: each takes a process and a second."""

REFUSED_MAX = 1_000
"""Maximum number of transcripts remembered as unreadable."""

Graft = Callable[[str, str, str, str, str], Awaitable[object]]
"""Grafts a transcript, given the agent's folder, the file, the session's id, the agent's name, and a
subagent's id."""


class _Resting(Struct):
    """An idle conversation: its session, its file in the spool, and the time of its graft (loop time)."""

    session_id: str
    path: str
    due: float
    latest: float


class HookGrafts:
    """The grafts of hooks. On the event loop only; `run` must be running as a task.

    The end of a subagent or a conversation is grafted at once. The end of a turn is grafted after `rest_s`
    without another turn, at the latest `latest_s` after the first. Each waiting conversation is one file.
    """

    def __init__(
        self,
        state_dir: str,
        graft: Graft,
        system: System,
        rest_s: float = REST_S,
        latest_s: float = LATEST_S,
    ) -> None:
        self._state_dir = state_dir
        self._graft = graft
        self._system = system
        self._rest_s = rest_s
        self._latest_s = latest_s
        self._spool = Spool(state_dir, system)
        self._waiting = asyncio.Event()
        self._waiting.set()  # events left by the last daemon, or by hooks that found none
        self._files = asyncio.Lock()
        """Held while the spool is read: a file that is being written may belong to a resting conversation."""
        self._grafting = asyncio.Lock()
        """Held while an event is grafted, and while a project is forgotten."""
        self._put_off: set[str] = set()
        self._resting: dict[str, _Resting] = {}
        """By the path of the transcript."""
        self._refused: OrderedDict[str, None] = OrderedDict()
        """Transcripts in no known format."""

    async def run(self) -> None:
        """Graft spooled events at the start and whenever one arrives; never returns.

        An event that fails for a temporary reason is tried again at the next start.
        """
        await asyncio.to_thread(self._remove_reports)
        while True:
            await self._wait()
            self._waiting.clear()
            async with self._files:
                resting, waiting = self._end_rests(), await asyncio.to_thread(self._spool.waiting)
            for spooled in waiting:
                if spooled.path not in self._put_off and spooled.path not in resting:
                    async with self._grafting:
                        if await asyncio.to_thread(os.path.lexists, spooled.path):  # else it was forgotten
                            await self._take(spooled)

    @asynccontextmanager
    async def without(self, belongs: Callable[[str], Awaitable[bool]]) -> AsyncIterator[None]:
        """Remove the events of some folders, and graft nothing until the end. Waits for a running graft."""
        async with self._grafting:
            async with self._files:
                gone = {
                    spooled.path
                    for spooled in await asyncio.to_thread(self._spool.waiting)
                    if await belongs(_folder_of(spooled))
                }
                for path in gone:
                    await asyncio.to_thread(self._spool.remove, path)
                self._resting = {
                    path: resting for path, resting in self._resting.items() if resting.path not in gone
                }
            yield

    def look(self) -> None:
        """Read the spool again: hooks write events there if no daemon took them."""
        self._waiting.set()

    async def keep(self, host: str, event: str, cwd: str, payload: str, spooled: str = "") -> None:
        """Keep an event until it is grafted; durable when this returns.

        `spooled` is the name of the file in which its hook kept it already, if it did.
        """
        put = partial(self._spool.put, (host, event, cwd), payload)
        if not spooled and not await asyncio.to_thread(put):
            log.warning("the end of an agent's work isn't grafted: too many wait already")
        self._waiting.set()

    async def drop(self, spooled: str) -> None:
        """Remove the file in which a hook kept an event that needs no graft; "" for none."""
        if spooled:
            await asyncio.to_thread(self._spool.remove, self._spool.path_of(spooled))

    async def rest(self, host: str, name: str, event: Event, payload: str, spooled: str = "") -> None:
        """Record that a conversation is idle or ended; durable when this returns.

        Nothing is kept if it is already queued, or if its transcript can't be read.
        """
        path = event.transcript_path or self._path_of(event.origin.session_id)
        if not os.path.isabs(path) or path in self._refused:
            await self.drop(spooled)
            return
        async with self._files:
            ends, now = event.kind == "end", asyncio.get_running_loop().time()
            resting = self._resting.get(path)
            if resting is not None:
                await self.drop(spooled)
            else:
                put = partial(self._spool.put, (host, name, event.origin.cwd), payload)
                file = self._spool.path_of(spooled) if spooled else ""
                if not file or not await asyncio.to_thread(os.path.exists, file):  # grafted in between
                    file = await asyncio.to_thread(put)
                if not file:
                    log.warning("a conversation isn't grafted: too much waits already")
                    return
                resting = _Resting(event.origin.session_id, file, now, now + self._latest_s)
                self._resting[path] = resting
            resting.due = now if ends else min(now + self._rest_s, resting.latest)
        self._waiting.set()

    def _path_of(self, session_id: str) -> str:
        """Return the transcript of a resting session, whose last event may not name it, or ""."""
        return next((path for path, one in self._resting.items() if one.session_id == session_id), "")

    async def _wait(self) -> None:
        """Wait until an event arrives or a conversation is due."""
        due = min((resting.due for resting in self._resting.values()), default=None)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._waiting.wait()

    def _end_rests(self) -> set[str]:
        """Remove conversations that are due, and return the files of the others."""
        now = asyncio.get_running_loop().time()
        for path in [path for path, resting in self._resting.items() if resting.due <= now]:
            del self._resting[path]
        return {resting.path for resting in self._resting.values()}

    async def _take(self, spooled: Spooled) -> None:
        """Graft a spooled event and remove it; handles every failure of a graft."""
        try:
            event = _event_of(spooled)
            if event is not None and event.kind == "subagent_end":
                await self._graft_event(event)
            elif event is not None and event.kind in {"turn_end", "end"} and event.transcript_path:
                await self._graft_conversation(event)
        except InvalidRequest as error:
            log.warning("the end of an agent's work can't be grafted: %s", error)
        except Exception:
            self._put_off.add(spooled.path)
            log.exception("the end of an agent's work wasn't grafted; it is tried again at the next start")
            return
        await asyncio.to_thread(self._spool.remove, spooled.path)

    async def _graft_event(self, event: Event) -> None:
        """Graft a transcript, or the report if the transcript can't be read."""
        origin = event.origin
        agent = origin.agent_type or origin.host
        if event.transcript_path:
            try:
                path = event.transcript_path
                await self._graft(origin.cwd, path, origin.session_id, agent, origin.agent_id)
            except InvalidRequest:
                if not event.report:
                    raise
            else:
                return
        if event.report:
            path = await asyncio.to_thread(self._write_report, event)
            try:
                await self._graft(origin.cwd, path, origin.session_id, agent, "")
            finally:
                await asyncio.to_thread(os.unlink, path)

    async def _graft_conversation(self, event: Event) -> None:
        """Graft the new part of a conversation. An unreadable transcript isn't tried again at each turn."""
        origin, path = event.origin, event.transcript_path
        try:
            await self._graft(origin.cwd, path, origin.session_id, origin.policy_name, "")
        except InvalidRequest:
            if not await asyncio.to_thread(_has_content, path):
                return  # its host hasn't written to it yet, or never does: the session ended without a prompt
            self._refused[path] = None
            if len(self._refused) > REFUSED_MAX:
                self._refused.popitem(last=False)
            raise

    def _remove_reports(self) -> None:
        """Remove what a killed daemon left; their events are in the spool still."""
        shutil.rmtree(os.path.join(self._state_dir, REPORTS), ignore_errors=True)

    def _write_report(self, event: Event) -> str:
        """Write a report as a transcript in the plain format, and return its path."""
        folder = os.path.join(self._state_dir, REPORTS)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, f"{hashlib.sha256(repr(event).encode()).hexdigest()[:32]}.jsonl")
        line = json.dumps({"role": "report", "content": event.report})
        self._system.write_atomic(path, line.encode() + b"\n")
        return path


def _has_content(path: str) -> bool:
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def _event_of(spooled: Spooled) -> Event | None:
    fields = fields_in(spooled.payload)
    name = spooled.event or fields.text("hook_event_name", "hookEventName")
    return formats_of(spooled.host, fields, name, {}).reads.read(fields, name, spooled.cwd)


def _folder_of(spooled: Spooled) -> str:
    """Return the folder that an event is of."""
    try:
        event = _event_of(spooled)
    except InvalidRequest:
        event = None
    return spooled.cwd if event is None else event.origin.cwd


FOLDER = "hook-spool"
MAX_BYTES = 9 * 1024 * 1024
"""Maximum bytes of a spooled event; hooks spool smaller ones."""
MAX_FILES = 256
"""Maximum spooled events."""
PART_NS = 60 * 10**9
"""Nanoseconds after which a file that isn't complete is nobody's: a hook takes seconds at most."""


class Spooled(Struct, frozen=True):
    """A spooled event: its file, host, name, working folder and payload."""

    path: str
    host: str
    event: str
    cwd: str
    payload: str


class Spool:
    """The spool below a state folder. Thread-safe; every method blocks for the disk and raises `OSError`."""

    def __init__(self, state_dir: str, system: System) -> None:
        self._folder = os.path.join(state_dir, FOLDER)
        self._system = system

    def path_of(self, name: str) -> str:
        """Return the path of a file in the spool by its name, whatever the client that names it gives."""
        return os.path.join(self._folder, os.path.basename(name.replace("\0", "")).strip(".") or "none")

    def put(self, words: Sequence[str], payload: str) -> str:
        """Write an event; durable when this returns. Returns its file, "" if the spool is full."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        if sum(MARK not in name for name in os.listdir(self._folder)) >= MAX_FILES:
            return ""
        path = os.path.join(self._folder, f"{self._system.time_ns():020d}-{os.getpid()}")
        head = b"".join(os.fsencode(word.replace("\0", "")) + b"\0" for word in words)
        self._system.write_atomic(path, head + payload.encode("utf-8", "replace"))
        return path

    def waiting(self) -> tuple[Spooled, ...]:
        """Return the spooled events, oldest first; foreign files are left alone.

        Parts that hooks left when their host killed them are removed.
        """
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return ()
        for name in names:
            if name.endswith(".tmp"):
                self._remove_old(os.path.join(self._folder, name))
        found = (
            self._read(os.path.join(self._folder, name))
            for name in names
            if not name.endswith(".tmp") and MARK not in name
        )
        return tuple(event for event in found if event is not None)

    def _remove_old(self, path: str) -> None:
        """Remove a part that no hook writes any more."""
        with suppress(OSError):
            if self._system.time_ns() - os.stat(path).st_mtime_ns > PART_NS:
                os.unlink(path)

    def remove(self, path: str) -> None:
        """Remove a handled event."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    def _read(self, path: str) -> Spooled | None:
        try:
            clear_file(path, self._system)
            data, _ = self._system.read(path, MAX_BYTES)
        except OSError:
            return None  # a hook removed it because the spool was full
        parts = data.split(b"\0", 3)
        if len(parts) < 4:
            with suppress(OSError):
                quarantine(path, self._system)  # left in place it would count as one of the files
            return None
        host, event, cwd = (os.fsdecode(part) for part in parts[:3])
        return Spooled(path, host, event, cwd, parts[3].decode("utf-8", "replace"))
