"""Computes with paths, mostly relative to a project's root, whose own path is "". Doesn't access the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator


def within(folder: str, name: str) -> str:
    """Return the path of something inside a folder, which may be the root."""
    return f"{folder}/{name}" if folder else name


def lies_below(path: str, folder: str) -> bool:
    """Whether an absolute path lies below an absolute folder; the folder itself doesn't."""
    return path.startswith(os.path.join(folder, ""))


def join_path(folder: str, relative: str) -> str | None:
    """Join a folder and a path relative to it; return None if the result lies outside of the root."""
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def ancestors(folder: str) -> Iterator[str]:
    """Yield a folder and the folders above it, nearest first; the last one is the root."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def nearness(path: str, importer: str) -> tuple[int, int, str]:
    """Return a sort key that orders paths by how much of their folders they share with the importer's."""
    shared = 0
    for ours, theirs in zip(path.split("/"), importer.split("/"), strict=False):
        if ours != theirs:
            break
        shared += 1
    return -shared, path.count("/"), path


def is_relative(specifier: str) -> bool:
    """Whether an import specifier is relative to the importing file."""
    return specifier in {".", ".."} or specifier.startswith(("./", "../"))
