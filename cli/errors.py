"""Errors of the command line: their hints, their exit codes, and which error a person is shown."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

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

NO_DAEMON = "no_daemon"
"""The code for programs where no daemon answers."""

OK = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130
"""128 + SIGINT, as shells say it."""
OUTPUT_CLOSED = 141
"""128 + SIGPIPE: the reader of the output has gone."""


class CliError(click.ClickException):
    """A failure that a person can understand: what is wrong, and with `hint` what to run next. `code` is for
    programs: that of the wire, or `failed`."""

    exit_code = FAILED

    def __init__(self, message: str, hint: str = "", code: str = "failed") -> None:
        super().__init__(message)
        self.hint = hint
        self.code = code


class OutputClosed(Exception):
    """Nobody reads the standard output any more; not an error of ours."""


class OutputFailed(Exception):
    """The standard output can't be written: a full disk, most likely. `str()` is fit for a person."""


def explain(error: Exception, typed: Mapping[str, str] = MappingProxyType({})) -> CliError | None:
    """Return the error for a person, or None for a bug. `typed` are the names of a command's options and
    arguments by the wire's fields that they are for."""
    if isinstance(error, RpcError):
        if error.code == UNKNOWN_METHOD:
            return CliError(
                "the daemon that runs is older than this program and can't do this",
                "foveal restart",
                error.code,
            )
        message, advice = for_a_person(error)
        message = as_typed(message, str((error.data or {}).get("field", "")), typed)
        hint = _RPC_HINTS.get(error.code) or as_typed(advice, "", typed)
        return CliError(message, hint, error.code)
    if isinstance(error, DaemonUnavailable):
        return CliError(str(error), code=NO_DAEMON)
    if isinstance(error, PathError):
        return CliError(str(error))
    if isinstance(error, ProtocolError):
        return CliError(
            f"the program that answers on the socket is not a foveal daemon: {error}", "foveal doctor"
        )
    if isinstance(error, ConnectionRefusedError | FileNotFoundError) and error.filename is None:
        return CliError("no daemon answers on the socket", "foveal up", NO_DAEMON)
    if isinstance(error, ConnectionError):
        return CliError("the daemon closed the connection; its log may say why", "foveal logs", NO_DAEMON)
    if isinstance(error, OSError):
        return _explain_system(error)
    return None


def as_typed(message: str, field: str, typed: Mapping[str, str]) -> str:
    """Return a message about a field of the wire with what a person typed in its place, and in place of other
    fields whose names can't be plain words. A field in a field keeps its own name behind that."""
    first, _, rest = field.partition(".")
    name = typed.get(_INDEX.sub("", field).rpartition(".")[2]) or (
        f"{typed[first]}: {rest}" if first in typed else ""
    )
    if field and name and re.match(rf"{re.escape(field)}(?!\w)", message):
        message = name + message[len(field) :]
    for known in typed:
        if "_" in known:
            message = re.sub(rf"(?<![\w'\"./-]){known}(?![\w'\"])", typed[known], message)
    return message


_INDEX = re.compile(r"\[\d+\]$")


def _explain_system(error: OSError) -> CliError:
    place = f"{error.filename}: " if error.filename else ""
    hint = "free some space on the disk" if error.errno in {errno.ENOSPC, errno.EDQUOT} else ""
    return CliError(f"{place}{error.strerror or error}", hint)


_RPC_HINTS = {
    INTERNAL: "foveal logs",
    TIMEOUT: "foveal status shows what the daemon is doing, foveal logs what it did",
    UNSUPPORTED: "foveal restart, if the daemon is older than this program",
}
"""Hints by error code, for errors whose message can't say what to run."""


COMMANDS = {
    "CreateSession": "foveal sessions create",
    "GetContext": "foveal context",
    "GetRequest": "foveal requests show",
    "ListContexts": "foveal contexts",
    "ListItems": "foveal items list",
    "ListProjects": "foveal projects",
    "ListRequests": "foveal requests list",
    "ListSessions": "foveal sessions list",
    "PutItem": "foveal items put",
    "ResumeSession": "foveal sessions resume",
    "SetToolMode": "foveal tools mode",
}
"""The commands for the methods that the daemon's advice names."""

_METHODS = re.compile(rf"(?:[Cc]all )?\b({'|'.join(COMMANDS)})\b")
_EXPERIENCE = re.compile(r"(?<![\w.'])(an? )?experience(s?)\b(?![.\w'])")
"""The word of the wire for what people call a decision; in `experience.path` it names a setting."""


def for_a_person(error: RpcError) -> tuple[str, str]:
    """Return what is wrong, and what to run: the daemon's advice with commands in place of methods."""
    advice = str((error.data or {}).get("advice", ""))
    message = error.message.removesuffix(advice).rstrip(" ;.") if advice else error.message.rstrip(".")
    message = _EXPERIENCE.sub(lambda word: f"{'a ' if word[1] else ''}decision{word[2]}", message)
    return message, _METHODS.sub(lambda match: COMMANDS[match[1]], advice).rstrip(".")


@contextmanager
def hint_if_unknown(hint: str) -> Iterator[None]:
    """Raise `not_found` errors as `CliError` with a hint."""
    try:
        yield
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        message, advice = for_a_person(error)
        raise CliError(message, hint or advice, error.code) from error
