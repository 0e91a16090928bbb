"""Owns the files that shell scripts source: which file of the project one means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import ancestors, is_relative, join_path


class BashImports:
    """Shell: a path relative to the script (`./lib.sh`) or to a folder that a variable holds (`$DIR/lib.sh`).

    Which folder that is isn't followed: the script's own is tried, those above it, and then any other.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders) -> None:
        self._names = names
        self._folders = folders

    def resolve(self, importer: str, module: str) -> str | None:
        """Return the path of the file that is sourced, or None."""
        for base in _bases(importer, module):
            for ending in _ENDINGS:
                if base + ending in self._names:
                    return base + ending
        tail = _tail(module)
        if not tail.endswith(_SHELLS) or not ("/" in tail or module.startswith("$")):
            return None
        return self._folders.nearest(tail, importer)

    def is_internal(self, importer: str, module: str) -> bool:
        """Return whether what didn't resolve certainly meant a file of this project."""
        # What has no ending is often written by a build.
        return (
            is_relative(module)
            and module.endswith(_SHELLS)
            and join_path(importer.rpartition("/")[0], module) is not None
        )

    def keys(self, importer: str, module: str) -> list[str]:
        """Return the keys under which a sourced path waits."""
        tail = _tail(module)
        return [key_of(tail)] if tail else []


_ENDINGS = ("", ".bash", ".sh")
"""The test framework Bats leaves an ending out."""

_SHELLS = (".sh", ".bash", ".zsh")
_VARIABLE = re.compile(r"\$[^/]*/")


def _bases(importer: str, module: str) -> Iterator[str]:
    """Yield the paths that may be meant, the script's own folder first."""
    path = _VARIABLE.sub("", module, count=1) if module.startswith("$") else module
    if not _tail(module):
        return
    for ancestor in ancestors(importer.rpartition("/")[0]):
        base = join_path(ancestor, path)
        if base:
            yield base
        if is_relative(module):
            break
    if is_relative(module):
        base = join_path("", path)
        if base:
            yield base


def _tail(module: str) -> str:
    """Return what the path of a sourced file ends with, an empty string if that isn't known."""
    path = _VARIABLE.sub("", module, count=1) if module.startswith("$") else module
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
    if not parts or path.startswith(("/", "~")) or path.endswith("/") or "$" in path:
        return ""
    return "/".join(parts)
