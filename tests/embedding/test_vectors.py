"""A project's vectors are found by cosine, filtered and pooled, whatever was added, removed or loaded."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from foveal.daemon.embedding.embeddings import StoredVectors
from foveal.daemon.embedding.exact import Floats, Ids, as_ids, unit
from foveal.daemon.embedding.vectors import LOADED, VectorIndex
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from tests.properties import examples

DIM = 16
BASE = 1 << 62
"""Ids are as large as those of the database."""


class Embeddings:
    """Vectors by id, as the database would give them; it counts what is asked for."""

    def __init__(self, count: int, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.matrix = unit(random.standard_normal((count, DIM)), DIM).astype(np.float16).astype(np.float32)
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
        products = self.of(numbers) @ unit(queries, DIM).T
        scores = np.clip(np.round(products.max(axis=1, initial=-1), 6), -1, 1)
        return sorted(zip(numbers, scores.tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))


def filled(embeddings: Embeddings) -> VectorIndex:
    index = VectorIndex(DIM)
    index.sync(embeddings.ids, embeddings.load)
    return index


@pytest.mark.parametrize("count", [1, 2, LOADED + 1])
@pytest.mark.parametrize("queries", [1, 4])
@pytest.mark.parametrize("share", [None, 0.0, 0.05, 1.0])
def test_the_nearest_allowed_vectors_are_found(count: int, queries: int, share: float | None) -> None:
    embeddings = Embeddings(count)
    index = filled(embeddings)
    assert len(index) == count
    allowed, among = set(embeddings.ids.tolist()), None
    if share is not None:
        some = embeddings.ids[: int(share * count)]
        allowed, among = set(some.tolist()), [*some.tolist(), *some[:3].tolist(), BASE + count]
    asked = Embeddings(queries, seed=1).matrix
    expected = embeddings.best(asked, allowed)
    for k in (1, 10, count + 5):
        found = index.search(asked, k, among)
        assert found.scores == pytest.approx([score for _, score in expected[:k]], abs=2e-5)
        assert set(found.ids.tolist()) <= allowed


def test_equal_vectors_come_by_id() -> None:
    index = VectorIndex(DIM)
    ids = as_ids(np.random.default_rng(0).permutation(300)) + np.uint64(BASE)
    index.add(ids, np.ones((300, DIM)))
    found = index.search(np.ones(DIM), 300)
    assert found.ids.tolist() == sorted(ids.tolist())
    assert len(set(found.scores.tolist())) == 1


def test_an_id_that_is_here_keeps_its_vector_and_the_first_of_two_counts() -> None:
    index = VectorIndex(DIM)
    index.add([5, 5], np.eye(DIM)[:2])
    index.add([5], np.eye(DIM)[2:3])
    assert index.search(np.eye(DIM)[0], 1).scores.tolist() == [1.0]
    assert len(index) == 1


@pytest.mark.parametrize("query", [np.zeros(DIM), np.ones(DIM + 1), np.full(DIM, np.nan)])
def test_questions_without_sense_are_refused(query: Floats) -> None:
    with pytest.raises(ValueError):
        VectorIndex(DIM).search(query, 1)


@pytest.mark.parametrize("matrix", [np.ones((2, DIM)), np.zeros((1, DIM)), np.ones((1, DIM + 1))])
def test_vectors_without_sense_are_refused(matrix: Floats) -> None:
    index = VectorIndex(DIM)
    with pytest.raises(ValueError):
        index.add([1], matrix)
    assert len(index) == 0


CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "sync"]), st.integers(0, 399), st.integers(0, 200)), max_size=12
)


@given(CHANGES)
@settings(max_examples=examples(40))
def test_search_finds_what_was_added_and_nothing_that_was_removed(
    changes: list[tuple[str, int, int]],
) -> None:
    embeddings = Embeddings(600)
    index, present = VectorIndex(DIM), set[int]()
    for verb, start, length in changes:
        ids = embeddings.ids[start : start + length]
        before, embeddings.loaded = present, 0
        if verb == "add":
            index.add(ids, embeddings.of(ids.tolist()))
            present = present | set(ids.tolist())
        else:
            index.sync(ids, embeddings.load)
            present = set(ids.tolist())
            assert embeddings.loaded == len(present - before), "only what is missing is loaded"
        assert sorted(index.ids().tolist()) == sorted(present)
    everything = index.search(np.ones(DIM), 1_000)
    assert everything.ids.tolist() == [number for number, _ in embeddings.best(np.ones(DIM), present)]


def test_searches_go_on_while_vectors_come_and_go() -> None:
    embeddings = Embeddings(4_000)
    index, steady, done = VectorIndex(DIM), embeddings.ids[:500], threading.Event()
    index.sync(steady, embeddings.load)

    def change() -> None:
        try:
            for start in range(500, 4_000, 100):
                ids = embeddings.ids[start : start + 100]
                index.add(ids, embeddings.of(ids.tolist()))
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
