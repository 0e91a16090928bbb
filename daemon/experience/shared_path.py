"""Owns the place of a pool that a project shares in its repository: which path it may have, and when."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable

from ..core.errors import StateError

SUFFIX = ".jsonl"


def shared_problem(path: str, *, trusted: bool) -> str:
    """Return why a project's `experience.path` isn't used, as a sentence; empty if it may be.

    `path` is relative to the project's root, as foveal.toml has it. Only a `.jsonl` file is taken, since
    whatever stands there is read, mended and set aside as a pool.
    """
    if not trusted:
        return "experience.path is not used: the project is not trusted; foveal trust lets it share a pool."
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "\0" in path or posixpath.normpath(path) != path:
        return "experience.path is not used: it must be a plain path relative to the project's root."
    if ".." in parts or any(part.casefold() == ".git" for part in parts):
        return "experience.path is not used: it must lie in the project, and not in .git."
    if not path.endswith(SUFFIX) or parts[-1] == SUFFIX:
        return f"experience.path is not used: its file must be named *{SUFFIX}."
    return ""


def guard_of(root: str, path: str) -> Callable[[], None]:
    """Return what raises `StateError` while a symlink leads the folder of `path` out of the project."""
    full = os.path.join(root, path)
    folder = os.path.dirname(full)

    def guard() -> None:
        inside, real = os.path.realpath(root), os.path.realpath(folder)
        if real != inside and not real.startswith(os.path.join(inside, "")):
            raise StateError(
                f"The pool of experiences {full} lies behind a symlink that leads out of the project. "
                "Move it into the project, then try again."
            )
        if ".git" in (part.casefold() for part in real[len(inside) :].split("/")):
            raise StateError(f"The pool of experiences {full} lies in .git. Move it, then try again.")

    return guard
