"""The indexer process serves requests first, then projects in fair turns, and ends with its daemon."""

from __future__ import annotations

import errno
import pickle
import queue
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from foveal.daemon.core.pipe import LENGTH, Envelope, Reply, Stop
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System
from foveal.daemon.index import reading_queue, worker
from foveal.daemon.index.indexer import ProjectIndexer
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
from foveal.daemon.index.store import FILE_NAME, Reader, check_index
from foveal.daemon.index.worker import FAILURES_MAX, Worker, WorkQueue
from foveal.daemon.project.records import WatchBatch
from msgspec.structs import replace

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

    def open(self, command: OpenProject) -> None:
        """Open a project and wait until it is ready."""
        self.answer(command)
        wait_ready(self, command)

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


def test_projects_take_turns_and_one_that_ended_the_process_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "STEP_FILES", 1)
    at: list[str] = []
    worker = Worker(System(), WorkQueue(), lambda message: None, at_work=at.append)
    bad, one, two = (open_command(tmp_path, name, 5) for name in ("bad", "one", "two"))
    for number, command in enumerate((replace(bad, deaths=1), one, two)):
        worker._answer(Envelope(number, command))
    at.clear()
    while worker._patience() == 0.0:
        worker._give_turn()
    first = at.index(bad.root)
    assert len(at[:first]) > 10
    assert set(at[:10:2]) == {one.root}
    assert set(at[1:10:2]) == {two.root}
    assert set(at[first:]) == {bad.root}, "it works while the others rest"
    for project in worker.projects.values():
        project.close()


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


def test_a_command_that_fails_says_why_and_harms_nothing(running: Running, tmp_path: Path) -> None:
    command = open_command(tmp_path, "p", 1)
    for bad in (SyncTree("/nowhere"), RefreshFiles("/nowhere", ("a",)), Reindex("/nowhere", full=True)):
        assert "/nowhere is not open" in running.answer(bad).error
    assert running.answer(CloseProject("/nowhere")) == Reply(4, None)
    assert not running.answer(command).error
    Path(command.root, "f0.py").unlink()
    Path(command.root).rmdir()
    assert "is gone" in running.answer(RefreshFiles(command.root, ("f0.py",))).error


def test_endless_changes_of_a_project_do_not_delay_others(running: Running, tmp_path: Path) -> None:
    busy, other = open_command(tmp_path, "busy", 200), open_command(tmp_path, "other", 5)
    running.open(busy)
    indexer = running.worker.projects[busy.root]
    hear = indexer._index.watch._hear
    paths = [f"{busy.root}/f{number}.py" for number in range(200)]

    def say_again(message: Message) -> None:
        # Whatever was done, the next news of this project are there already.
        if busy.root in running.worker.projects:
            hear(WatchBatch(frozenset(paths)))

    running.on_message = say_again
    say_again(Reply(0, None))
    assert not running.answer(other).error
    running.wait(lambda message: is_state(message, other.root, "ready"))
    write_files(Path(other.root), {"new.py": "def new(): ...\n"})
    reply = running.answer(SyncTree(other.root))
    assert reply.value == Refreshed(reply.value.generation, complete=True)  # type: ignore[attr-defined]  # it is one
    assert not running.answer(CloseProject(busy.root)).error
    assert list(running.worker.projects) == [other.root]


def test_open_requests_of_a_closed_project_are_answered(running: Running, tmp_path: Path) -> None:
    command = open_command(tmp_path, "p", 3)
    running.open(command)
    asked: list[int] = []

    def ask_all(message: Message) -> None:
        if not asked:  # on the working thread: all of these wait when it goes on
            asked.extend(running.ask(each) for each in (SyncTree(command.root), CloseProject(command.root)))

    running.on_message = ask_all
    running.answer(RefreshFiles(command.root, ("f0.py",)))
    reply = running.wait(lambda message: isinstance(message, Reply) and message.number == asked[0])
    assert isinstance(reply, Reply)
    assert "was closed" in reply.error


# The process


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


def read_reply(read: Callable[[int], bytes]) -> Reply:
    """Return the next reply; events are passed over."""
    while True:
        message = pickle.loads(read(*LENGTH.unpack(read(LENGTH.size))))
        if isinstance(message, Reply):
            return message


# Damage


def edit_index(command: OpenProject, statement: str) -> None:
    with closing(sqlite3.connect(Path(command.folder) / FILE_NAME, timeout=GENEROUS_S)) as database:
        database.execute(statement)
        database.commit()


def wait_ready(running: Running, command: OpenProject) -> None:
    running.wait(lambda message: is_state(message, command.root, "ready"))


def test_damage_met_at_work_rebuilds_one_index_and_leaves_the_others_alone(
    running: Running, tmp_path: Path
) -> None:
    hurt, other = open_command(tmp_path, "hurt", 5), open_command(tmp_path, "other", 5)
    for command in (hurt, other):
        running.open(command)
    edit_index(hurt, "DELETE FROM meta")
    (Path(hurt.root) / "f0.py").write_text("def changed(): ...\n")
    assert running.answer(RefreshFiles(hurt.root, ("f0.py",))).error
    wait_ready(running, hurt)
    progress = [one for one in running.messages if isinstance(one, ProjectProgress) and one.root == hurt.root]
    assert any("index.sqlite could not be used" in reason for reason in progress[-1].degraded)
    reader = Reader(hurt.folder)
    assert [symbol.name for symbol in reader.symbols("f0.py")] == ["changed"]
    assert len(reader.load_files()) == 5
    reader.close()
    assert running.answer(SyncTree(other.root)).error == ""
    assert list(Path(hurt.folder).glob("index.sqlite.damaged-*"))
    assert not list(Path(other.folder).glob("*.damaged-*"))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE files SET path = CAST(x'ff' AS TEXT) WHERE id = 2",
        "UPDATE meta SET value = 'many' WHERE key = 'generation'",
        "DELETE FROM meta",
        "ALTER TABLE files RENAME COLUMN racy TO rash",
    ],
)
def test_an_index_with_a_damaged_row_is_built_anew_when_it_is_opened(
    running: Running, tmp_path: Path, statement: str
) -> None:
    command = open_command(tmp_path, "p", 5)
    running.open(command)
    running.answer(CloseProject(command.root))
    edit_index(command, statement)
    with pytest.raises(DatabaseError):
        check_index(command.folder)
    assert running.answer(command).error == ""
    wait_ready(running, command)
    check_index(command.folder)


def test_a_project_whose_work_fails_again_and_again_is_closed_and_says_so(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = open_command(tmp_path, "bad", 3), open_command(tmp_path, "good", 3)
    step = ProjectIndexer.step

    def fail(self: ProjectIndexer) -> None:
        if self._root == bad.root:
            raise AssertionError("nobody expected that")
        step(self)

    monkeypatch.setattr(ProjectIndexer, "step", fail)
    running.answer(bad)
    last = running.wait(lambda message: is_state(message, bad.root, "degraded"))
    assert isinstance(last, ProjectProgress)
    assert "nobody expected that" in last.degraded[0]
    running.open(good)
    assert "is not open" in str(running.answer(SyncTree(bad.root)).error)
    monkeypatch.setattr(ProjectIndexer, "step", step)
    assert not running.answer(Reindex(bad.root, full=True)).error
    wait_ready(running, bad)


@pytest.mark.parametrize("error", [sqlite3.OperationalError, OSError])
def test_passing_errors_end_neither_process_nor_project(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(worker, "RETRY_S", 0.01)
    bad, good = open_command(tmp_path, "bad", 3), open_command(tmp_path, "good", 3)
    step, full = ProjectIndexer.step, threading.Event()
    full.set()

    def fail(self: ProjectIndexer) -> None:
        if self._root == bad.root and full.is_set():
            problem = error(errno.ENOSPC, "the disk is full")
            problem.__dict__["sqlite_errorcode"] = sqlite3.SQLITE_FULL
            raise problem
        step(self)

    monkeypatch.setattr(ProjectIndexer, "step", fail)
    running.answer(bad)
    for _ in range(2 * FAILURES_MAX):
        last = running.wait(lambda message: is_state(message, bad.root, "degraded"))
        assert isinstance(last, ProjectProgress)
        assert "it is tried again" in last.degraded[0]
    running.open(good)
    full.clear()
    wait_ready(running, bad)
    assert not list(Path(bad.folder).glob("*.damaged-*"))


def test_an_index_that_cant_be_opened_for_now_is_opened_later(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "RETRY_S", 0.01)
    command, good = open_command(tmp_path, "p", 3), open_command(tmp_path, "good", 1)
    Path(command.folder).write_text("in the place of the folder")
    assert f"the index in {command.folder} can't be opened" in running.answer(command).error
    assert not running.answer(good).error
    wait_ready(running, good)
    Path(command.folder).unlink()
    wait_ready(running, command)
