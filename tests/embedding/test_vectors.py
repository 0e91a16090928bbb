"""A project's vectors are found by cosine, filtered and pooled, whatever was added, dropped, saved or lost.

The oracle compares every vector in numpy. Graphs begin at fewer vectors here than in the product.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding import vectors
from foveal.daemon.embedding.embeddings import StoredVectors
from foveal.daemon.embedding.exact import Floats, Ids, as_ids, unit
from foveal.daemon.embedding.vector_file import file_name
from foveal.daemon.embedding.vectors import VectorIndex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties import examples

DIM = 16
TAIL = 200
BASE = 1 << 62
"""Ids are as large as those of the database."""


@pytest.fixture(autouse=True)
def _early_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "TAIL_VECTORS", TAIL)


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
        self.matrix = unit(near, DIM).astype(np.float16).astype(np.float32)
        self.ids = as_ids(random.permutation(count)) + np.uint64(BASE)
        self.rows = {number: row for row, number in enumerate(self.ids.tolist())}
        self.loaded = 0

    def load(self, ids: Ids) -> StoredVectors:
        known = sorted(number for number in ids.tolist() if number in self.rows)
        self.loaded += len(known)
        return StoredVectors(as_ids(known), [], self.of(known))

    def of(self, ids: list[int]) -> Floats:
        return self.matrix[[self.rows[number] for number in ids]].reshape(len(ids), DIM)

    def best(self, queries: Floats, ids: Ids) -> list[tuple[int, float]]:
        """Return all of these ids with their scores, best first."""
        numbers = ids.tolist()
        products = self.of(numbers) @ unit(queries, DIM).T
        scores = np.clip(np.round(products.max(axis=1), 6), -1, 1)
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
    alive: Ids,
    among: Ids | None = None,
    recall: float = 1.0,
) -> None:
    """Compare what is found with the oracle; scores must be right even where not all are found."""
    found = index.search(queries, k, among)
    allowed = alive if among is None else np.intersect1d(alive, among)
    expected = embeddings.best(queries, allowed)
    truth = dict(expected)
    assert found.scores == pytest.approx(np.array([truth[number] for number in found.ids.tolist()]), abs=2e-5)
    assert len(found.ids) == min(k, len(allowed))
    assert np.all(np.diff(found.scores) <= 0)
    if len(found.ids):
        least = expected[len(found.ids) - 1][1]
        assert np.mean(found.scores >= least - 2e-5) >= recall


def graph_size(index: VectorIndex) -> int:
    graph = index._state.graph
    return 0 if graph is None else len(graph)


# Searching


@pytest.mark.parametrize("count", [1, 2, TAIL, TAIL + 1, 3_000])
def test_the_nearest_are_found_however_many_there_are(tmp_path: Path, count: int) -> None:
    embeddings = Embeddings(count)
    index = filled(tmp_path, embeddings)
    assert len(index) == count
    assert (graph_size(index) > 0) == (count > TAIL)
    for query in Embeddings(20, seed=1).matrix:
        for k in (1, 10, count, count + 5):
            check_found(index, embeddings, query, k, embeddings.ids, recall=0.9)


@pytest.fixture(scope="module")
def thousands(tmp_path_factory: pytest.TempPathFactory) -> tuple[Embeddings, VectorIndex]:
    """Give an index to those who only ask it."""
    embeddings = Embeddings(3_000)
    return embeddings, filled(tmp_path_factory.mktemp("vectors"), embeddings)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("queries", [1, 4])
def test_a_filter_gives_only_allowed_vectors(
    thousands: tuple[Embeddings, VectorIndex], share: float, queries: int
) -> None:
    embeddings, index = thousands
    recent = Embeddings(3_000 + TAIL).ids[-1:]  # an id that nobody has
    for seed in range(5):
        among = np.random.default_rng(seed).permutation(embeddings.ids)[: int(share * 3_000)]
        among = np.concatenate([among, among[:3], recent])
        asked = Embeddings(queries, seed=seed + 1).matrix
        check_found(index, embeddings, asked, 10, embeddings.ids, among, recall=0.9)


def test_a_filter_far_from_the_question_still_fills_the_answer(tmp_path: Path) -> None:
    embeddings = Embeddings(5_000)
    index = filled(tmp_path, embeddings)
    query = embeddings.matrix[0]
    farthest = as_ids([number for number, _ in embeddings.best(query, embeddings.ids)[-2_500:]])
    check_found(index, embeddings, query, 10, embeddings.ids, farthest)


def test_equal_vectors_come_by_id_in_graph_and_tail(tmp_path: Path) -> None:
    index = make(tmp_path)
    same = np.ones((TAIL + 50, DIM))
    ids = as_ids(np.random.default_rng(0).permutation(TAIL + 50)) + np.uint64(BASE)
    index.add(ids[: TAIL + 1], same[: TAIL + 1])
    assert index.save()
    index.add(ids[TAIL + 1 :], same[TAIL + 1 :])
    assert len(index._state.tail) == 49
    found = index.search(same[0], TAIL + 50)
    assert found.ids.tolist() == sorted(ids.tolist())
    assert len(set(found.scores.tolist())) == 1


def test_nothing_is_found_in_nothing(tmp_path: Path) -> None:
    index = make(tmp_path)
    for found in (
        index.search(np.ones(DIM), 5),
        index.search(np.ones(DIM), 5, []),
    ):
        assert (found.ids.tolist(), found.scores.tolist()) == ([], [])
    assert len(index) == 0
    assert not index.save()


@pytest.mark.parametrize(
    ("query", "k"), [(np.zeros(DIM), 1), (np.ones(DIM + 1), 1), (np.full(DIM, np.nan), 1), (np.ones(DIM), 0)]
)
def test_questions_without_sense_are_refused(tmp_path: Path, query: Floats, k: int) -> None:
    with pytest.raises(ValueError):
        make(tmp_path).search(query, k)


@pytest.mark.parametrize(
    ("ids", "matrix"), [([1], np.ones((2, DIM))), ([1], np.zeros((1, DIM))), ([1], np.ones((1, DIM + 1)))]
)
def test_vectors_without_sense_are_refused(tmp_path: Path, ids: list[int], matrix: Floats) -> None:
    index = make(tmp_path)
    with pytest.raises(ValueError):
        index.add(ids, matrix)
    assert len(index) == 0


# Changing


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["add", "discard", "save", "sync", "open"]),
        st.integers(0, 399),
        st.integers(1, 200),
    ),
    max_size=12,
)


@given(CHANGES)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_search_finds_added_and_not_removed_vectors(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("vectors")
    embeddings = Embeddings(600)
    index, alive = make(folder), set[int]()
    for verb, start, length in changes:
        ids = embeddings.ids[start : start + length]
        if verb == "add":
            index.add(ids, embeddings.of(ids.tolist()))
            alive |= set(ids.tolist())
        elif verb == "discard":
            index.discard(ids)
            alive -= set(ids.tolist())
        elif verb == "save":
            index.save()
        else:
            if verb == "open":
                index = make(folder)
                ids = as_ids(sorted(alive))
            index.sync(ids, embeddings.load)
            alive = set(ids.tolist())
        assert len(index) == len(alive)
    everything = index.search(np.ones(DIM), 1_000)
    assert set(everything.ids.tolist()) == alive
    assert everything.ids.tolist() == [n for n, _ in embeddings.best(unit(np.ones(DIM), DIM), everything.ids)]
    check_found(index, embeddings, embeddings.matrix[7], 10, as_ids(sorted(alive)), recall=0.9)


def test_scores_do_not_change_when_vectors_enter_the_graph(tmp_path: Path) -> None:
    embeddings = Embeddings(TAIL + 20)
    index = make(tmp_path)
    index.add(embeddings.ids, embeddings.matrix)
    before = index.search(np.ones(DIM), 500)
    assert index.save()
    assert len(index._state.tail) == 0
    after = index.search(np.ones(DIM), 500)
    assert before.ids.tolist() == after.ids.tolist()
    assert before.scores.tolist() == after.scores.tolist()


def test_an_id_that_is_here_keeps_its_vector_and_the_first_of_two_counts(tmp_path: Path) -> None:
    index = make(tmp_path)
    index.add([5, 5], np.eye(DIM)[:2])
    index.add([5], np.eye(DIM)[2:3])
    assert index.search(np.eye(DIM)[0], 1).scores.tolist() == [1.0]
    assert len(index) == 1


def test_a_few_recent_vectors_do_not_rewrite_the_file(tmp_path: Path) -> None:
    embeddings = Embeddings(2 * TAIL)
    index = make(tmp_path)
    index.add(embeddings.ids[: TAIL + 1], embeddings.matrix[: TAIL + 1])
    assert index.save()
    written = os.stat(index.path).st_ino
    index.add(embeddings.ids[TAIL + 1 :], embeddings.matrix[TAIL + 1 :])
    assert not index.save()
    assert os.stat(index.path).st_ino == written
    assert len(index._state.tail) == TAIL - 1
    again = make(tmp_path)
    again.sync(embeddings.ids, embeddings.load)
    assert embeddings.loaded == TAIL - 1
    check_found(again, embeddings, (np.ones(DIM) / 4).astype(np.float32), 2 * TAIL, embeddings.ids)


def test_the_dead_go_when_they_are_many(tmp_path: Path) -> None:
    embeddings = Embeddings(1_000)
    index = filled(tmp_path, embeddings)
    size = os.path.getsize(index.path)
    index.discard(embeddings.ids[:390])
    assert not index.save()
    assert graph_size(index) == 1_000
    index.discard(embeddings.ids[:410])
    assert index.save()
    assert (graph_size(index), len(index)) == (590, 590)
    assert os.path.getsize(index.path) < 0.7 * size
    assert embeddings.loaded == 1_000
    check_found(index, embeddings, embeddings.matrix[0], 600, embeddings.ids[410:])


def test_a_project_that_lost_everything_has_no_file(tmp_path: Path) -> None:
    embeddings = Embeddings(1_000)
    index = filled(tmp_path, embeddings)
    index.sync([], embeddings.load)
    assert os.listdir(tmp_path) == []
    assert (graph_size(index), len(index)) == (0, 0)


# The file


@pytest.mark.parametrize("damage", ["flip", "cut", "garbage", "empty", "gone", "another model"])
def test_lost_vectors_are_rebuilt_from_the_stored_embeddings(tmp_path: Path, damage: str) -> None:
    embeddings = Embeddings(1_000)
    index = filled(tmp_path, embeddings)
    path = Path(index.path)
    data = bytearray(path.read_bytes())
    offsets = np.linspace(0, len(data) - 1, 30).astype(int) if damage in {"flip", "cut"} else [0]
    for offset in offsets:
        changed = bytearray(data)
        if damage == "flip":
            changed[offset] ^= 0xFF
        elif damage == "cut":
            del changed[offset:]
        elif damage == "garbage":
            changed[:] = np.random.default_rng(1).bytes(len(data))
        elif damage == "empty":
            changed.clear()
        path.write_bytes(changed)
        if damage == "gone":
            path.unlink()
        again = make(tmp_path, model="other" if damage == "another model" else "model")
        assert len(again) == 0
        assert os.listdir(tmp_path) == [], "what can't be used is gone"
    embeddings.loaded = 0
    again.sync(embeddings.ids, embeddings.load)
    assert embeddings.loaded == 1_000
    check_found(again, embeddings, embeddings.matrix[0], 10, embeddings.ids)
    assert len(make(tmp_path, model="other" if "other" in damage else "model")) == 1_000


def test_another_models_file_in_its_place_is_not_used(tmp_path: Path) -> None:
    index = filled(tmp_path, Embeddings(1_000))
    os.replace(index.path, tmp_path / file_name("other"))
    assert len(make(tmp_path, model="other")) == 0
    (tmp_path / "index.sqlite").touch()
    filled(tmp_path, Embeddings(1_000))
    assert len(VectorIndex(str(tmp_path), DIM * 2, "model", System())) == 0
    assert os.listdir(tmp_path) == ["index.sqlite"]


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    embeddings = Embeddings(2_000)
    disk = FullDisk()
    index = make(tmp_path, disk)
    index.sync(embeddings.ids[:1_000], embeddings.load)
    disk.full = True
    index.add(embeddings.ids[1_000:], embeddings.matrix[1_000:])
    with pytest.raises(OSError, match="space"):
        index.save()
    assert len(index) == 2_000
    check_found(index, embeddings, embeddings.matrix[1_500], 10, embeddings.ids)
    assert len(make(tmp_path)) == 1_000
    disk.full = False
    assert index.save()
    assert len(make(tmp_path)) == 2_000


SAVE_AND_DIE = """
import os, signal, sys
import numpy as np
from foveal.daemon.embedding import vectors
from foveal.daemon.core.system import System

class Dies(System):
    def fsync(self, descriptor):
        os.kill(os.getpid(), signal.SIGKILL)

vectors.TAIL_VECTORS = 10
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
    index = make(tmp_path)
    assert len(os.listdir(tmp_path)) == 1
    assert sorted(index.search(np.ones(DIM), 2_000).ids.tolist()) == sorted(embeddings.ids.tolist())


# Threads


def test_searches_go_on_while_vectors_come_go_and_are_saved(tmp_path: Path) -> None:
    embeddings = Embeddings(4_000)
    index = make(tmp_path)
    steady = embeddings.ids[:500]
    index.sync(steady, embeddings.load)
    done = threading.Event()

    def change() -> None:
        try:
            for start in range(500, 4_000, 100):
                ids = embeddings.ids[start : start + 100]
                index.add(ids, embeddings.of(ids.tolist()))
                index.save()
                index.discard(ids[:70])
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
    alive = [*steady.tolist()]
    for start in range(500, 4_000, 100):
        alive += embeddings.ids[start + 70 : start + 100].tolist()
    assert sorted(index.search(np.ones(DIM), 5_000).ids.tolist()) == sorted(alive)


class Interrupted(Embeddings):
    """Does something while the first vectors are loaded, when a graph is half built."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.interruption: Callable[[], None] = lambda: None

    def load(self, ids: Ids) -> StoredVectors:
        interruption, self.interruption = self.interruption, lambda: None
        interruption()
        return super().load(ids)


@pytest.mark.parametrize("decayed", [False, True])
def test_changes_during_a_build_hold_afterwards(tmp_path: Path, decayed: bool) -> None:
    embeddings = Interrupted(3_000)
    ids = embeddings.ids
    old, recent, missing, new = ids[:1_000], ids[1_000:1_100], ids[1_100:2_500], ids[2_500:2_600]
    index = make(tmp_path)
    index.sync(old, embeddings.load)
    index.add(recent, embeddings.of(recent.tolist()))
    kept = old[700:] if decayed else old

    def interrupt() -> None:
        index.discard(np.concatenate([kept[:10], recent[:10], missing[:10], new[:10]]))
        index.discard(missing[-10:])
        index.add(new, embeddings.of(new.tolist()))
        # Alive again: one of the old graph, some of the tail, some that are about to be loaded.
        back = np.concatenate([kept[5:10], recent[5:10], missing[5:10], old[:2]])
        index.add(back, embeddings.of(back.tolist()))

    embeddings.interruption = interrupt
    index.sync(np.concatenate([kept, recent, missing]), embeddings.load)
    expected = np.concatenate([kept[5:], recent[5:], missing[5:-10], new, old[:2]])
    found = index.search(np.ones(DIM), 5_000)
    assert sorted(found.ids.tolist()) == sorted(set(expected.tolist()))
    check_found(index, embeddings, embeddings.matrix[0], 3_000, np.unique(expected))


def test_a_partial_graph_is_searched_before_the_build_ends(tmp_path: Path) -> None:
    embeddings = Embeddings(20_000)
    index = make(tmp_path)
    seen: list[int] = []

    def load(ids: Ids) -> StoredVectors:
        seen.append(len(index))
        return embeddings.load(ids)

    index.sync(embeddings.ids, load)
    assert seen == sorted(seen)
    assert 0 < seen[1] < seen[-1] < 20_000
    assert len(index) == 20_000


def test_closing_ends_a_build(tmp_path: Path) -> None:
    embeddings = Interrupted(3_000)
    index = make(tmp_path)
    embeddings.interruption = index.close
    index.sync(embeddings.ids, embeddings.load)
    assert len(index) == 0
    assert os.listdir(tmp_path) == []
    index.add(embeddings.ids, embeddings.matrix)
    assert not index.save()
    assert index.search(embeddings.matrix[3], 1).ids.tolist() == embeddings.ids[3:4].tolist()
