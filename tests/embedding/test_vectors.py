"""A project's vectors are found by cosine, filtered and pooled, whatever was added, removed, saved or lost.

The oracle compares every vector in numpy. Graphs are used and saved at fewer vectors than in the product."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding import vectors
from foveal.daemon.embedding.embeddings import StoredVectors
from foveal.daemon.embedding.unit_vectors import Floats, Ids, as_ids, unit_halves
from foveal.daemon.embedding.vector_file import UnusableVectors, check_vector_file, file_name
from foveal.daemon.embedding.vectors import VectorIndex, cosines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import ArrayLike

from tests.properties import examples

DIM = 16
FEW = 200
BASE = 1 << 62
"""Ids are as large as those of the database."""


@pytest.fixture(autouse=True)
def _early_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "RECENT_VECTORS", FEW)
    monkeypatch.setattr(vectors, "EXACT_VECTORS", FEW)


class FullDisk(System):
    """A disk that takes nothing more once it is full."""

    full = False

    def fsync(self, descriptor: int) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Embeddings:
    """Vectors in loose clusters by id, as the database would give them; it counts what is asked for."""

    def __init__(self, count: int, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        centres = random.standard_normal((max(count // 20, 1), DIM))
        near = centres[random.integers(0, len(centres), count)] + 0.5 * random.standard_normal((count, DIM))
        self.matrix = unit_halves(near, DIM).astype(np.float32)
        self.ids = as_ids(random.permutation(count)) + np.uint64(BASE)
        self.rows = {number: row for row, number in enumerate(self.ids.tolist())}
        self.loaded = 0

    def load(self, ids: Ids) -> StoredVectors:
        known = sorted(number for number in ids.tolist() if number in self.rows)
        self.loaded += len(known)
        return StoredVectors(as_ids(known), [], self.of(known))

    def of(self, ids: list[int]) -> Floats:
        return self.matrix[[self.rows[number] for number in ids]].reshape(len(ids), DIM)

    def best(self, queries: ArrayLike, ids: set[int]) -> list[tuple[int, float]]:
        """Return all of these ids with their scores, best first."""
        numbers = sorted(ids)
        products = self.of(numbers) @ unit_halves(queries, DIM).astype(np.float32).T
        scores = np.clip(np.round(products.max(axis=1, initial=-1), 6), -1, 1)
        return sorted(zip(numbers, scores.tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))


def make(folder: Path, system: System | None = None, model: str = "model") -> VectorIndex:
    return VectorIndex(str(folder), DIM, model, system or System())


def filled(folder: Path, embeddings: Embeddings, system: System | None = None) -> VectorIndex:
    index = make(folder, system)
    index.sync(embeddings.ids, embeddings.load)
    return index


def check_found(
    index: VectorIndex,
    embeddings: Embeddings,
    queries: Floats,
    k: int,
    among: list[int] | None = None,
    recall: float = 1.0,
) -> None:
    """Compare what is found with the oracle; scores must be right even where not all are found."""
    allowed = set(index.ids().tolist())
    expected = embeddings.best(queries, allowed if among is None else allowed.intersection(among))
    found, truth = index.search(queries, k, among), dict(expected)
    assert found.scores == pytest.approx([truth[number] for number in found.ids.tolist()], abs=5e-4)
    assert len(found.ids) == min(k, len(expected))
    assert np.all(np.diff(found.scores) <= 0)
    if len(found.ids):
        least = expected[len(found.ids) - 1][1]
        assert np.mean(found.scores >= least - 5e-4) >= recall


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Embeddings, VectorIndex]]:
    """Give indexes of several sizes to those who only ask them."""
    made = {}
    for count in (1, FEW, FEW + 1, 3_000):
        embeddings = Embeddings(count)
        made[count] = (embeddings, filled(tmp_path_factory.mktemp("vectors"), embeddings))
    return made


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 3_000])
@pytest.mark.parametrize("queries", [1, 4])
@pytest.mark.parametrize("share", [None, 0.0, 0.001, 0.05, 0.5, 1.0])
def test_the_nearest_allowed_vectors_are_found(
    indexes: dict[int, tuple[Embeddings, VectorIndex]], count: int, queries: int, share: float | None
) -> None:
    embeddings, index = indexes[count]
    among = None
    if share is not None:
        some = embeddings.ids[: int(share * count)].tolist()
        among = [*some, *some[:3], BASE + count]
    for seed in range(1, 5):
        for k in (1, 10, count + 5):
            check_found(index, embeddings, Embeddings(queries, seed).matrix, k, among, recall=0.9)


def test_a_filter_far_from_the_question_still_fills_the_answer(
    indexes: dict[int, tuple[Embeddings, VectorIndex]],
) -> None:
    embeddings, index = indexes[3_000]
    query = embeddings.matrix[0]
    farthest = [number for number, _ in embeddings.best(query, set(embeddings.ids.tolist()))[-1_500:]]
    check_found(index, embeddings, query, 10, farthest)


def test_equal_vectors_come_by_id_in_the_file_and_in_memory(tmp_path: Path) -> None:
    index = make(tmp_path)
    ids = as_ids(np.random.default_rng(0).permutation(FEW + 50)) + np.uint64(BASE)
    index.add(ids[: FEW + 1], np.ones((FEW + 1, DIM)))
    index.save()
    index.add(ids[FEW + 1 :], np.ones((49, DIM)))
    assert os.path.exists(index.path)
    found = index.search(np.ones(DIM), FEW + 50)
    assert found.ids.tolist() == sorted(ids.tolist())
    assert len(set(found.scores.tolist())) == 1
    assert set(cosines(unit_halves(np.ones((3, DIM)), DIM), unit_halves(np.ones(DIM), DIM))) == set(
        found.scores
    )


def test_an_id_that_is_here_keeps_its_vector_and_the_first_of_two_counts(tmp_path: Path) -> None:
    index = make(tmp_path)
    index.add([5, 5], np.eye(DIM)[:2])
    index.add([5], np.eye(DIM)[2:3])
    assert index.search(np.eye(DIM)[0], 1).scores.tolist() == [1.0]
    assert len(index) == 1


@pytest.mark.parametrize("matrix", [np.ones((2, DIM)), np.zeros((1, DIM)), np.ones((1, DIM + 1))])
def test_vectors_without_sense_are_refused(tmp_path: Path, matrix: Floats) -> None:
    index = make(tmp_path)
    with pytest.raises(ValueError):
        index.add([1], matrix)
    assert len(index) == 0


CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "save", "sync", "open"]), st.integers(0, 399), st.integers(0, 200)),
    max_size=12,
)


@given(CHANGES)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_search_finds_what_was_added(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    embeddings = Embeddings(600)
    index, present = make(folder), set[int]()
    for verb, start, length in changes:
        ids = embeddings.ids[start : start + length]
        if verb == "add":
            index.add(ids, embeddings.of(ids.tolist()))
            present = present | set(ids.tolist())
        elif verb == "save":
            index.save(growing=length > 100)
        else:
            if verb == "open":
                index = make(folder)
                ids = as_ids(sorted(present))
            index.sync(ids, embeddings.load)
            present = set(ids.tolist())
        assert index.ids().tolist() == sorted(present)
    everything = index.search(np.ones(DIM), 1_000).ids.tolist()
    assert present <= set(everything), "and perhaps some that are no longer in use"
    ordered = [number for number, _ in embeddings.best(np.ones(DIM), set(everything))]
    assert everything[:10] == pytest.approx(ordered[:10])


def test_a_few_recent_vectors_do_not_rewrite_the_file(tmp_path: Path) -> None:
    embeddings = Embeddings(2 * FEW)
    index = make(tmp_path)
    index.sync(embeddings.ids[: FEW + 1], embeddings.load)
    written = os.stat(index.path).st_ino
    index.add(embeddings.ids[FEW + 1 :], embeddings.matrix[FEW + 1 :])
    index.save()
    assert os.stat(index.path).st_ino == written
    embeddings.loaded = 0
    again = make(tmp_path)
    again.sync(embeddings.ids, embeddings.load)
    assert embeddings.loaded == FEW - 1
    check_found(again, embeddings, embeddings.matrix[3], 2 * FEW)


def test_what_is_not_in_use_goes_when_it_is_much(tmp_path: Path) -> None:
    embeddings = Embeddings(1_000)
    index = filled(tmp_path, embeddings)
    size = os.path.getsize(index.path)
    index.sync(embeddings.ids[390:], embeddings.load)
    assert (len(index), os.path.getsize(index.path)) == (610, size)
    index.sync(embeddings.ids[410:], embeddings.load)
    assert os.path.getsize(index.path) < 0.7 * size
    assert embeddings.loaded == 1_000
    check_found(index, embeddings, embeddings.matrix[0], 590)
    index.sync([], embeddings.load)
    assert os.listdir(tmp_path) == []
    assert len(index.search(np.ones(DIM), 5).ids) == 0


@pytest.mark.parametrize("damage", ["flip", "cut", "garbage", "empty", "gone", "folder", "another model"])
def test_lost_vectors_are_rebuilt_from_the_stored_embeddings(tmp_path: Path, damage: str) -> None:
    embeddings = Embeddings(1_000)
    path = Path(filled(tmp_path, embeddings).path)
    data = path.read_bytes()
    model = "other" if damage == "another model" else "model"
    for offset in np.linspace(0, len(data) - 1, 10).astype(int) if damage in {"flip", "cut"} else [0]:
        path.unlink(missing_ok=True)
        match damage:
            case "flip":
                path.write_bytes(data[:offset] + bytes([data[offset] ^ 0xFF]) + data[offset + 1 :])
            case "cut":
                path.write_bytes(data[:offset])
            case "garbage":
                path.write_bytes(np.random.default_rng(1).bytes(len(data)))
            case "empty":
                path.touch()
            case "folder":
                path.mkdir()
            case "another model":
                (tmp_path / file_name("other")).write_bytes(data)
        if damage in {"flip", "cut", "garbage", "empty"}:
            with pytest.raises(UnusableVectors):
                check_vector_file(str(path))
        again = make(tmp_path, model=model)
        assert not list(tmp_path.glob("*.bin")), "what can't be used is gone"
    embeddings.loaded = 0
    again.sync(embeddings.ids, embeddings.load)
    assert embeddings.loaded == 1_000
    check_found(again, embeddings, embeddings.matrix[0], 10, recall=0.9)
    check_vector_file(again.path)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    embeddings, disk = Embeddings(1_000), FullDisk()
    index = make(tmp_path, disk)
    index.sync(embeddings.ids[:500], embeddings.load)
    disk.full = True
    index.add(embeddings.ids[500:], embeddings.matrix[500:])
    with pytest.raises(OSError, match="space"):
        index.save()
    assert len(os.listdir(tmp_path)) == 1
    check_found(index, embeddings, embeddings.matrix[700], 10, recall=0.9)
    disk.full = False
    index.save()
    embeddings.loaded = 0
    make(tmp_path).sync(embeddings.ids, embeddings.load)
    assert embeddings.loaded == 0


SAVE_AND_DIE = """
import os, signal, sys
import numpy as np
from foveal.daemon.embedding import vectors
from foveal.daemon.core.system import System

class Dies(System):
    def fsync(self, descriptor):
        os.kill(os.getpid(), signal.SIGKILL)

vectors.RECENT_VECTORS = 10
index = vectors.VectorIndex(sys.argv[1], 16, "model", Dies())
index.add(range(5000, 6000), np.random.default_rng(0).standard_normal((1000, 16)))
index.save()
"""


def test_a_save_that_is_killed_leaves_the_former_file(tmp_path: Path) -> None:
    embeddings = Embeddings(1_000)
    filled(tmp_path, embeddings)
    child = subprocess.run([sys.executable, "-c", SAVE_AND_DIE, str(tmp_path)], check=False)
    assert child.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 2
    embeddings.loaded = 0
    make(tmp_path).sync(embeddings.ids, embeddings.load)
    assert len(os.listdir(tmp_path)) == 1
    assert embeddings.loaded == 0


def test_searches_go_on_while_vectors_come_and_are_saved(tmp_path: Path) -> None:
    embeddings = Embeddings(2_000)
    index, steady, done = make(tmp_path), embeddings.ids[:500], threading.Event()
    index.sync(steady, embeddings.load)

    def change() -> None:
        try:
            for start in range(500, 2_000, 100):
                ids = embeddings.ids[start : start + 100]
                index.add(ids, embeddings.of(ids.tolist()))
                index.save()
                index.sync(np.concatenate([steady, ids[:70]]), embeddings.load)
        finally:
            done.set()

    def search(row: int) -> int:
        searches = 0
        while not done.is_set() or not searches:
            found = index.search(embeddings.matrix[row], 5, steady if row % 2 else None)
            assert found.ids[0] == embeddings.ids[row]
            assert found.scores[0] == pytest.approx(1, abs=1e-3)
            searches += 1
        return searches

    with ThreadPoolExecutor(4) as pool:
        changes = pool.submit(change)
        assert all(count > 0 for count in pool.map(search, [0, 1, 2]))
        changes.result()
    assert len(index) == 570


# Vectors get length one and keep their stored form; ids above 2^53 stay exact.


@pytest.mark.parametrize("vector", [[3.0, 4.0], [[3.0, 4.0]], [3e30, 4e30], [3e-30, 4e-30]])
def test_a_vector_gets_length_one_whatever_its_size(vector: list[float]) -> None:
    assert unit_halves(vector, 2) == pytest.approx(np.array([[0.6, 0.8]]), abs=5e-4)


@pytest.mark.parametrize(
    "vector",
    [[0, 0], [np.nan, 1], [np.inf, 1], [1, 2, 3], [], 1.0, [[[1, 2]]], [[1, 0], [0, 0]]],
)
def test_vectors_without_direction_or_of_another_size_are_refused(vector: Any) -> None:
    with pytest.raises(ValueError):
        unit_halves(vector, 2)


@given(
    hnp.arrays(np.float32, (3, 6), elements=st.floats(-1e3, 1e3, width=32)).filter(
        lambda a: (abs(a).max(1) > 1e-3).all()
    )
)
def test_a_stored_vector_that_comes_back_stays_as_it_is(matrix: np.ndarray) -> None:
    stored = unit_halves(matrix, 6)
    assert unit_halves(stored, 6).tolist() == stored.tolist()
    assert unit_halves(stored.astype(np.float32), 6).tolist() == stored.tolist()
