"""Errors of the command line: their hints, their exit codes, and which error a person is shown."""

from __future__ import annotations

import errno
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


class OutputFailed(Exception):
    """The standard output can't be written: nobody reads it any more, which is no error of ours, or a disk is
    full, most likely. `str()` is fit for a person, empty for the former."""


def explain(error: Exception) -> CliError | None:
    """Return the error for a person, or None for a bug."""
    if isinstance(error, RpcError):
        if error.code == UNKNOWN_METHOD:
            return CliError(
                "the daemon that runs is older than this program and can't do this",
                "foveal restart",
                error.code,
            )
        return CliError(message_of(error), _RPC_HINTS.get(error.code, ""), error.code)
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


def message_of(error: RpcError) -> str:
    """Return what is wrong, without the daemon's advice, which names methods; people call an experience a
    decision."""
    advice = str((error.data or {}).get("advice", ""))
    return error.message.removesuffix(advice).rstrip(" ;.").replace("no experience ", "no decision ")


@contextmanager
def hint_if_unknown(hint: str) -> Iterator[None]:
    """Raise `not_found` errors as `CliError` with a hint."""
    try:
        yield
    except RpcError as error:
        if error.code != NOT_FOUND:
            raise
        raise CliError(message_of(error), hint, error.code) from error
