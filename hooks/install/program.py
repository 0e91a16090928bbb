"""The program that is registered with hosts: which foveal it is, and whether a command is ours.

A registered command is read, never run: a project's settings may come from anybody. A host's own program is
run from PATH, and only to tell its version.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any, Literal

from ..hosts.host import HOOK_TOOL, NAME, SERVER_HOOK
from .errors import InstallError

ProgramState = Literal["this", "other", "missing"]

VERSION_S = 10.0
"""Maximum seconds for a host to tell its version: those in JavaScript take one or two."""

_VERSION = re.compile(r"\d+(?:\.\d+)+(?:-[\w.]+)?")
_HOOK_WORDS = re.compile(r"hook [a-z][a-z-]*(?: [A-Za-z][A-Za-z-]*)?")
"""`hook`, the host, and the event if the host's payload doesn't name it."""


STATUS_LINE = "statusline"
"""The word behind the program of a status line."""


def find_program(argv0: str, executable: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of the foveal that runs: the path it was called by, else the one beside its
    interpreter.

    Links are kept, since the link in `~/.local/bin` survives an upgrade. Raises `InstallError`.
    """
    beside = os.path.join(os.path.dirname(executable), NAME)
    called = argv0 if os.path.basename(argv0) == NAME else ""
    for path in (called, beside, shutil.which(NAME, path=environ.get("PATH", ""))):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise InstallError("the program foveal isn't installed, only its package", "install it with pip or pipx")


def installed_version(program: str, environ: Mapping[str, str]) -> str:
    """Return the version that a host's own program tells, "" if it isn't installed or doesn't tell one."""
    path = shutil.which(program, path=environ.get("PATH", ""))
    if not program or not path or not os.path.isabs(path):
        return ""
    try:
        said = subprocess.run(  # noqa: S603 - the host's own program, found in PATH
            [path, "--version"],
            env=dict(environ),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(said.stdout.decode("utf-8", "replace"))
    return found[0] if found else ""


def hook_command(program: str, host: str, *more: str) -> list[str]:
    """Return the command that a host runs for an event."""
    return [program, "hook", host, *more]


def mcp_command(program: str) -> list[str]:
    """Return the command that a host starts as an MCP server."""
    return [program, "mcp"]


def hook_program(handler: Any) -> str | None:
    """Return the program of a handler that runs our hook, "" if it calls our server, None for other
    handlers."""
    if is_server_hook(handler):
        return ""
    words = _words(handler)
    ours = _HOOK_WORDS.fullmatch(" ".join(words[1:])) and len(words) in {3, 4}
    return words[0] if ours and _is_name(words[0]) else None


def is_server_hook(handler: Any) -> bool:
    """Whether a handler calls the tool of our MCP server that answers hooks."""
    return isinstance(handler, Mapping) and [handler.get(key) for key in ("type", "server", "tool")] == [
        SERVER_HOOK,
        NAME,
        HOOK_TOOL,
    ]


def status_line_program(entry: Any) -> str | None:
    """Return the program of a status line that is ours, None for others."""
    words = _words(entry)
    return words[0] if len(words) == 2 and words[1] == STATUS_LINE and _is_name(words[0]) else None


def mcp_program(server: Any) -> str | None:
    """Return the program of an MCP server that is ours, None for other servers."""
    words = _words(server)
    return words[0] if len(words) == 2 and words[1] == "mcp" and _is_name(words[0]) else None


def program_state(program: str, own: str, environ: Mapping[str, str]) -> ProgramState:
    """Return whether a registered program is the running one, another one, or missing.

    A bare name is looked up in PATH as a host would; relative folders in PATH don't count.
    """
    folders = [path for path in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(path)]
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
        except ValueError:  # an open quote: no command of ours
            return []
    words = [command, *arguments] if isinstance(command, str) and isinstance(arguments, list) else command
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else []


def _is_name(program: str) -> bool:
    return os.path.basename(program) == NAME
