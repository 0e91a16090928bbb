"""The last event of each host is written to a file that needs no daemon to be read."""

from __future__ import annotations

import asyncio
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.hooks.last_events import LastEvents
from foveal.hooks.hosts.last_events import NAME, read


class Written(System):
    """Tells when the file was written."""

    def __init__(self) -> None:
        super().__init__()
        self.done = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    def write_atomic(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        super().write_atomic(path, data, mode=mode)
        self.loop.call_soon_threadsafe(self.done.set)


async def test_last_event_of_each_host_is_kept(tmp_path: Path) -> None:
    assert read(str(tmp_path)) == {}
    for host, event in (("codex", "SessionStart"), ("gemini", "BeforeAgent")):
        system = Written()
        events = LastEvents(str(tmp_path), system)
        running = asyncio.create_task(events.run())
        events.note(host, event)
        await system.done.wait()
        running.cancel()
    later = LastEvents(str(tmp_path), System())
    later.note("codex", "Stop")
    heard = {host: event for host, (event, _) in (await later.all()).items()}
    assert heard == {"codex": "Stop", "gemini": "BeforeAgent"}
    found = read(str(tmp_path))
    assert {host: event for host, (event, _) in found.items()} == {
        "codex": "SessionStart",
        "gemini": "BeforeAgent",
    }


def test_damaged_file_is_no_event(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"codex": 7, "x": ["a"]}'):
        (tmp_path / NAME).write_text(text)
        assert read(str(tmp_path)) == {}
