"""Owns how a place in a project is written for a person: as a path that opens from where they are."""

from __future__ import annotations

import os


def seen_from(folder: str, root: str, path: str) -> str:
    """Return a project's path as a person in a folder opens it: relative below the root or above it."""
    full = os.path.join(root, path)
    above = f"{root.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    inside = f"{folder.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")
    return os.path.relpath(full, folder) if above or inside else full
