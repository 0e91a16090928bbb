"""Embeddings are exchanged with a real Redis; whatever is wrong with it, no caller waits and nothing is lost."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.messages import Pushed, SharedProgress, SharedStore
from foveal.daemon.embedding.redis_source import RedisSource
from foveal.daemon.embedding.shared_source import SourceError, VectorCodec, read_credential
from foveal.daemon.embedding.sharing import OFFERED_MAX, SharedEmbeddings, Vectors

from tests.redis_cases import SlowProxy, redis_cluster, redis_server, wait_until

DIM = 8
GENEROUS_S = 30.0
MODEL = "model@1/128/2"


def vectors(count: int, start: int = 0) -> Vectors:
    generator = np.random.default_rng(7)
    matrix = generator.normal(size=(start + count, DIM)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1)[:, None]
    return {bytes([n % 256, n // 256]) * 16: matrix[n] for n in range(start, start + count)}


class Machine:
    """A machine that exchanges embeddings; `own` is what it embedded itself."""

    def __init__(
        self, url: str, secret: str, password: str, model: str, own: Vectors, retry_s: float
    ) -> None:
        self.heard: SharedProgress | None = None
        source = RedisSource(SharedStore(url, "", "", 7), password)
        self.sharing = SharedEmbeddings(
            source, VectorCodec(model, secret), self._load, self._hear, System(), retry_s
        )
        self._own = own
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self.sharing.run)
        self._thread.start()

    def look_up(self, wanted: Sequence[bytes]) -> Vectors | None:
        answers: queue.SimpleQueue[Vectors | None] = queue.SimpleQueue()
        self.sharing.look_up(wanted, DIM, answers.put)
        return answers.get(timeout=GENEROUS_S)

    def push(self) -> Pushed:
        answers: queue.SimpleQueue[Pushed] = queue.SimpleQueue()
        self.sharing.push(list(self._own), answers.put)
        return answers.get(timeout=GENEROUS_S)

    def until(self, known: Callable[[SharedProgress], bool]) -> SharedProgress:
        with self._changed:
            assert self._changed.wait_for(lambda: known(self.sharing.progress()), GENEROUS_S)
        return self.sharing.progress()

    def close(self) -> None:
        self.sharing.close()
        self._thread.join()

    def _load(self, digests: Sequence[bytes]) -> Vectors:
        return {digest: self._own[digest] for digest in digests if digest in self._own}

    def _hear(self, progress: SharedProgress) -> None:
        with self._changed:
            self.heard = progress
            self._changed.notify_all()


@contextmanager
def machine(
    url: str,
    own: Vectors | None = None,
    *,
    secret: str = "team",
    password: str = "",
    model: str = MODEL,
    retry_s: float = 0.05,
) -> Iterator[Machine]:
    made = Machine(url, secret, password, model, own or {}, retry_s)
    try:
        yield made
    finally:
        made.close()


def check_same(found: Vectors | None, wanted: Vectors) -> None:
    assert found is not None
    assert set(found) == set(wanted)
    for digest, vector in wanted.items():
        assert np.allclose(found[digest], vector, atol=1e-3)


def test_what_one_machine_embedded_another_finds(tmp_path: Path) -> None:
    own = vectors(2_500)
    with redis_server(tmp_path) as server, machine(server.url, own) as first, machine(server.url) as second:
        first.sharing.offer(list(own))
        first.until(lambda progress: progress.written == 2_500 and not progress.waiting)
        check_same(second.look_up(list(own)[:1_000]), {digest: own[digest] for digest in list(own)[:1_000]})
        other = vectors(3, start=2_500)
        assert second.look_up(list(other)) == {}
        progress = second.sharing.progress()
        assert (progress.found, progress.missing, progress.rejected, progress.problem) == (1_000, 3, 0, "")
        assert progress.received_bytes == 1_000 * (2 + 16 + 8 + 2 + 2 * DIM)


def test_keys_tell_nothing_and_expire_and_a_use_renews_them(tmp_path: Path) -> None:
    own = vectors(1)
    with redis_server(tmp_path) as server, machine(server.url, own) as one:
        assert one.push() == Pushed(1, 1, 0)
        [key] = server.cli("keys", "*").split()
        assert next(iter(own)).hex() not in key, "the content's digest is not the key"
        assert int(server.cli("strlen", key)) == 2 + 16 + 8 + 2 + 2 * DIM, "digests and vectors alone"
        assert 0 < int(server.cli("ttl", key)) <= 7 * 86_400
        server.cli("expire", key, "60")
        one.look_up(list(own))
        assert int(server.cli("ttl", key)) > 60
        server.cli("expire", key, "60")
        assert one.push() == Pushed(1, 0, 1)
        assert int(server.cli("ttl", key)) > 60


@pytest.mark.parametrize("other", [{"secret": "another"}, {"secret": ""}, {"model": "model@2/128/2"}])
def test_another_secret_or_model_finds_nothing(tmp_path: Path, other: dict[str, str]) -> None:
    own = vectors(5)
    with redis_server(tmp_path) as server, machine(server.url, own) as first:
        first.push()
        with machine(server.url, **other) as second:  # type: ignore[arg-type]  # a parameter for each
            assert second.look_up(list(own)) == {}


def test_values_that_were_changed_are_not_believed_and_written_anew(tmp_path: Path) -> None:
    own = vectors(3)
    first_digest, second_digest, third_digest = own
    codec = VectorCodec(MODEL, "team")
    with redis_server(tmp_path) as server, machine(server.url, own) as one:
        one.push()
        keys = [codec.key(digest).decode() for digest in own]
        server.cli("setrange", keys[0], "30", "x")
        server.cli("copy", keys[2], keys[1], "replace")
        check_same(one.look_up(list(own)), {third_digest: own[third_digest]})
        assert one.sharing.progress().rejected == 2
        one.sharing.offer([first_digest, second_digest])
        one.until(lambda progress: progress.written == 5)
        check_same(one.look_up(list(own)), own)


def test_a_store_that_is_gone_answers_nothing_and_comes_back(tmp_path: Path) -> None:
    own = vectors(10)
    with redis_server(tmp_path) as server, machine(server.url, own) as one:
        assert one.push().written == 10
        server.stop()
        assert one.look_up(list(own)) is None
        assert "can't be reached" in one.sharing.progress().problem
        assert not one.sharing.is_trusted
        one.sharing.offer(list(own)[:4])
        server.start()
        one.until(lambda progress: progress.written == 14 and not progress.waiting)
        assert wait_until(lambda: one.look_up(list(own)) is not None)
        assert set(one.look_up(list(own)) or ()) == set(list(own)[:4]), "the server kept nothing"


def test_a_store_that_hangs_is_given_up_after_a_second(tmp_path: Path) -> None:
    own = vectors(2)
    with redis_server(tmp_path) as server, machine(server.url, own, retry_s=60) as one:
        one.push()
        os.kill(server.pid, signal.SIGSTOP)
        try:
            assert one.look_up(list(own)) is None
            assert "didn't answer in 1 s" in one.sharing.progress().problem
            assert one.look_up(list(own)) is None, "at once: it isn't tried again before a minute"
            assert not one.sharing.is_up
        finally:
            os.kill(server.pid, signal.SIGCONT)


def test_a_slow_store_is_used_and_one_that_is_too_slow_is_not(tmp_path: Path) -> None:
    own = vectors(1_000)
    with redis_server(tmp_path) as server, machine(server.url, own) as one:
        one.push()
        with SlowProxy(server.port, 0.05) as slow, machine(slow.url) as other:
            check_same(other.look_up(list(own)), own)
        with SlowProxy(server.port, 5.0) as slow, machine(slow.url) as other:
            assert other.look_up(list(own)) is None


def test_a_wrong_password_is_said_without_it(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", "sesame") as server:
        with machine(server.url, vectors(1), password="open-wide") as one:
            pushed = one.push()
            assert one.look_up([b"x" * 32]) is None
            assert "refuses the user or password" in pushed.problem
            assert "open-wide" not in pushed.problem + one.sharing.progress().problem
        url = server.url.replace("//", "//:open-wide@")
        with machine(url, vectors(1)) as one:
            problem = one.push().problem
            assert "refuses" in problem
            assert "open-wide" not in problem
        with machine(server.url, vectors(1), password="sesame") as one:
            assert one.push() == Pushed(1, 1, 0)


def test_a_cluster_is_recognised_and_half_of_it_may_be_gone(tmp_path: Path) -> None:
    own = vectors(300)
    with redis_cluster(tmp_path) as nodes, machine(nodes[0].url, own) as one:
        assert one.push() == Pushed(300, 300, 0)
        check_same(one.look_up(list(own)), own)
        counts = [int(node.cli("dbsize")) for node in nodes]
        assert sum(counts) == 300
        assert all(counts)
        nodes[2].stop()
        found = one.look_up(list(own)) or {}
        assert len(found) == counts[0] + counts[1], "what the other nodes hold is found"
        assert one.sharing.progress().problem
        pushed = one.push()
        assert pushed.problem


def test_what_waits_to_be_written_is_bounded(tmp_path: Path) -> None:
    with machine("redis://127.0.0.1:1", retry_s=60) as one:
        one.look_up([b"x" * 32])
        one.sharing.offer([n.to_bytes(32, "big") for n in range(OFFERED_MAX + 5)])
        progress = one.until(lambda progress: bool(progress.problem))
        assert (progress.waiting, progress.dropped) == (OFFERED_MAX, 5)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("env:MISSING", "MISSING isn't set"),
        ("file:/nowhere/x", "can't be read"),
        ("sesame", "neither env:NAME"),
    ],
)
def test_a_credential_that_is_not_there_is_said(written: str, problem: str) -> None:
    with pytest.raises(SourceError, match=problem) as raised:
        read_credential(written, {}, System())
    assert "sesame" not in str(raised.value)


def test_credentials_come_from_the_environment_and_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    assert read_credential("", {}, System()) == ""
    assert read_credential("env:X", {"X": "from the environment"}, System()) == "from the environment"
    assert read_credential(f"file:{tmp_path}/secret", {}, System()) == "from a file"
