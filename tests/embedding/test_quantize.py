"""The rebuilt graph embeds as the bundled one does, multiplies in int8, and a wrong one is found out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped] # it has no stubs
import pytest
from foveal.daemon.core.system import System
from foveal.daemon.embedding import quantize
from foveal.daemon.embedding.messages import RebuildFailed
from foveal.daemon.embedding.model_cache import WEIGHTS, read_bundled
from foveal.daemon.embedding.quantize import COSINE_MIN, fuse, lowest_cosine, rebuild
from numpy.typing import NDArray
from onnx import helper, numpy_helper


@pytest.fixture(scope="module")
def bundled() -> bytes:
    return read_bundled(WEIGHTS, System())


@pytest.fixture(scope="module")
def fused(bundled: bytes) -> bytes:
    return fuse(bundled)


def embed(model: bytes, *texts: list[int]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    result: NDArray[np.float32] = session.run(None, {"input_ids": np.array(texts, np.int64)})[0]
    return result


def test_it_agrees_with_the_bundled_model(bundled: bytes, fused: bytes) -> None:
    assert rebuild(bundled) == fused
    assert COSINE_MIN < lowest_cosine(fused, bundled) < 1


def test_texts_of_one_length_are_embedded_each_for_itself(fused: bytes) -> None:
    first, second = [101, 2129, 102], [101, 4067, 102]
    together = embed(fused, first, second)
    assert together.shape == (2, 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    # Only nearly: the activations of a whole call share one scale, another reason for one text a call.
    assert (together[0] @ embed(fused, first)[0]) > 0.95
    assert (together[1] @ embed(fused, second)[0]) > 0.95
    assert (together[0] @ together[1]) < 0.8


def test_onnxruntime_keeps_the_operators_that_were_measured(fused: bytes, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3  # it warns that such a file suits this machine only
    onnxruntime.InferenceSession(fused, options, providers=["CPUExecutionProvider"])
    graph = onnx.load(options.optimized_model_filepath).graph
    used = [node.op_type for node in graph.node]
    assert (used.count("QAttention"), used.count("DynamicQuantizeMatMul"), used.count("Gelu")) == (6, 18, 6)
    assert "SkipLayerNormalization" not in used


@pytest.mark.parametrize("name", ["layer0.wide.weights", "layer3.attention.weights", "tokens"])
def test_a_graph_with_weights_in_a_wrong_order_does_not_agree(
    bundled: bytes, fused: bytes, name: str
) -> None:
    model = onnx.load_model_from_string(fused)
    (tensor,) = [tensor for tensor in model.graph.initializer if tensor.name == name]
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(numpy_helper.to_array(tensor)[::-1]), name))
    assert lowest_cosine(model.SerializeToString(), bundled) < COSINE_MIN


def test_a_graph_that_gives_no_numbers_does_not_agree(bundled: bytes, fused: bytes) -> None:
    model = onnx.load_model_from_string(fused)
    (tensor,) = [tensor for tensor in model.graph.initializer if tensor.name == "positions"]
    values = numpy_helper.to_array(tensor).copy()
    values[20:] = np.nan  # only texts of more than 20 tokens are concerned
    tensor.CopyFrom(numpy_helper.from_array(values, "positions"))
    assert not lowest_cosine(model.SerializeToString(), bundled) >= COSINE_MIN


def test_a_machine_on_which_nothing_agrees_is_told(bundled: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantize, "COSINE_MIN", 1.1)
    with pytest.raises(RebuildFailed, match=r"doesn't agree .* \(cosine 0\.9"):
        rebuild(bundled)


def empty_model() -> bytes:
    graph = helper.make_graph([], "empty", [], [])
    return bytes(helper.make_model(graph).SerializeToString())


@pytest.mark.parametrize("data", [b"", b"not a model", empty_model()])
def test_another_file_is_not_rebuilt(data: bytes) -> None:
    with pytest.raises(RebuildFailed, match="isn't laid out as expected"):
        fuse(data)
    with pytest.raises(RebuildFailed, match="doesn't run here"):
        lowest_cosine(data, data)
