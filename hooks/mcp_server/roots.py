"""Owns which folder a connection works in, of the one that the pump was started in and a host's roots."""

from __future__ import annotations

import os
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit


def choose_folder(cwd: str, uris: Iterable[str]) -> str:
    """Return `cwd` if it lies in one of the roots or there is none, else the first root that is a folder.

    Hosts with a window start their servers in the home folder or `/`, and name what is open as roots.
    """
    folders = [folder for folder in map(_folder_of, uris) if folder]
    if any(_holds(folder, cwd) for folder in folders):
        return cwd
    return folders[0] if folders else cwd


def _folder_of(uri: str) -> str:
    """Return the folder that a root's URI names; empty for anything else, or one that isn't there."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return ""
    path = unquote(parts.path)
    return path if os.path.isabs(path) and "\0" not in path and os.path.isdir(path) else ""


def _holds(folder: str, path: str) -> bool:
    folder, path = os.path.realpath(folder), os.path.realpath(path)
    return path == folder or path.startswith(folder.rstrip("/") + "/")
