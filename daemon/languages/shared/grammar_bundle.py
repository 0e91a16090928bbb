"""The grammars of the package semble-grammars, each unpacked from its archive when it is first needed."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from importlib import resources
from typing import Any

from ....ipc.paths import GRAMMARS, cache_folder
from ...core.system import System

BUNDLE = "semble_grammars"
"""The module of these grammars in `Language.grammar`."""


class GrammarMissing(Exception):
    """A grammar can't be loaded here: the package has none for this platform, or no folder can be written.

    Neither the source nor its language is at fault: the file is kept without definitions.
    """


_LOADED: list[ctypes.CDLL] = []
"""The libraries of all grammars in use; a library must stay loaded as long as its grammar."""


def load_grammar(name: str) -> object:
    """Return the capsule of a grammar, for tree-sitter. Raises `GrammarMissing`.

    Its library is kept in the user's cache folder under its hash, which is checked at each load: a library is
    code, and half of one, after a crash, would end the process. Unpacking takes 0.2 to 0.4 s.
    """
    try:
        folder = resources.files(BUNDLE) / "grammars" / _platform()
        entry: dict[str, str] = json.loads((folder / "manifest.json").read_text())["languages"][name]
        try:
            library = _library(os.path.join(cache_folder(os.environ), GRAMMARS), folder, entry)
        except OSError:
            # Files that are read without their grammar keep no definitions until they change, so that a full
            # disk or a folder of another user must not be enough. A loaded library needs no file.
            with tempfile.TemporaryDirectory(prefix="foveal-") as temporary:
                library = _library(temporary, folder, entry)
        found = getattr(library, entry["symbol"])
    except (ImportError, OSError, KeyError, ValueError, AttributeError, tarfile.TarError) as error:
        raise GrammarMissing(f"the grammar of {name} can't be loaded: {error}") from error
    _LOADED.append(library)
    found.restype = ctypes.c_void_p
    capsule: Any = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return capsule(found(), b"tree_sitter.Language", None)


def _library(kept: str, folder: Any, entry: Mapping[str, str]) -> ctypes.CDLL:
    """Load the library of a grammar from the folder for unpacked ones."""
    path = os.path.join(kept, f"{entry['sha256']}-{entry['file']}")
    if not _is_whole(path, entry["sha256"]):
        os.makedirs(kept, mode=0o700, exist_ok=True)
        System().write_atomic(path, _unpacked(folder, entry["file"]), mode=0o700)
    return ctypes.CDLL(path)


def _platform() -> str:
    """Return the name of this platform's folder in the package."""
    system = {"darwin": "macos"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return f"{system}-{ {'aarch64': 'arm64', 'amd64': 'x86_64'}.get(machine, machine) }"


def _is_whole(path: str, digest: str) -> bool:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except FileNotFoundError:
        return False


def _unpacked(folder: Any, name: str) -> bytes:
    with (folder / "bundle.tar.gz").open("rb") as packed, tarfile.open(fileobj=packed) as archive:
        member = archive.extractfile(name)
        if member is None:
            raise KeyError(name)
        return member.read()
