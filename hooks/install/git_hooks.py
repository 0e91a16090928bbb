"""git's hooks: the folder where git looks for them, and our block in a script there.

The folder: `git config` and `git rev-parse` read files. Nothing inherited steers them, and git is called by
its absolute path, since a relative one could lie in the repository. A repository names its hooks folder
itself, so a folder outside the repository is refused: it may be anybody's.

The block stands right behind the first line of the script: a script that ends with `exit` or `exec` would
never reach a block at its end. The exit status, with which `git checkout` ends, stays the script's own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from ..hosts.host import NAME, command_line
from .errors import InstallError
from .program import hook_command

TIMEOUT_S = 30.0
"""Seconds for git to answer; it reads a few small files."""

_SHARED_SCOPES = frozenset({"global", "system"})


@dataclass(frozen=True, slots=True)
class HooksFolder:
    """A folder of hooks. Links in it may not lead out of `within`, None for the user's own folder."""

    path: str
    within: str | None


def project_folder(root: str, environ: Mapping[str, str]) -> HooksFolder:
    """Return the hooks folder of the repository at `root`, one for all its work trees.

    Raises `InstallError` if there is no repository, or its hooks lie outside it.
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
    if scope in _SHARED_SCOPES:
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
    """Return the hooks folder for all repositories of a user. Raises `InstallError` if none is set."""
    named = _ask(home, environ, "config", "--global", *_HOOKS_PATH)
    if not named:
        raise InstallError(
            "git has no hooks folder for all repositories (core.hooksPath); one would switch off their own",
            "foveal hooks install git, in each repository",
        )
    return HooksFolder(os.path.normpath(os.path.join(home, named)), None)


_HOOKS_PATH = ("--type=path", "--get", "core.hooksPath")


def _ask(folder: str, environ: Mapping[str, str], *arguments: str) -> str | None:
    """Return git's output in a folder, None for none. Raises `InstallError`."""
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


BEGIN = "# >>> foveal >>> managed by `foveal hooks install git`"
END = "# <<< foveal <<<"

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"})
"""Shells that read the block as it is written."""

FIRST_LINE = "#!/bin/sh\n"


@dataclass(frozen=True, slots=True)
class ScriptBlock:
    """The block for one git hook. It never fails, is silent, and leaves the standard input to the others."""

    hook: str
    program: str

    def register(self, text: str) -> str:
        """Return the script with our block. Raises `InstallError` unless a shell runs it."""
        text = self.strip(text) or FIRST_LINE
        first, end, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
        _check_shell(first, self.hook)
        return f"{first}{end or (first and chr(10))}{self._block()}{rest}"

    def strip(self, text: str) -> str:
        """Return the script without our block, "" for a script that holds nothing else."""
        left = _BLOCK.sub("", text)
        return "" if left == FIRST_LINE and left != text else left

    def holds(self, text: str) -> bool:
        """Whether a script holds our block."""
        return bool(_BLOCK.search(text))

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return the hook's name with the program that our block runs."""
        return [(self.hook, block_program(text))]

    def _block(self) -> str:
        command = command_line(hook_command(self.program, "git", self.hook))
        return f'{BEGIN}\n{command} "$@" </dev/null >/dev/null 2>&1 || :\n{END}\n'


def block_program(text: str) -> str | None:
    """Return the program that our block in a script runs."""
    match = _BLOCK.search(text)
    try:
        words = shlex.split(match.group().split("\n")[1], comments=False) if match else []
    except ValueError:
        return None
    return words[0] if len(words) > 2 and words[1] == "hook" and words[0].endswith(NAME) else None


_BLOCK = re.compile(
    rf"^{re.escape(BEGIN)}\n(?:(?!# [<>]{{3}} )[^\n]*\n){{0,20}}?{re.escape(END)}(?:\n|\Z)", re.MULTILINE
)


def _check_shell(first: str, hook: str) -> None:
    words = first[2:].split()
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-")]
    if words and words[0].rpartition("/")[2] not in SHELLS:
        raise InstallError(
            f"{hook} is a script for {words[0]}, not for a shell",
            f"let it run this itself: {NAME} hook git {hook}",
        )
