"""Rebuilds the bundled model as a fused ONNX graph that multiplies in int8. The only file that imports onnx.

The bundled file stores its matrices in int8 but converts them to fp32 to multiply, which saves space and no
time. The rebuilt graph uses the same int8 matrices and scales in onnxruntime's fused operators, which
quantise the activations at run time and multiply in int8. The weights are not quantised a second time.
Pooling and normalisation are part of the graph.

The graph takes one text, or several of exactly the same length, because it has no attention mask: a mask
would cost 5 % of the speed. Batches are no faster than single texts, and padded batches are slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
from msgspec import Struct, field
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from .messages import RebuildFailed

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

COSINE_MIN = 0.95
"""Minimum cosine between the rebuilt graph's and the original graph's embedding of each trial input.

Correct kernels reach .986 to .992 on the trial inputs, and .994 on average on chunks of real code; the
difference to 1 comes from quantised activations. On x86 without VNNI some sums saturate, which costs another
.002 on chunks, according to a simulation of that instruction. Weights in a wrong order give far less.
"""

_CONTRIB = "com.microsoft"
_OPSET = 17
"""The first ONNX opset with LayerNormalization; every onnxruntime that fastembed 0.7 allows supports it."""
_IR_VERSION = 8
"""The version of the ONNX file format that was published with that opset."""


def rebuild(bundled: bytes) -> bytes:
    """Return the fused int8 graph of the bundled model, after comparing it with the original on this machine.

    The graph's input is `input_ids`, int64 (texts, tokens); its output is `sentence_embedding`, float32
    (texts, 384) with rows of length 1. Raises `RebuildFailed` if the file is another model, or if the
    embeddings of the two graphs differ too much.
    """
    rebuilt = fuse(bundled)
    similarity = lowest_cosine(rebuilt, bundled)
    # Not `similarity < COSINE_MIN`, which is False for NaN: NaN must fail.
    if not similarity >= COSINE_MIN:
        raise RebuildFailed(
            f"the rebuilt model doesn't agree with the original on this machine (cosine {similarity:.3f})"
        )
    return rebuilt


def fuse(bundled: bytes) -> bytes:
    """Return the fused graph without comparing it. Raises `RebuildFailed` if the file has another layout."""
    try:
        weights = _Weights.read(bundled)
        graph = _Graph()
        hidden = _embed_tokens(graph, weights)
        for layer in range(LAYERS):
            hidden = _encode(graph, weights, layer, hidden)
        _pool(graph, hidden)
        return graph.serialize()
    except (KeyError, ValueError, TypeError) as error:
        raise RebuildFailed(f"the bundled model isn't laid out as expected ({error})") from error


def lowest_cosine(rebuilt: bytes, bundled: bytes) -> float:
    """Return the lowest cosine between the two graphs' embeddings of a few fixed token sequences.

    Raises `RebuildFailed` if one of the graphs can't be run on this machine.
    """
    try:
        fused, original = _session(rebuilt), _session(bundled)
        # numpy's minimum returns NaN if any cosine is NaN; Python's `min` might not.
        return float(np.min([_cosine(fused, original, tokens) for tokens in _TRIALS]))
    # onnxruntime's exceptions have no common base of their own.
    except Exception as error:
        raise RebuildFailed(f"the rebuilt model doesn't run here ({error})") from error


class _Matrix(Struct, frozen=True):
    """An int8 matrix (inputs, outputs) with a float32 scale for each output."""

    values: NDArray[np.int8]
    scales: Floats

    @classmethod
    def joined(cls, matrices: Sequence[_Matrix]) -> _Matrix:
        return cls(
            np.concatenate([matrix.values for matrix in matrices], axis=1),
            np.concatenate([matrix.scales for matrix in matrices]),
        )


class _Weights(Struct, frozen=True):
    """The initializers of the bundled file by name, and its weight matrices in the order of the file."""

    tensors: dict[str, Array]
    matrices: tuple[_Matrix, ...]

    @classmethod
    def read(cls, bundled: bytes) -> _Weights:
        try:
            model = onnx.load_model_from_string(bundled)
        # The parser is protobuf's, and its implementations raise different exceptions.
        except Exception as error:
            raise ValueError(f"it can't be parsed: {error}") from error
        tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        # The exporter numbered the weight matrices ("val_..."); the embedding tables have real names.
        stems = [name[:-2] for name in tensors if name.startswith("val_") and name.endswith("_q")]
        matrices = tuple(
            _Matrix(tensors[f"{stem}_q"].astype(np.int8), _flat(tensors[f"{stem}_scale"])) for stem in stems
        )
        if len(matrices) != LAYERS * MATRICES_PER_LAYER:
            raise ValueError(f"{len(matrices)} weight matrices")
        return cls(tensors, matrices)

    def floats(self, name: str) -> Floats:
        return self.tensors[name].astype(np.float32)

    def table(self, name: str) -> tuple[NDArray[np.int8], Floats]:
        """Return an embedding table as int8 values (rows, 384) and one scale for each row (rows, 1)."""
        scales = _flat(self.tensors[f"{name}_scale"])
        return self.tensors[f"{name}_q"].astype(np.int8), scales.reshape(-1, 1)


class _Graph(Struct):
    """An ONNX graph under construction; each method returns the name of the value that it adds."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

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


_TRIALS = tuple(
    np.array([[101, *(1000 + (7919 * position + seed) % 29000 for position in range(length)), 102]])
    for seed, length in enumerate((4, 10, 40, 126))
)
"""Trial inputs: token ids spread over the vocabulary, between the start and end tokens. The longest input
fills the model's window."""


def _session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _cosine(
    fused: onnxruntime.InferenceSession, original: onnxruntime.InferenceSession, tokens: NDArray[np.int64]
) -> float:
    inputs = {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        "token_type_ids": np.zeros_like(tokens),
    }
    (embedding,) = fused.run(None, {"input_ids": tokens})[0]
    mean = original.run(None, inputs)[0][0].mean(axis=0)
    return float(embedding @ mean / np.linalg.norm(mean))


def _flat(values: Array) -> Floats:
    return values.astype(np.float32).reshape(-1)
