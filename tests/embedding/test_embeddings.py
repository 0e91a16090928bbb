"""Embeddings are kept once by model and content, durably, under ids that never come to mean another one."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from foveal.daemon.core.storage import DatabaseError
from foveal.daemon.core.system import System
from foveal.daemon.embedding.embeddings import USE_DAYS, EmbeddingStore
from foveal.daemon.embedding.unit_vectors import unit_halves

DIM = 8
DAY_NS = 86_400 * 1_000_000_000


class Clock(System):
    """A clock that tests set to a day."""

    def __init__(self) -> None:
        self.day = 20_000

    def time_ns(self) -> int:
        return self.day * DAY_NS + 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[EmbeddingStore]:
    store = EmbeddingStore(str(tmp_path / "sub" / "embeddings.sqlite"), clock)
    yield store
    store.close()


def digest(name: object) -> bytes:
    return hashlib.blake2b(str(name).encode(), digest_size=16).digest()


def digests(*names: object) -> list[bytes]:
    return [digest(name) for name in names]


def vectors(count: int, dim: int = DIM, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


def put_many(store: EmbeddingStore, count: int, prefix: str = "", dim: int = DIM) -> list[int]:
    ids: list[int] = store.put(
        "m", digests(*(f"{prefix}{n}" for n in range(count))), vectors(count, dim)
    ).tolist()
    return ids


# Keeping


def test_stored_embeddings_come_back_as_unit_vectors(store: EmbeddingStore) -> None:
    matrix = vectors(3)
    ids = store.put("m", digests("a", "b", "c"), matrix)
    stored = store.vectors("m", ids[::-1])
    assert stored.ids.tolist() == sorted(ids.tolist())
    assert stored.digests == digests("a", "b", "c")
    assert stored.matrix == pytest.approx(unit_halves(matrix, DIM), abs=1e-3)
    assert store.ids("m", digests("a", "c", "x")) == {digest("a"): ids[0], digest("c"): ids[2]}
    assert store.digests([*ids.tolist(), 1]) == dict(zip(ids.tolist(), digests("a", "b", "c"), strict=True))
    assert store.dim("m") == DIM


def test_a_content_keeps_its_embedding_and_its_id(store: EmbeddingStore) -> None:
    first = store.put("m", digests("a"), vectors(1, seed=1))
    matrix = vectors(3, seed=2)
    both = store.put("m", digests("b", "a", "b"), matrix)
    assert both[1] == first[0]
    assert both[0] == both[2] != both[1]
    assert store.vectors("m", both[:1]).matrix == pytest.approx(unit_halves(matrix[:1], DIM), abs=1e-3)
    assert store.vectors("m", first).matrix == pytest.approx(unit_halves(vectors(1, seed=1), DIM), abs=1e-3)


@pytest.mark.parametrize(
    ("count", "matrix"),
    [(1, vectors(2)), (1, np.zeros((1, DIM))), (1, np.full((1, DIM), np.nan)), (1, vectors(1, dim=9))],
    ids=["another count", "zero", "not a number", "another size"],
)
def test_a_refused_batch_leaves_nothing_behind(store: EmbeddingStore, count: int, matrix: np.ndarray) -> None:
    store.put("m", digests("first"), vectors(1))
    with pytest.raises(ValueError):
        store.put("m", digests(*range(count)), matrix)
    assert store.ids("m", digests(*range(count))) == {}
    store.put("m", digests("next"), vectors(1))


# Ids


# Forgetting


def test_those_unused_for_longest_are_forgotten_first(store: EmbeddingStore, clock: Clock) -> None:
    old = put_many(store, 400, "old", dim=96)
    clock.day += USE_DAYS
    new = put_many(store, 400, "new", dim=96)
    clock.day += USE_DAYS
    used = old[:100]
    store.ids("m", digests(*(f"old{n}" for n in range(100))))
    size = store.used_bytes()
    assert store.prune(size) == 0
    gone = store.prune(size * 3 // 4)
    left = set(store.vectors("m", [*old, *new]).ids.tolist())
    assert len(left) == 800 - gone
    assert left >= set(used) | set(new)
    assert store.used_bytes() <= size * 3 // 4


def test_many_are_spared_among_many(store: EmbeddingStore) -> None:
    ids = put_many(store, 12_000)
    spared = np.asarray(ids[::2], np.uint64)
    assert store.prune(0, keep=spared) == 6_000
    assert sorted(store.digests(ids)) == sorted(ids[::2])


def test_a_file_that_is_mostly_empty_gets_smaller(store: EmbeddingStore) -> None:
    put_many(store, 5_000)
    ids = put_many(store, 10, "kept")
    before = store.used_bytes()
    store.prune(0, keep=ids)
    store.close()
    assert os.path.getsize(store.path) < before / 4
    again = EmbeddingStore(store.path, System(), check=True)
    assert len(again.vectors("m", ids).ids) == 10
    again.close()


def test_use_is_written_once_a_week(store: EmbeddingStore, clock: Clock) -> None:
    put_many(store, 10)

    def writes() -> int:
        before = store._db.total_changes
        store.ids("m", digests(*range(10)))
        return store._db.total_changes - before

    assert writes() == 0
    clock.day += USE_DAYS - 1
    assert writes() == 0
    clock.day += 1
    assert writes() == 10
    assert writes() == 0
    clock.day -= 400  # the clock had been wrong
    assert writes() == 10


# Durability and damage


PUT_AND_DIE = """
import os, signal, sys
import numpy as np
from foveal.daemon.embedding.embeddings import EmbeddingStore
from foveal.daemon.core.system import System

store = EmbeddingStore(sys.argv[1], System())
store.put("m", [bytes([n]) * 16 for n in range(100)], np.eye(100, dtype=np.float32))
store._db.execute("BEGIN IMMEDIATE")
store._db.execute("DELETE FROM embeddings")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_stored_embeddings_survive_a_kill(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    child = subprocess.run([sys.executable, "-c", PUT_AND_DIE, path], check=False)
    assert child.returncode == -signal.SIGKILL
    store = EmbeddingStore(path, System(), check=True)
    assert store.replaced == ""
    contents = [bytes([n]) * 16 for n in range(101)]
    ids = store.ids("m", contents)
    assert ids.keys() == set(contents[:100])
    assert len(store.vectors("m", ids.values()).ids) == 100
    store.close()


def test_a_commit_waits_for_the_disk(store: EmbeddingStore) -> None:
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_damaged_file_is_set_aside_when_it_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "db"
    store = EmbeddingStore(str(path), System())
    put_many(store, 2_000)
    store.close()
    data = bytearray(path.read_bytes())
    place = data.rindex(max(digests(*range(2_000)))) // 4_096 * 4_096  # no row that is read when it is opened
    data[place : place + 4_096] = b"\xff" * 4_096
    path.write_bytes(data)
    store = EmbeddingStore(str(path), System())
    with pytest.raises(DatabaseError):
        store.ids("m", digests(*range(2_000)))
    store.close()
    store = EmbeddingStore(str(path), System(), check=True)
    assert store.replaced
    assert store.ids("m", digests(1)) == {}
    store.close()
