"""A project's own folder in the state folder: where it lies, whose it is, and which names are files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator

from ..core.quarantine import clear_file, clear_folder, clear_own_file, set_aside
from ..core.system import System

FOLDERS = ("lexical", "vectors", "cookies")
FILES = ("items.json", "feedback.json", "project.json", "foveal.last.toml")
OWN_FILES = ("at_work",)
DATABASES = ("index.sqlite", "transcripts.db")
"""And their logs: they are read here before anybody opens them to write."""
POOL = "experiences"
"""The prefix of a pool's files. They hold what nobody can make anew, so links out of the folder aren't
followed."""

RECORD = "project.json"
RECORD_BYTES = 64 * 1024
"""Maximum size of a record, which holds a path."""


def project_folder(state_dir: str, root: str) -> str:
    """Return a project's own folder in the state folder: its name, and a hash since names repeat."""
    digest = hashlib.blake2b(os.fsencode(root), digest_size=6).hexdigest()
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in os.path.basename(root))[:40] or "root"
    return os.path.join(state_dir, "projects", f"{name}-{digest}")


def known_roots(state_dir: str, system: System) -> list[str]:
    """Return the roots that have a folder in the state folder."""
    roots = []
    with contextlib.suppress(OSError), os.scandir(os.path.join(state_dir, "projects")) as entries:
        for entry in entries:
            # Without a readable record a folder is only a cache that nobody asks for.
            with contextlib.suppress(Exception):
                roots.append(str(_read_record(entry.path, system)))
    return sorted(roots)


def write_record(root: str, folder: str, system: System) -> None:
    """Write down which root a folder belongs to, unless it says so already."""
    record = os.path.join(folder, RECORD)
    try:
        if _read_record(folder, system) == root:
            return
    except FileNotFoundError:
        pass
    except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged: it holds nothing else
        if not isinstance(error, OSError):
            set_aside(record, system)
    system.write_atomic(record, json.dumps({"root": root}).encode())


def make_usable(folder: str, state: str, system: System) -> str:
    """Make a project's folder, durably, and quarantine what is of another kind than its name says.

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


def _read_record(folder: str, system: System) -> object:
    return json.loads(system.read(os.path.join(folder, RECORD), RECORD_BYTES)[0])["root"]
