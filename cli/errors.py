"""Errors of the command line: their hints, their exit codes, and which error a person is shown."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..ipc.errors import (
    INTERNAL,
    NOT_FOUND,
    TIMEOUT,
    UNKNOWN_METHOD,
    UNSUPPORTED,
    DaemonUnavailable,
    RpcError,
)
from ..ipc.paths import PathError
from ..ipc.protocol import ProtocolError

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells say it."""
OUTPUT_CLOSED = 141
"""128 + SIGPIPE: the reader of the output has gone."""


class CliError(click.ClickException):
    """A failure that a person can understand: what is wrong, and with `hint` what to run next."""

    exit_code = FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class OutputClosed(Exception):
    """Nobody reads the standard output any more; not an error of ours."""


class OutputFailed(Exception):
    """The standard output can't be written: a full disk, most likely. `str()` is fit for a person."""


def explain(error: Exception) -> CliError | None:
    """Return the error for a person, or None for a bug."""
    if isinstance(error, RpcError):
        return CliError(with_commands(error.message), _RPC_HINTS.get(error.code, ""))
    if isinstance(error, DaemonUnavailable | PathError):
        return CliError(str(error))
    if isinstance(error, ProtocolError):
        return CliError(
            f"the program that answers on the socket is not a foveal daemon: {error}", "foveal doctor"
        )
    if isinstance(error, ConnectionRefusedError | FileNotFoundError) and error.filename is None:
        return CliError("no daemon answers on the socket", "foveal up")
    if isinstance(error, ConnectionError):
        return CliError("the daemon closed the connection; its log may say why", "foveal logs")
    if isinstance(error, OSError):
        return _explain_system(error)
    return None


def _explain_system(error: OSError) -> CliError:
    place = f"{error.filename}: " if error.filename else ""
    hint = "free some space on the disk" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
    return CliError(f"{place}{error.strerror or error}", hint)


_RPC_HINTS = {
    INTERNAL: "foveal logs",
    TIMEOUT: "foveal status shows what the daemon is doing, foveal logs what it did",
    UNKNOWN_METHOD: "foveal restart, if the daemon is older than this program",
    UNSUPPORTED: "foveal restart, if the daemon is older than this program",
}
"""Hints by error code, for errors whose message can't say what to run."""


_COMMANDS = {
    "CreateSession": "foveal sessions create",
    "GetContext": "foveal context",
    "GetRequest": "foveal requests show",
    "ListContexts": "foveal contexts",
    "ListItems": "foveal items list",
    "ListRequests": "foveal requests list",
    "ListSessions": "foveal sessions list",
    "PutItem": "foveal items put",
    "ResumeSession": "foveal sessions resume",
    "SetToolMode": "foveal tools mode",
}
"""The commands that call the methods which the daemon's messages name."""

_METHODS = re.compile(rf"(?<!['\"\w])(?:([Cc])all )?({'|'.join(_COMMANDS)})\b")


def with_commands(message: str) -> str:
    """Return a message of the daemon with the commands in place of the methods that it names."""

    def command(match: re.Match[str]) -> str:
        called = {"C": "Run: ", "c": "run: "}.get(match[1] or "", "")
        return f"{called}{_COMMANDS[match[2]]}"

    return _METHODS.sub(command, message)


@contextmanager
def hint_if_unknown(hint: str) -> Iterator[None]:
    """Raise `not_found` errors as `CliError` with a hint."""
    try:
        yield
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        raise CliError(with_commands(error.message), hint) from error
