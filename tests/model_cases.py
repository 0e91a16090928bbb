"""Models for tests: a second one, that fastembed knows, as if it had been fetched; and one that takes long.

The second one's weights are the default model's, but its dimensions stand in another order: what it finds is as good, and
its vectors mean nothing to the other model.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
from foveal.daemon.embedding.messages import DEFAULT_DIMENSIONS
from onnx import helper, numpy_helper

SECOND_MODEL = "BAAI/bge-small-en-v1.5"

_REPOSITORY = "models--Qdrant--bge-small-en-v1.5-onnx-Q"
_REVISION = "0" * 40


def add_second_model(models: Path, folder: Path) -> None:
    """Put the second model into a folder of models; `models` has the rebuilt default one."""
    snapshot = folder / _REPOSITORY / "snapshots" / _REVISION
    shutil.copytree(models / "all-MiniLM-L6-v2-int8", snapshot)
    graph = onnx.load(snapshot / "model.onnx")
    _reverse(graph.graph)
    (snapshot / "model.onnx").unlink()
    onnx.save(graph, snapshot / "model_optimized.onnx")
    (snapshot / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))
    (folder / _REPOSITORY / "refs").mkdir()
    (folder / _REPOSITORY / "refs" / "main").write_text(_REVISION)


def remove_second_model(folder: Path) -> None:
    """Take it away again, as whoever empties a cache does."""
    shutil.rmtree(folder / _REPOSITORY)


@contextmanager
def held_lock(folder: Path) -> Iterator[None]:
    """Hold the lock under which the default model is rebuilt, as another process does."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "all-MiniLM-L6-v2-int8.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _reverse(graph: onnx.GraphProto) -> None:
    """Turn the order of the dimensions around in what a graph gives."""
    (output,) = graph.output
    for node in graph.node:
        names = ["straight" if name == output.name else name for name in node.output]
        del node.output[:]
        node.output.extend(names)
    backwards = np.arange(DEFAULT_DIMENSIONS, dtype=np.int64)[::-1].copy()
    graph.initializer.append(numpy_helper.from_array(backwards, "backwards"))
    graph.node.append(helper.make_node("Gather", ["straight", "backwards"], [output.name], axis=-1))
