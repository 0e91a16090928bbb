"""Models for tests: a second one, that fastembed knows, as if it had been fetched; and one that takes long.

The second one's weights are the default model's, but its dimensions stand in another order: what it finds is as good, and
its vectors mean nothing to the other model.
"""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding.messages import DEFAULT_DIMENSIONS
from foveal.daemon.embedding.model import DEFAULT_MODEL_FOLDER, EmbeddingModel, Progress, load_model
from onnx import helper, numpy_helper

SECOND_MODEL = "BAAI/bge-small-en-v1.5"

_REPOSITORY = "models--Qdrant--bge-small-en-v1.5-onnx-Q"
_REVISION = "0" * 40


def add_second_model(folder: Path) -> None:
    """Put the second model into a folder of models."""
    snapshot = folder / _REPOSITORY / "snapshots" / _REVISION
    shutil.copytree(DEFAULT_MODEL_FOLDER, snapshot)
    graph = onnx.load(snapshot / "model.onnx")
    _reverse(graph.graph)
    (snapshot / "model.onnx").unlink()
    onnx.save(graph, snapshot / "model_optimized.onnx")
    (snapshot / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))
    (folder / _REPOSITORY / "refs").mkdir()
    (folder / _REPOSITORY / "refs" / "main").write_text(_REVISION)


@contextmanager
def hanging_hub() -> Iterator[str]:
    """Yield the address of a hub of models that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def slow_download() -> Iterator[None]:
    """Let models of this process be fetched until the end of the block, and then be loaded."""
    goes_on = threading.Event()

    def fetch(name: str, folder: str, threads: int, progress: Progress, system: System) -> EmbeddingModel:
        progress("fetching", 0.1)
        goes_on.wait()
        return load_model(name, folder, threads, progress, system)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("foveal.daemon.embedding.lazy_model.load_model", fetch)
        try:
            yield
        finally:
            goes_on.set()


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
