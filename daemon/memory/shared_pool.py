"""Whether a pool may lie where a project's `experience.path` says, in its repository."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable

from ..core.errors import StateError

SUFFIX = ".jsonl"


def shared_problem(path: str, *, trusted: bool) -> str:
    """Return why a project's `experience.path` isn't used, as a sentence; empty if it may be used.

    `path` is relative to the project's root, from foveal.toml. Only a `.jsonl` file is allowed, since its
    content is read, repaired and rotated as a pool.
    """
    if not trusted:
        problem = "the project is not trusted; foveal trust lets it share a pool"
    elif (
        posixpath.normpath(path) != path
        or path.startswith("/")
        or not path.isprintable()
        or not {"..", ".git", SUFFIX}.isdisjoint(path.casefold().split("/"))
        or not path.endswith(SUFFIX)
    ):
        problem = f"it must be a plain path in the project to a file *{SUFFIX}, and not in .git"
    else:
        return ""
    return f"experience.path is not used: {problem}."


def guard_of(root: str, path: str) -> Callable[[], None]:
    """Return a function that raises `StateError` while a symlink leads the folder of `path` out of the
    project."""
    full = os.path.join(root, path)

    def guard() -> None:
        inside, real = os.path.realpath(root), os.path.realpath(os.path.dirname(full))
        if real != inside and not real.startswith(os.path.join(inside, "")):
            raise StateError(
                f"The pool of experiences {full} lies behind a symlink that leads out of the project. "
                "Move it into the project, then try again."
            )
        if ".git" in real[len(inside) :].casefold().split("/"):
            raise StateError(f"The pool of experiences {full} lies in .git. Move it, then try again.")

    return guard
