"""The daemon's end of a child process: real processes that answer, die, hang, never outlive it."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from foveal.daemon.core import child as linking
from foveal.daemon.core.child import ChildProcess
from foveal.daemon.core.errors import ChildDied, FovealError
from foveal.daemon.core.pipe import LENGTH
from foveal.daemon.index.records import (
    CloseProject,
    Event,
    OpenProject,
    ProjectProgress,
    Refreshed,
    SyncTree,
    TreeDelta,
)
from foveal.daemon.workspace.indexer_client import ARGV

from tests.conftest import start_python, write_files

GENEROUS_S = 60.0


class Linked:
    """A link with what it called: `started` and `died` hold one entry for each call not yet waited for."""

    def __init__(self, argv: tuple[str, ...] = ARGV) -> None:
        self.events: asyncio.Queue[Event] = asyncio.Queue()
        self.started: asyncio.Queue[None] = asyncio.Queue()
        self.died: asyncio.Queue[str] = asyncio.Queue()
        self.link = ChildProcess[Event](
            "indexer",
            argv,
            self.events.put_nowait,
            self._on_started,
            self.died.put_nowait,
        )

    @property
    def process(self) -> psutil.Process:
        assert self.link.pid is not None
        return psutil.Process(self.link.pid)

    async def until_ready(self, root: str) -> list[Event]:
        """Return the events up to the one that says that a project is indexed."""
        events: list[Event] = []
        while True:
            events.append(await self.events.get())
            last = events[-1]
            if isinstance(last, ProjectProgress) and (last.root, last.state) == (root, "ready"):
                return events

    async def _on_started(self) -> None:
        self.started.put_nowait(None)


@asynccontextmanager
async def linked(argv: tuple[str, ...] = ARGV) -> AsyncIterator[Linked]:
    """Run a link whose process has started; in the end it is stopped, and its process must be gone."""
    one = Linked(argv)
    async with asyncio.timeout(GENEROUS_S):
        task = asyncio.create_task(one.link.run())
        try:
            if argv == ARGV:
                await one.started.get()
            yield one
        finally:
            pid = one.link.pid
            await one.link.stop(GENEROUS_S)
            await task
        assert one.link.pid is None
        assert pid is None or not psutil.pid_exists(pid)


@asynccontextmanager
async def lazily(
    started: Callable[[], Awaitable[None]],
    died: Callable[[str], None] = lambda reason: None,
    argv: tuple[str, ...] = ARGV,
    *,
    lazy: bool = True,
) -> AsyncIterator[ChildProcess[Event]]:
    """Run a link that starts its process with the first request; in the end both are stopped."""
    child = ChildProcess[Event]("indexer", argv, lambda event: None, started, died, lazy=lazy)
    async with asyncio.timeout(GENEROUS_S):
        task = asyncio.create_task(child.run())
        yield child
        await child.stop(GENEROUS_S)
        await task


@pytest.fixture
def command(tmp_path: Path) -> OpenProject:
    root = write_files(tmp_path.resolve() / "p", {f"f{n}.py": f"def f{n}(): ...\n" for n in range(30)})
    return OpenProject(
        root=str(root),
        folder=str(tmp_path / "index"),
        max_file_bytes=1 << 20,
        exclude=(),
        skip_folders_extra=(),
        poll_interval_ms=2_000,
        sweep_interval_s=60,
    )


async def test_requests_are_answered_and_events_come_in_order(command: OpenProject) -> None:
    async with linked() as one:
        assert await one.link.request(command) == Refreshed(0, complete=False)
        events = await one.until_ready(command.root)
        generations = [event.generation for event in events if isinstance(event, TreeDelta)]
        assert generations == sorted(set(generations))
        known = {
            r.path for event in events if isinstance(event, TreeDelta) for r in event.upserted if r.parsed
        }
        assert known == {f"f{n}.py" for n in range(30)}
        replies = await asyncio.gather(*(one.link.request(SyncTree(command.root)) for _ in range(5)))
        assert all(reply is not None and reply.complete for reply in replies)
        heard: list[int] = []
        write_files(Path(command.root), {"late.py": ""})
        reply = await one.link.request(SyncTree(command.root), lambda: heard.append(one.events.qsize()))
        told = [one.events.get_nowait() for _ in range(heard[0])]
        deltas = [event for event in told if isinstance(event, TreeDelta)]
        assert deltas[-1].generation == reply.generation, "the events before the reply were taken in"
        assert await one.link.request(CloseProject(command.root)) is None


def test_killing_a_process_that_has_just_ended_leaves_its_exit_status_to_others() -> None:
    process: Any = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    linking._kill(process)
    assert process.returncode is None
    assert process.wait() == 7


async def test_a_killed_process_fails_its_requests_and_is_started_again(command: OpenProject) -> None:
    async with linked() as one:
        await one.link.request(command)
        await one.until_ready(command.root)
        before = await one.link.request(SyncTree(command.root))
        former = one.process
        former.suspend()  # so that the request surely waits
        waiting = asyncio.create_task(one.link.request(SyncTree(command.root)))
        await asyncio.sleep(0)
        former.kill()
        with pytest.raises(ChildDied, match="ended before it answered"):
            await waiting
        assert await one.died.get() == "ended by itself (SIGKILL)"
        await one.started.get()
        assert one.process.pid != former.pid
        again = await one.link.request(command)
        assert before is not None
        assert again is not None
        assert again.generation >= before.generation, "what was committed is there"
        await one.until_ready(command.root)


async def test_restarts_in_a_row_back_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (0.001, 0.002, 0.003))
    async with linked(argv=(sys.executable, "-c", "")) as one:
        for _ in range(5):
            await one.died.get()
        await one.started.get()
    pauses = pauses_of(caplog)
    assert pauses[:4] == [0.001, 0.002, 0.003, 0.003]
    assert "ended by itself" in caplog.text


async def test_a_process_that_hangs_is_killed_at_the_deadline(caplog: pytest.LogCaptureFixture) -> None:
    async with linked() as one:
        process = one.process
        process.suspend()
        await one.link.stop(0.1)
        assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert "was killed" in caplog.text
    assert one.died.empty()


async def test_stopped_process_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async with linked() as one:
        await one.link.request(CloseProject("/"))  # by then all is imported
        monkeypatch.setattr(linking, "BEAT_S", 0.05)
        monkeypatch.setenv("FOVEAL_DEBUG", "1")
        former = one.process
        former.suspend()
        with pytest.raises(TimeoutError):  # a debugger may wait in it
            await asyncio.wait_for(one.died.get(), 0.5)
        monkeypatch.delenv("FOVEAL_DEBUG")
        assert "was stopped for 0 s" in await one.died.get(), "the limit of a process that works is 4 s"
        await one.started.get()
        assert one.process.pid != former.pid
        assert not former.is_running()


BUSY = """
import sys
from foveal.daemon.core.pipe import ChildPipe
pipe = ChildPipe(int(sys.argv[1]))
pipe.send("it is busy")
while True: pass
"""


async def test_hanging_process_is_replaced_after_the_long_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "BEAT_S", 0.05)
    for limit in ("SILENT_BEATS", "HUNG_BEATS"):
        monkeypatch.setattr(linking, limit, 1_000_000)  # however long its start takes
    async with linked(argv=(sys.executable, "-c", BUSY)) as one:
        await one.events.get()
        monkeypatch.setattr(linking, "HUNG_BEATS", 20)
        assert "was silent for" in await one.died.get()


def pauses_of(caplog: pytest.LogCaptureFixture) -> list[object]:
    """Return the pauses before restarts as they were logged, in seconds."""
    records = [record for record in caplog.records if record.name == linking.__name__]
    return [record.args[-1] for record in records if isinstance(record.args, tuple)]


PARENT = """
import asyncio, sys
from foveal.daemon.core.child import ChildProcess
from foveal.daemon.workspace.indexer_client import ARGV
from foveal.daemon.core.pipe import LENGTH

async def main():
    async def started():
        print(link.pid, flush=True)
    link = ChildProcess("indexer", ARGV, lambda event: None, started, lambda reason: None)
    await link.run()

asyncio.run(main())
"""


def test_the_process_is_gone_when_its_daemon_is_killed() -> None:
    parent = start_python(PARENT, os.environ)
    with parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        assert child.is_running()
        parent.send_signal(signal.SIGKILL)
        _, alive = psutil.wait_procs([child], timeout=GENEROUS_S)
    assert not alive


async def test_a_lazy_process_starts_with_the_first_request_and_rests_until_the_next() -> None:
    starts: list[int | None] = []

    async def started() -> None:
        starts.append(child.pid)

    async with lazily(started) as child:
        await asyncio.sleep(0)
        assert child.pid is None
        assert await child.request(CloseProject("/")) is None
        first = child.pid
        assert first is not None
        # A request that comes while it is being ended is answered by the next one.
        resting = asyncio.create_task(child.rest(GENEROUS_S))
        await asyncio.sleep(0)
        assert await child.request(CloseProject("/")) is None
        await resting
        assert child.pid not in {None, first}
    with pytest.raises(ChildDied):
        await child.request(CloseProject("/"))
    assert len(starts) == 2


async def test_start_requests_come_before_waiting_requests() -> None:
    order: list[str] = []

    async def started() -> None:
        for number in range(3):
            with pytest.raises(FovealError, match="/nowhere is not open"):
                await child.request_at_start(SyncTree("/nowhere"))
            order.append(f"start {number}")
            assert not child.is_ready

    async def ask() -> None:
        await child.request(CloseProject("/"))
        order.append("asked")

    async with lazily(started) as child:
        await asyncio.gather(ask(), ask())
        assert order == ["start 0", "start 1", "start 2", "asked", "asked"]
        assert (child.is_ready, child.is_asked) == (True, False)
    assert not child.is_ready


async def test_lazy_process_can_be_woken_without_a_request() -> None:
    ready = asyncio.Event()

    async def started() -> None:
        ready.set()

    async with lazily(started) as child:
        child.wake()
        await ready.wait()
        assert child.pid is not None
        psutil.Process(child.pid).suspend()
        asked = asyncio.create_task(child.request(CloseProject("/")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert child.is_asked
        psutil.Process(child.pid).resume()
        await asked
        assert not child.is_asked


async def test_lazy_process_that_dies_at_start_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (0.001,))
    starts: list[int] = []

    async def started() -> None:
        assert child.pid is not None
        starts.append(child.pid)
        if len(starts) == 1:
            os.kill(child.pid, signal.SIGKILL)
        await child.request_at_start(CloseProject("/"))

    async with lazily(started) as child:
        assert await child.request(CloseProject("/")) is None
        assert len(starts) == 2


async def test_unreadable_message_ends_the_process_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(linking, "BACKOFF_S", (0.001,))
    talk = (
        "import socket, sys; s = socket.socket(fileno=int(sys.argv[1]));"
        "s.sendall(bytes.fromhex({!r})); s.recv(9)"
    )
    unknown = pickle.dumps(CloseProject("/")).replace(b"CloseProject", b"CloseProjekt")
    argv = (sys.executable, "-c", talk.format((LENGTH.pack(len(unknown)) + unknown).hex()))
    died = asyncio.Queue[str]()

    async def started() -> None: ...

    async with lazily(started, died.put_nowait, argv, lazy=False):
        await died.get()
        await died.get()  # it was started again
    assert "could not be read" in caplog.text
    assert "CloseProjekt" in caplog.text
