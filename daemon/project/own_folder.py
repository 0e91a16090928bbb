"""Owns what may lie in a project's own folder: which names are files, which folders; knows no content."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..core.quarantine import clear_file, clear_folder, clear_own_file
from ..core.system import System

FOLDERS = ("lexical", "vectors", "cookies")
FILES = ("items.json", "feedback.json", "project.json", "foveal.last.toml")
OWN_FILES = ("at_work",)
DATABASES = ("index.sqlite", "transcripts.db")
"""And their logs: they are read here before anybody opens them to write."""
POOL = "experiences"
"""What the names of a pool's files begin with. They hold what nobody can make anew, so links out of the
folder aren't followed."""


def make_usable(folder: str, state: str, system: System) -> str:
    """Make a project's folder, durably, and set aside what is of another kind than its name says.

    Returns in words what was done, "" for nothing. Raises `OSError` where that can't be.
    """
    done = [clear_folder(os.path.dirname(folder), system), clear_folder(folder, system)]
    system.make_folder(folder, state)
    done += _cleared(folder, system)
    return "; ".join(filter(None, done))


def _cleared(folder: str, system: System) -> Iterator[str]:
    with system.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        path = os.path.join(folder, name)
        if ".damaged-" in name:
            continue
        if name in FOLDERS:
            yield clear_folder(path, system)
        elif name in FILES or name.startswith(DATABASES):
            yield clear_file(path, system)
        elif name in OWN_FILES or name.startswith(POOL):
            yield clear_own_file(path, system)
