"""The indexer process serves requests before events and both before bulk work, and ends with its daemon."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from foveal.daemon.index import reading_queue
from foveal.daemon.index.messages import (
    CloseProject,
    Command,
    Event,
    OpenProject,
    ProjectProgress,
    Refreshed,
    RefreshFiles,
    Reindex,
    SyncTree,
    TreeDelta,
)
from foveal.daemon.index.worker import Worker, WorkQueue
from foveal.daemon.pipe import LENGTH, Envelope, Reply, Stop
from foveal.daemon.system import System

from tests.conftest import write_files

GENEROUS_S = 60.0

Message = Reply | Event


def open_command(base: Path, name: str, files: int) -> OpenProject:
    root = write_files(base.resolve() / name, {f"f{n}.py": f"def f{n}(): ...\n" for n in range(files)})
    root.mkdir(exist_ok=True)
    return OpenProject(
        root=str(root),
        folder=str(base / f"{name}-index"),
        max_file_bytes=1 << 20,
        exclude=(),
        skip_folders_extra=(),
        poll_interval_ms=2_000,
        sweep_interval_s=60,
    )


class Running:
    """A worker on a thread of its own. `on_message` is called on that thread, between two pieces of work."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.on_message: Callable[[Message], None] = lambda message: None
        self._numbers = iter(range(1, 1_000))
        self._news: queue.Queue[Message] = queue.Queue()
        self.worker = Worker(System(), WorkQueue(), self._send)
        self.thread = threading.Thread(target=self.worker.run)

    def ask(self, command: Command) -> int:
        number = next(self._numbers)
        self.worker.submit(Envelope(number, command))
        return number

    def wait(self, known: Callable[[Message], bool]) -> Message:
        while True:
            message = self._news.get(timeout=GENEROUS_S)
            if known(message):
                return message

    def answer(self, command: Command) -> Reply:
        number = self.ask(command)
        reply = self.wait(lambda message: isinstance(message, Reply) and message.number == number)
        assert isinstance(reply, Reply)
        return reply

    def _send(self, message: Message) -> None:
        self.messages.append(message)
        self.on_message(message)
        self._news.put(message)


@pytest.fixture
def running() -> Iterator[Running]:
    running = Running()
    running.thread.start()
    yield running
    running.ask(Stop())
    running.thread.join(GENEROUS_S)
    assert not running.thread.is_alive()


def is_state(message: Message, root: str, state: str) -> bool:
    return isinstance(message, ProjectProgress) and (message.root, message.state) == (root, state)


def test_the_lanes_are_served_in_order() -> None:
    work = WorkQueue()
    done: list[str] = []
    for lane, name in ((1, "event"), (0, "request"), (1, "event 2"), (0, "request 2")):
        work.put(lane, lambda name=name: done.append(name))  # type: ignore[misc]  # a default binds it
    while (thunk := work.take(0)) is not None:
        thunk()
    assert done == ["request", "request 2", "event", "event 2"]
    assert work.take(0) is None


def test_work_from_another_thread_ends_the_wait() -> None:
    work = WorkQueue()
    done: list[str] = []
    thread = threading.Thread(target=work.put, args=(1, lambda: done.append("event")))
    thread.start()
    thunk = work.take(None)
    thread.join()
    assert thunk is not None
    thunk()
    assert done == ["event"]


def test_a_request_is_answered_before_the_bulk_work_ends(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "STEP_FILES", 1)
    command = open_command(tmp_path, "p", 40)
    asked: list[int] = []

    def ask_in_the_middle(message: Message) -> None:
        if is_state(message, command.root, "indexing") and not asked:
            asked.append(running.ask(RefreshFiles(command.root, ("f39.py",))))

    running.on_message = ask_in_the_middle
    running.ask(command)
    running.wait(lambda message: is_state(message, command.root, "ready"))
    reply = next(i for i, m in enumerate(running.messages) if isinstance(m, Reply) and m.number in asked)
    read = [
        record.path
        for message in running.messages[:reply]
        if isinstance(message, TreeDelta)
        for record in message.upserted
        if record.parsed
    ]
    assert "f39.py" in read
    assert len(read) <= 2, "at most the one step that was under way came before"
    assert not any(is_state(message, command.root, "ready") for message in running.messages[:reply])


def test_a_large_project_does_not_hold_up_a_small_one(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "STEP_FILES", 1)
    large, small = open_command(tmp_path, "large", 60), open_command(tmp_path, "small", 1)
    running.ask(large)
    running.ask(small)
    running.wait(lambda message: is_state(message, large.root, "ready"))
    assert any(is_state(message, small.root, "ready") for message in running.messages)


def test_a_command_that_fails_says_why_and_harms_nothing(running: Running, tmp_path: Path) -> None:
    command = open_command(tmp_path, "p", 1)
    for bad in (SyncTree("/nowhere"), RefreshFiles("/nowhere", ("a",)), Reindex("/nowhere", full=True)):
        assert "/nowhere is not open" in running.answer(bad).error
    assert running.answer(CloseProject("/nowhere")) == Reply(4, None)
    assert not running.answer(command).error
    Path(command.root, "f0.py").unlink()
    Path(command.root).rmdir()
    assert "is gone" in running.answer(RefreshFiles(command.root, ("f0.py",))).error


def test_an_index_that_cant_be_opened_is_that_projects_trouble(running: Running, tmp_path: Path) -> None:
    bad, good = (open_command(tmp_path, name, 1) for name in ("bad", "good"))
    Path(bad.folder).write_text("in the place of the folder")
    assert f"the index in {bad.folder} can't be opened" in running.answer(bad).error
    assert not running.answer(good).error
    running.wait(lambda message: is_state(message, good.root, "ready"))


def test_opening_twice_and_closing(running: Running, tmp_path: Path) -> None:
    command = open_command(tmp_path, "p", 3)
    first = running.answer(command).value
    running.wait(lambda message: is_state(message, command.root, "ready"))
    second = running.answer(command).value
    assert isinstance(first, Refreshed)
    assert isinstance(second, Refreshed)
    assert second.generation > first.generation
    running.wait(lambda message: is_state(message, command.root, "ready"))
    assert not running.answer(CloseProject(command.root)).error
    assert running.worker.projects == {}
    # Nothing more is said of a closed project.
    said = len(running.messages)
    write_files(Path(command.root), {"new.py": ""})
    assert running.answer(SyncTree(command.root)).error
    assert len(running.messages) == said + 1


# The process


LEAST_PRIORITY = 19


@contextmanager
def worker_process() -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "foveal.daemon.index.worker", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
        )
        theirs.close()
        with process:
            try:
                yield process, ours
            finally:
                process.kill()  # else a test that fails would wait for it for ever


def send(pipe: socket.socket, data: bytes) -> None:
    pipe.sendall(LENGTH.pack(len(data)) + data)


def envelope(number: int, command: Command) -> bytes:
    return pickle.dumps(Envelope(number, command))


@pytest.mark.parametrize("last_words", [b"", b"\x07", LENGTH.pack(1_000), LENGTH.pack(1_000) + b"half"])
def test_it_ends_when_the_daemon_is_gone(last_words: bytes) -> None:
    with worker_process() as (process, pipe):
        pipe.sendall(last_words)
        pipe.close()
        assert process.wait(GENEROUS_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_command_of_another_version_ends_it_with_a_word() -> None:
    with worker_process() as (process, pipe):
        send(pipe, b"no pickle")
        assert process.wait(GENEROUS_S) == 1
        assert process.stderr is not None
        assert b"has foveal been updated" in process.stderr.read()


def test_it_stops_when_asked_and_not_by_ctrl_c(tmp_path: Path) -> None:
    with worker_process() as (process, pipe), pipe.makefile("rb") as stream:
        send(pipe, envelope(1, open_command(tmp_path, "p", 1)))
        assert read_reply(stream.read).number == 1
        process.send_signal(signal.SIGINT)
        send(pipe, envelope(2, Stop()))
        assert read_reply(stream.read) == Reply(2, None)
        assert process.wait(GENEROUS_S) == 0


def test_it_gives_way_to_the_daemon_and_sees_no_terminal() -> None:
    with worker_process() as (process, pipe), pipe.makefile("rb") as stream:
        send(pipe, envelope(1, CloseProject("/")))
        read_reply(stream.read)
        assert psutil.Process(process.pid).nice() > os.nice(0) or os.nice(0) == LEAST_PRIORITY


def read_reply(read: Callable[[int], bytes]) -> Reply:
    """Return the next reply; events are passed over."""
    while True:
        message = pickle.loads(read(*LENGTH.unpack(read(LENGTH.size))))
        if isinstance(message, Reply):
            return message
