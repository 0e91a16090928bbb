"""Owns what a path or node id on the command line means, and how one is written for a person."""

from __future__ import annotations

import os
from collections.abc import Sequence

GLOB_CHARACTERS = frozenset("*?[{")


def locate(given: str, folders: Sequence[str]) -> str:
    """Return a path, glob or node id (`path#symbol`) as the daemon takes it.

    It becomes absolute when it exists below one of the folders, the first that has it, or when it begins
    with `./` or `../`. Of a glob the part before its first wildcard must exist. What exists nowhere stays as
    it is: the daemon takes it relative to the project's root.
    """
    if not given or os.path.isabs(given):
        return given
    if given.split("/", 1)[0] in {".", ".."}:
        return os.path.join(folders[0], given)
    for part in dict.fromkeys((given, given.partition("#")[0])):  # a file's own name may hold the mark
        for folder in folders:
            if part and os.path.lexists(os.path.join(folder, part)):
                return os.path.join(folder, given)
    fixed = _before_wildcard(given)
    if fixed is not None:
        for folder in folders:
            if os.path.isdir(os.path.join(folder, fixed)):
                return os.path.join(folder, given)
    return given


def _before_wildcard(given: str) -> str | None:
    """Return the folders of a glob above its first wildcard; None for what is no glob."""
    parts = given.split("/")
    for position, part in enumerate(parts):
        if not GLOB_CHARACTERS.isdisjoint(part):
            return "/".join(parts[:position])
    return None


def seen_from(folder: str, root: str, path: str) -> str:
    """Return a project's path as a person in a folder opens it: relative below the root or above it."""
    full = os.path.join(root, path)
    above = f"{root.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    inside = f"{folder.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")
    return os.path.relpath(full, folder) if above or inside else full
