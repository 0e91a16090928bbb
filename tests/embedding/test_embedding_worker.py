"""The embedder answers questions before it embeds, goes on after errors, and ends with what it can't foresee."""

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
from typing import Any

import psutil
import pytest
from foveal.daemon.core.pipe import LENGTH, Envelope, Reply, Stop, encode
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System
from foveal.daemon.embedding.messages import (
    DEFAULT_DIMENSIONS,
    DEFAULT_MODEL,
    ChunksChanged,
    Configure,
    DropVectors,
    EmbedderEvent,
    KeepVectors,
    ModelLoaded,
    PreferFiles,
    ScoreTexts,
    SearchVectors,
    SetPaused,
    TextScores,
    VectorHits,
    VectorProgress,
)
from foveal.daemon.embedding.model import EmbeddingModel
from foveal.daemon.embedding.text_scores import TextScorer
from foveal.daemon.embedding.vector_search import VectorSearch
from foveal.daemon.embedding.vector_updater import NICENESS
from foveal.daemon.embedding.worker import Embedder
from foveal.daemon.index.chunks import Chunk
from foveal.daemon.index.store import Store

from tests.model_cases import slow_download
from tests.search_cases import chunk, put, remove

GENEROUS_S = 60.0

LOGIN = chunk("def login(user, password):\n    return open_session(user)", "login")
PARSE = chunk("def parse_date(text):\n    return datetime.strptime(text, '%Y-%m-%d')", "parse_date")
PRICE = chunk("def total_price(cart):\n    return sum(item.price for item in cart)", "total_price")

Message = Reply | EmbedderEvent


class Running:
    """An embedder on threads of this process, with one project in `/p` whose index is `store`."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "embeddings"
        self.index = base / "index"
        self.store = Store(str(self.index), System())
        self.messages: list[Message] = []
        self.failure: BaseException | None = None
        self._numbers = iter(range(1, 1_000))
        self._news: queue.Queue[Message] = queue.Queue()
        self.embedder = Embedder(System(), self._send)
        self.threads = [
            threading.Thread(target=self._run),
            threading.Thread(target=self.embedder.answer_questions),
            threading.Thread(target=self.embedder.score_texts),
        ]
        for thread in self.threads:
            thread.start()

    def submit(self, command: object) -> int:
        number = next(self._numbers)
        self.embedder.submit(Envelope(number, command))
        return number

    def ask(self, command: object) -> Any:
        """Return what a command is answered. Raises `RuntimeError` with the error that it ended with."""
        number = self.submit(command)
        reply = self.wait(lambda message: isinstance(message, Reply) and message.number == number)
        assert isinstance(reply, Reply)
        if reply.error:
            raise RuntimeError(reply.error)
        return reply.value

    def search(self, text: str, limit: int = 10, **more: Any) -> VectorHits:
        found = self.ask(SearchVectors("/p", (text,), limit, wait_s=GENEROUS_S, **more))
        assert isinstance(found, VectorHits)
        return found

    def wait(self, known: Callable[[Message], bool]) -> Message:
        while True:
            message = self._news.get(timeout=GENEROUS_S)
            if known(message):
                return message

    def wait_progress(self, known: Callable[[VectorProgress], bool]) -> None:
        """Wait until the latest progress is like that; it may be known already."""
        latest = [one for one in self.messages if isinstance(one, VectorProgress)][-1:]
        if not latest or not known(latest[0]):
            self.wait(lambda one: isinstance(one, VectorProgress) and known(one))

    def wait_embedded(self, contents: int) -> None:
        self.wait_progress(lambda one: (one.chunks, one.pending) == (contents, 0))

    def configure(self, model: str = "") -> None:
        self.ask(Configure(str(self.folder), model, 2, 10**9))

    def keep(self) -> None:
        self.configure()
        self.ask(KeepVectors("/p", str(self.index)))

    def start(self, *chunks: Chunk) -> None:
        """Put chunks into the index, keep the project, and wait until they are embedded."""
        put(self.store, "a.py", chunks)
        self.keep()
        self.wait_embedded(len(chunks))

    def stop(self) -> None:
        if self.threads[0].is_alive():
            self.submit(Stop())
        for thread in self.threads:
            thread.join(GENEROUS_S)
            assert not thread.is_alive()
        self.store.close()

    def _run(self) -> None:
        try:
            self.embedder.run()
        except BaseException as error:  # noqa: BLE001 - a test looks at it
            self.failure = error

    def _send(self, message: Message) -> None:
        self.messages.append(message)
        self._news.put(message)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    one = Running(tmp_path)
    yield one
    one.stop()
    assert one.failure is None


def test_questions_find_texts_by_meaning(running: Running) -> None:
    running.start(LOGIN, PARSE, PRICE)
    for question, expected in (
        ("how does a user sign in", LOGIN),
        ("read a calendar day from a string", PARSE),
        ("what do the goods cost together", PRICE),
    ):
        found = running.search(question)
        assert found.hits[0][0] == expected.digest
        assert (len(found.hits), found.pending) == (3, 0)
    assert ModelLoaded(DEFAULT_MODEL, DEFAULT_DIMENSIONS) in running.messages
    found = running.ask(SearchVectors("/p", ("sign in", "calendar day"), 2))
    assert {digest for digest, _ in found.hits} == {LOGIN.digest, PARSE.digest}, "the best of several parts"
    assert running.ask(SearchVectors("/p", (), 2)) == VectorHits((), 0)


def test_a_search_does_not_wait_for_texts(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def held(scorer: TextScorer, command: ScoreTexts) -> TextScores:
        begun.set()
        assert goes_on.wait(GENEROUS_S)
        return TextScores((), ())

    monkeypatch.setattr(TextScorer, "answer", held)
    running.start(LOGIN)
    number = running.submit(ScoreTexts((), ("a",), GENEROUS_S))
    assert begun.wait(GENEROUS_S)
    assert len(running.search("sign in").hits) == 1
    goes_on.set()
    running.wait(lambda message: isinstance(message, Reply) and message.number == number)


def test_changes_and_preferences(running: Running) -> None:
    running.start(LOGIN)
    put(running.store, "b.py", [PRICE])
    remove(running.store, "a.py")
    running.ask(ChunksChanged("/p"))
    running.ask(PreferFiles("/p", ("b.py", "nowhere.py")))
    running.wait_embedded(1)
    assert [digest for digest, _ in running.search("sign in").hits] == [PRICE.digest]
    running.ask(ChunksChanged("/unknown"))
    running.ask(PreferFiles("/unknown", ("b.py",)))


def test_a_project_that_is_not_kept_says_so(running: Running) -> None:
    with pytest.raises(RuntimeError, match="isn't configured"):
        running.search("sign in")
    with pytest.raises(RuntimeError, match="isn't configured"):
        running.ask(KeepVectors("/p", str(running.index)))
    put(running.store, "a.py", [LOGIN])
    running.configure()
    with pytest.raises(RuntimeError, match="not loaded yet"):
        running.search("sign in")
    running.ask(KeepVectors("/p", str(running.index)))
    running.ask(DropVectors("/p"))
    with pytest.raises(RuntimeError, match="not loaded yet"):
        running.search("sign in")


def test_work_resumes_when_the_model_is_loaded(tmp_path: Path) -> None:
    running = Running(tmp_path)
    put(running.store, "a.py", [LOGIN])
    with slow_download():
        running.keep()
        with pytest.raises(RuntimeError, match=r"is being made ready \(fetching\)"):
            running.search("sign in")
        running.ask(ChunksChanged("/p"))
        for paused in (True, False):
            running.ask(SetPaused(paused))
    running.wait_embedded(1)
    assert len(running.search("sign in").hits) == 1
    running.stop()
    assert running.failure is None


def test_an_error_of_a_question_is_its_answer(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.start(LOGIN)
    with monkeypatch.context() as patched:
        patched.setattr("foveal.daemon.embedding.project_vectors.ProjectVectors.search", _damaged)
        with pytest.raises(RuntimeError, match="malformed"):
            running.search("sign in")
    running.wait_progress(lambda one: "malformed" in one.problem)
    running.ask(ChunksChanged("/p"))  # and that makes up for it
    assert len(running.search("sign in").hits) == 1


@pytest.mark.parametrize(
    ("owner", "command"),
    [(VectorSearch, SearchVectors("/p", ("sign in",), 3)), (TextScorer, ScoreTexts((), ("a",), GENEROUS_S))],
)
def test_an_error_that_nobody_foresaw_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, command: object
) -> None:
    running = Running(tmp_path)
    running.keep()
    monkeypatch.setattr(owner, "answer", _unforeseen)
    running.submit(command)
    running.threads[0].join(GENEROUS_S)
    running.stop()
    assert isinstance(running.failure, ZeroDivisionError), "the daemon starts another one"


def test_background_work_stands_back_while_a_question_is_open(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(running.store, "a.py", [chunk(f"def f{n}(): return {n}", f"f{n}") for n in range(300)])
    running.keep()
    asked, answer = threading.Event(), threading.Event()
    texts: list[str] = []
    embed, embed_query = EmbeddingModel.embed, EmbeddingModel.embed_query

    def slow_query(model: EmbeddingModel, text: str) -> Any:
        asked.set()
        assert answer.wait(GENEROUS_S)
        return embed_query(model, text)

    def counted(model: EmbeddingModel, several: Any) -> Any:
        texts.extend(several)
        return embed(model, several)

    monkeypatch.setattr(EmbeddingModel, "embed_query", slow_query)
    monkeypatch.setattr(EmbeddingModel, "embed", counted)
    number = running.submit(SearchVectors("/p", ("sign in",), 3))
    assert asked.wait(GENEROUS_S)
    begun = len(texts)
    for _ in range(1_000):  # the other threads have every chance to go on
        os.sched_yield()
    assert len(texts) <= begun + 2, "no more than what was being embedded on two threads"
    answer.set()
    running.wait(lambda one: isinstance(one, Reply) and one.number == number)
    running.wait_embedded(300)


# The process


@contextmanager
def process() -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """Start the process as the daemon does."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        argv = [sys.executable, "-m", "foveal.daemon.embedding.worker", str(theirs.fileno())]
        with subprocess.Popen(argv, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE) as started:
            theirs.close()
            ours.settimeout(GENEROUS_S)
            try:
                yield started, ours
            finally:
                started.kill()


def receive(pipe: socket.socket) -> Message:
    def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = pipe.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    message: Message = pickle.loads(exactly(LENGTH.unpack(exactly(LENGTH.size))[0]))
    return message


def test_embedder_ends_on_request_and_with_the_daemon() -> None:
    with process() as (started, pipe):
        pipe.sendall(encode(Envelope(1, Stop())))
        assert receive(pipe) == Reply(1, None)
        assert started.wait(GENEROUS_S) == 0
    with process() as (started, pipe):
        for number in (1, 2):
            pipe.sendall(encode(Envelope(number, DropVectors("/p"))))
            assert isinstance(receive(pipe), Reply)
            started.send_signal(signal.SIGINT)  # the terminal's, which is the daemon's to heed
        pipe.close()
        assert started.wait(GENEROUS_S) == 0


def test_an_unexpected_error_is_logged_and_ends_the_embedder(tmp_path: Path) -> None:
    with process() as (started, pipe):
        pipe.sendall(encode(Envelope(1, Configure(str(tmp_path / "embeddings"), "", 2, 10**9))))
        pipe.sendall(encode(Envelope(2, KeepVectors("/p", None))))  # type: ignore[arg-type] # that is the error
        assert started.wait(GENEROUS_S) == 1
        assert started.stderr is not None
        assert b"TypeError" in started.stderr.read()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the priority is the process's")
def test_background_threads_give_way_and_those_of_questions_do_not(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "index"), System())
    put(store, "a.py", [LOGIN])
    with process() as (started, pipe):
        pipe.sendall(encode(Envelope(1, Configure(str(tmp_path / "embeddings"), "", 2, 10**9))))
        pipe.sendall(encode(Envelope(2, KeepVectors("/p", str(tmp_path / "index")))))
        while not isinstance(told := receive(pipe), VectorProgress) or not told.chunks or told.pending:
            pass
        usual = os.getpriority(os.PRIO_PROCESS, 0)
        priorities = [
            os.getpriority(os.PRIO_PROCESS, thread.id) for thread in psutil.Process(started.pid).threads()
        ]
    store.close()
    assert min(priorities) == usual
    assert priorities.count(min(19, usual + NICENESS)) >= 2


def _damaged(*_: object) -> VectorHits:
    raise DatabaseError("database disk image is malformed")


def _unforeseen(*_: object) -> None:
    raise ZeroDivisionError
