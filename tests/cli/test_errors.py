"""Every foreseeable error becomes a sentence and, where there is one, a command to run; a bug stays a bug."""

from __future__ import annotations

import errno

import pytest
from foveal.cli.errors import CliError, explain, hint_if_unknown
from foveal.ipc.errors import DaemonUnavailable, RpcError
from foveal.ipc.paths import PathError
from foveal.ipc.protocol import ProtocolError


def test_foreseeable_errors() -> None:
    def check(error: Exception, message: str, hint: str) -> None:
        explained = explain(error)
        assert explained is not None
        assert (explained.message, explained.hint, explained.exit_code) == (message, hint, 1)

    check(RpcError("not_found", "no scope 'x'"), "no scope 'x'", "")
    check(RpcError("internal", "it failed"), "it failed", "foveal logs")
    check(
        RpcError("unknown_method", "there is no method 'GetUsage'; did you mean GetTrust?"),
        "the daemon that runs is older than this program and can't do this",
        "foveal restart",
    )
    check(RpcError("a_newer_code", "said"), "said", "")
    check(DaemonUnavailable("none; foveal up"), "none; foveal up", "")
    check(PathError("too long"), "too long", "")
    check(
        ProtocolError("bytes", None),
        "the program that answers on the socket is not a foveal daemon: bytes",
        "foveal doctor",
    )
    check(ConnectionRefusedError(111, "refused"), "no daemon answers on the socket", "foveal up")
    check(BrokenPipeError(), "the daemon closed the connection; its log may say why", "foveal logs")
    check(PermissionError(13, "Permission denied", "/x"), "/x: Permission denied", "")
    check(
        OSError(errno.ENOSPC, "No space left on device"),
        "No space left on device",
        "free some space on the disk",
    )


def test_a_hint_of_the_command_goes_first() -> None:
    advice = "Call CreateSession to make it."
    with pytest.raises(CliError) as raised, hint_if_unknown("foveal sessions list"):
        raise RpcError("not_found", f"no session 's-1'. {advice}", {"advice": advice})
    assert (raised.value.message, raised.value.hint) == ("no session 's-1'", "foveal sessions list")


def test_bugs_are_not_explained_away() -> None:
    for error in (ValueError("x"), KeyError("x"), AssertionError(), ZeroDivisionError()):
        assert explain(error) is None
