"""A turn that ended is read once, whatever became of the readings before it."""

from __future__ import annotations

import asyncio

from foveal.daemon.core.errors import DeadlineExceeded, InvalidRequest
from foveal.daemon.hooks.turn_readings import WAITING_MAX, TurnReadings
from foveal.hooks.hosts.events import Event, Origin

ORIGIN = Origin("codex", "s", "/w")


class Reader:
    """Notes what is read, and fails as its files' names say; the reading of `/last` ends the test."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.done = asyncio.Event()

    async def __call__(self, origin: Origin, path: str) -> None:
        self.read.append(path)
        if path == "/last":
            self.done.set()
        if path == "/refused":
            raise InvalidRequest("no transcript")
        if path == "/late":
            raise DeadlineExceeded("too slow")
        if path == "/broken":
            raise ValueError("a fault of ours")


async def reading(*rounds: list[str]) -> list[str]:
    """Return what is read when turns end, in rounds."""
    reader, found = Reader(), []
    readings = TurnReadings(reader)
    task = asyncio.create_task(readings.run())
    for paths in rounds:
        for path in (*paths, "/last"):
            readings.note(Event("turn_end", ORIGIN, transcript_path=path))
        async with asyncio.timeout(60):
            await reader.done.wait()
        reader.done.clear()
        found += [path for path in reader.read if path != "/last"]
        reader.read.clear()
    task.cancel()
    await asyncio.wait([task])
    return found


async def test_turns_of_a_transcript_that_waits_are_read_at_once() -> None:
    assert await reading(["/a", "/b", "/a"], ["/a"]) == ["/a", "/b", "/a"]


async def test_failed_reading_stops_no_other() -> None:
    failing = ["/refused", "/late", "/broken", "/a"]
    assert await reading(failing, failing) == [*failing, "/late", "/broken", "/a"]


async def test_waiting_transcripts_are_bounded() -> None:
    readings = TurnReadings(Reader())
    for number in range(2 * WAITING_MAX):
        readings.note(Event("turn_end", ORIGIN, transcript_path=f"/{number}"))
    assert len(readings._waiting) == WAITING_MAX
