"""Owns the question in which folder git looks for a repository's hooks; asks git, which runs nothing for it.

`git config` and `git rev-parse` read files. Nothing inherited steers them, and git is called by its absolute
path, since a relative one could lie in the repository. A repository names its hooks folder itself, so one
that lies outside of it is refused: it may be anybody's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import InstallError

TIMEOUT_S = 30.0
"""git reads a few small files for this; more means that the drive hangs."""

SHARED_SCOPES = frozenset({"global", "system"})


@dataclass(frozen=True, slots=True)
class HooksFolder:
    """Where hooks lie; `within` is what links there may not lead out of, None for the user's own folder."""

    path: str
    within: str | None


def project_folder(root: str, environ: Mapping[str, str]) -> HooksFolder:
    """Return the hooks folder of the repository at `root`, one for all its work trees.

    Raises `InstallError` where there is no repository, or where its hooks lie outside of it.
    """
    top = _ask(root, environ, "rev-parse", "--show-toplevel")
    shared = _ask(root, environ, "rev-parse", "--path-format=absolute", "--git-common-dir")
    if top is None or shared is None:
        raise InstallError(
            f"{root} is not in a git repository with a work tree", "run git init, or name it with --cwd"
        )
    scope, _, named = (_ask(root, environ, "config", "--show-scope", *_HOOKS_PATH) or "").partition("\t")
    if not named:
        return HooksFolder(os.path.join(shared, "hooks"), shared)
    if scope in SHARED_SCOPES:
        raise InstallError(
            f"git takes the hooks of all repositories from {named}", "foveal hooks install git --user"
        )
    path = os.path.normpath(os.path.join(top, named))
    for within in (top, shared):
        real = os.path.realpath(within)
        if os.path.commonpath([real, os.path.realpath(path)]) == real:
            return HooksFolder(path, within)
    raise InstallError(
        f"core.hooksPath of {top} leads out of it, to {path}", "git config core.hooksPath shows it"
    )


def user_folder(home: str, environ: Mapping[str, str]) -> HooksFolder:
    """Return the hooks folder for all repositories of a user. Raises `InstallError` where none is set."""
    named = _ask(home, environ, "config", "--global", *_HOOKS_PATH)
    if not named:
        raise InstallError(
            "git has no hooks folder for all repositories (core.hooksPath); one would switch off their own",
            "foveal hooks install git, in each repository",
        )
    return HooksFolder(os.path.normpath(os.path.join(home, named)), None)


_HOOKS_PATH = ("--type=path", "--get", "core.hooksPath")


def _ask(folder: str, environ: Mapping[str, str], *arguments: str) -> str | None:
    """Return what git says in a folder, or None where it has nothing to say. Raises `InstallError`."""
    program = shutil.which("git", path=environ.get("PATH"))
    if program is None or not os.path.isabs(program):
        raise InstallError("git is not installed", "install it, or put it on PATH with an absolute folder")
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603 - an absolute path and arguments of ours
            [program, "-C", folder, *arguments],
            env={**clean, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"git did not answer within {TIMEOUT_S:g} s", "try again") from error
    if done.returncode == 0:
        return os.fsdecode(done.stdout).removesuffix("\n")
    problem = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
    if done.returncode == 1 or "not a git repository" in problem or "must be run in a work tree" in problem:
        return None
    raise InstallError(f"git: {problem or f'status {done.returncode}'}", "")
