"""Owns what is registered with a host as the program: which foveal, and whether a command is one of ours.

A registered command is looked at, never run: a project's settings may come from anybody.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .errors import InstallError

NAME = "foveal"

ProgramState = Literal["this", "other", "missing"]

_HOOK_WORDS = re.compile(r"hook [a-z][a-z-]*(?: [A-Za-z][A-Za-z-]*)?")
"""`hook`, the host, and the event where the host doesn't tell it."""


def find_program(argv0: str, executable: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of the foveal that runs: as it was called, else beside its interpreter.

    Links are kept, since it is the link in `~/.local/bin` that survives an upgrade. Raises `InstallError`.
    """
    beside = os.path.join(os.path.dirname(executable), NAME)
    called = argv0 if os.path.basename(argv0) == NAME else ""
    for path in (called, beside, shutil.which(NAME, path=environ.get("PATH", ""))):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            found = os.path.abspath(path)
            return _printable(found)
    raise InstallError("the program foveal isn't installed, only its package", "install it with pip or pipx")


def hook_command(program: str, host: str, *more: str) -> list[str]:
    """Return the command that a host runs for an event."""
    return [program, "hook", host, *more]


def mcp_command(program: str) -> list[str]:
    """Return the command that a host starts as an MCP server."""
    return [program, "mcp"]


def command_line(command: Sequence[str]) -> str:
    """Return a command as one line for a shell."""
    return shlex.join(command)


def hook_program(handler: Any) -> str | None:
    """Return the program of a handler that is ours, by what it runs; None for a handler of others."""
    words = _words(handler)
    ours = _HOOK_WORDS.fullmatch(" ".join(words[1:])) and len(words) in {3, 4}
    return words[0] if ours and _is_name(words[0]) else None


def mcp_program(server: Any) -> str | None:
    """Return the program of an MCP server that is ours; None for one of others."""
    words = _words(server)
    return words[0] if len(words) == 2 and words[1] == "mcp" and _is_name(words[0]) else None


def program_state(program: str, own: str, environ: Mapping[str, str]) -> ProgramState:
    """Tell whether a registered program is the one that runs, another one, or gone.

    A bare name is looked for as a host would; relative places in PATH don't count.
    """
    folders = [one for one in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(one)]
    path = program if os.sep in program else shutil.which(program, path=os.pathsep.join(folders))
    if not path or not os.path.isabs(path) or not os.access(path, os.X_OK) or not os.path.isfile(path):
        return "missing"
    return "this" if os.path.samefile(path, own) else "other"


def _words(entry: Any) -> list[str]:
    """Return the words of a command in any host's form: with `args`, as a list, as one line for a shell."""
    if not isinstance(entry, Mapping):
        return []
    command = entry.get("command", entry.get("bash"))
    arguments = entry.get("args", [])
    if isinstance(command, str) and "args" not in entry:
        try:
            return shlex.split(command)
        except ValueError:  # an open quote: nothing that we write
            return []
    words = [command, *arguments] if isinstance(command, str) and isinstance(arguments, list) else command
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else []


def _is_name(program: str) -> bool:
    return os.path.basename(program) == NAME


def _printable(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InstallError(
            f"the path of the program isn't UTF-8: {path!r}", "install it elsewhere"
        ) from error
    if not path.isprintable():
        raise InstallError(
            f"the path of the program holds control characters: {path!r}", "install it elsewhere"
        )
    return path
