"""A graph finds what comparing one by one finds, under 64-bit ids, and knows which row is whose."""

from __future__ import annotations

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


def test_a_graph_that_can_not_be_written_is_an_error_of_the_disk(tmp_path: Path) -> None:
    builder = GraphBuilder(DIM)
    builder.add(random_ids(10), random_halves(10))
    with pytest.raises(OSError, match="write"):
        builder.save(str(tmp_path / "missing" / "graph"))
