"""A graph finds what comparing one by one finds, under 64-bit ids, and knows which row is whose."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.exact import Halves, Ids, as_ids, unit
from foveal.daemon.embedding.vector_file import read_vector_file, write_vector_file
from foveal.daemon.embedding.vector_state import Graph, GraphBuilder

DIM = 12


def random_halves(count: int, seed: int = 0, dim: int = DIM) -> Halves:
    return unit(np.random.default_rng(seed).standard_normal((count, dim)), dim).astype(np.float16)


def random_ids(count: int, seed: int = 0) -> Ids:
    return as_ids(np.random.default_rng(seed).choice(1 << 20, count, replace=False)) + np.uint64(1 << 62)


def saved(folder: Path, builder: GraphBuilder, dim: int = DIM) -> Graph:
    path = str(folder / "graph")
    write_vector_file(path, dim, "m", System(), builder.save, builder.ids)
    return Graph(read_vector_file(path, dim, "m"))


def check_rows(graph: Graph, ids: Ids, matrix: Halves) -> None:
    """Each id's row holds its vector."""
    assert sorted(graph.ids.tolist()) == sorted(ids.tolist())
    assert graph.matrix[graph.rows_of(ids)].tolist() == matrix.tolist()


@pytest.mark.parametrize("dim", [1, 7, 12])
def test_every_row_has_the_id_of_its_vector(tmp_path: Path, dim: int) -> None:
    ids, matrix = random_ids(3_000), random_halves(3_000, dim=dim)
    builder = GraphBuilder(dim)
    for start in range(0, 3_000, 1_000):
        piece = slice(start, start + 1_000)
        builder.add(ids[piece], matrix[piece])
    assert len(builder) == 3_000
    check_rows(saved(tmp_path, builder, dim), ids, matrix)


def test_a_graph_is_continued(tmp_path: Path) -> None:
    ids, matrix = random_ids(2_000), random_halves(2_000)
    first = GraphBuilder(DIM)
    first.add(ids[:1_500], matrix[:1_500])
    start = saved(tmp_path, first)
    second = GraphBuilder(DIM, start)
    second.add(ids[1_500:], matrix[1_500:].astype(np.float32))
    graph = saved(tmp_path, second)
    check_rows(graph, ids, matrix)
    check_rows(start, ids[:1_500], matrix[:1_500])


def test_the_nearest_are_found(tmp_path: Path) -> None:
    ids, matrix = random_ids(3_000), random_halves(3_000)
    builder = GraphBuilder(DIM)
    builder.add(ids, matrix)
    graph = saved(tmp_path, builder)
    queries = random_halves(50, seed=1).astype(np.float32)
    expected = [ids[np.argsort(-(matrix.astype(np.float32) @ query))[:10]].tolist() for query in queries]
    found = graph.nearest(queries, 10)
    hits = sum(len(set(one.tolist()) & set(wanted)) for one, wanted in zip(found, expected, strict=True))
    assert hits / 500 >= 0.99
    (alone,) = graph.nearest(queries[:1], 10)
    assert alone.tolist() == found[0].tolist()
    assert [len(one) for one in graph.nearest(queries[:2], 5_000)] == [3_000, 3_000]


def test_ids_are_looked_up(tmp_path: Path) -> None:
    ids = as_ids([5, 1, 3])
    builder = GraphBuilder(DIM)
    builder.add(ids, random_halves(3))
    graph = saved(tmp_path, builder)
    assert graph.contains(as_ids([1, 2, 3, 9, 0])).tolist() == [True, False, True, False, False]
    assert graph.ids[graph.rows_of(as_ids([3, 2, 5]))].tolist() == [3, 5]
    assert graph.ordered_ids.tolist() == [1, 3, 5]


def test_many_threads_search_at_once(tmp_path: Path) -> None:
    ids, matrix = random_ids(2_000), random_halves(2_000)
    builder = GraphBuilder(DIM)
    builder.add(ids, matrix)
    graph = saved(tmp_path, builder)

    def search(row: int) -> bool:
        (found,) = graph.nearest(matrix[row : row + 1].astype(np.float32), 5)
        return int(found[0]) == int(ids[row])

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(search, range(1_000))) >= 995


def test_a_graph_that_can_not_be_written_is_an_error_of_the_disk(tmp_path: Path) -> None:
    builder = GraphBuilder(DIM)
    builder.add(random_ids(10), random_halves(10))
    with pytest.raises(OSError, match="write"):
        builder.save(str(tmp_path / "missing" / "graph"))
