"""Makes a project's first index from that of another work tree of its repository; reads no file of either.

The copy is an index of an earlier time: what differs in the project is read and linked as after a pause.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping
from contextlib import closing, suppress

from ..core.errors import FovealError
from ..core.storage import copy_database
from ..core.system import System
from ..project.service import head, project_folder, worktree_of, worktrees
from .lexical_files import FOLDER, LISTING, check_format, read_listing
from .lexical_indexer import FILLED_FROM
from .store import FILE_NAME, Reader, rebase

log = logging.getLogger(__name__)

VECTORS = "vectors"
"""The folder of a project's vectors, whose files are replaced and never changed. They are copies of what the
embedder keeps for all projects, so that it leaves out what another work tree has more."""

SIBLINGS_MAX = 16
"""Maximum number of indexes that are opened to find one of the wanted versions."""


def seed_index(root: str, folder: str, versions: Mapping[str, str], system: System) -> str:
    """Make the index of a project that has none; return the root of the work tree that it is copied from, ""
    if there is none to copy.

    No index may be written meanwhile: only the thread that writes all of them calls this.
    `versions` are the settings (`Store.get_meta`) that its index must have, which it has once all was read.
    Of several work trees those with the same commit come first, then those whose index changed last.
    """
    copied = os.path.join(folder, f"{FILE_NAME}.tmp")
    for sibling, source in _siblings(root, folder, system)[:SIBLINGS_MAX]:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            _remove_copies(copied)
            _check_versions(source, versions)
            copy_database(os.path.join(source, FILE_NAME), copied)
            is_lexical = _link_lexical(source, folder)
            _link_vectors(source, folder)
            rebase(copied, system, dropped=() if is_lexical else (FILLED_FROM,))
            os.replace(copied, os.path.join(folder, FILE_NAME))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, all files can be read instead
            log.info("the index of %s is no seed for that of %s: %s", sibling, root, error)
            with suppress(OSError):
                _remove_copies(copied)
        else:
            log.info("the index of %s is made from that of %s", root, sibling)
            return sibling
    return ""


def _siblings(root: str, folder: str, system: System) -> list[tuple[str, str]]:
    """Return the roots of the other work trees of a project's repository with their folders that have an
    index, the best to copy first; see family.py for why these are never other projects.
    """
    tree = worktree_of(root, System())
    state, commit = os.path.dirname(os.path.dirname(folder)), _commit(root)
    found = []
    for other in () if tree is None else worktrees(tree.common, System()):
        source = project_folder(state, other.root)
        with suppress(OSError):
            changed = system.stat(os.path.join(source, FILE_NAME)).st_mtime_ns
            if other.root != root:
                found.append((_commit(other.root) == commit, changed, other.root, source))
    return [(other, source) for _, _, other, source in sorted(found, reverse=True)]


def _commit(root: str) -> str:
    found = head(root)
    return "" if found is None else found.commit


def _remove_copies(path: str) -> None:
    """Remove what was copied before, with its logs and what was damaged in it."""
    folder, name = os.path.split(path)
    for other in os.listdir(folder):
        if other.startswith(name):
            os.unlink(os.path.join(folder, other))


def _check_versions(source: str, versions: Mapping[str, str]) -> None:
    with closing(Reader(source)) as reader:
        found = {name: reader.get_meta(name) for name in versions}
    if found != versions:
        raise FovealError(f"it is unfinished or of another version ({found})")


def _link_lexical(source: str, folder: str) -> bool:
    """Share the files of another project's lexical index; return whether that is possible.

    The engine writes each of them once. Its lists are replaced, and locks lie on files of their own.
    """
    theirs, ours = os.path.join(source, FOLDER), os.path.join(folder, FOLDER)
    try:
        listing = read_listing(theirs)
        check_format(listing.format)
        _clear(ours)
        for name in os.listdir(theirs):
            if not name.startswith(".") and name != LISTING:
                os.link(os.path.join(theirs, name), os.path.join(ours, name), follow_symlinks=False)
        shutil.copyfile(os.path.join(theirs, ".managed.json"), os.path.join(ours, ".managed.json"))
        with open(os.path.join(ours, LISTING), "xb") as file:
            file.write(listing.raw)
    except (FovealError, OSError) as error:  # or a merge removed a file meanwhile
        log.info("the lexical index in %s is built anew: %s", folder, error)
        return False
    return True


def _link_vectors(source: str, folder: str) -> None:
    theirs, ours = os.path.join(source, VECTORS), os.path.join(folder, VECTORS)
    with suppress(OSError):  # they are made again from the embeddings
        _clear(ours)
        for name in os.listdir(theirs):
            if name.endswith(".bin"):
                os.link(os.path.join(theirs, name), os.path.join(ours, name), follow_symlinks=False)


def _clear(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700)
