"""Every foreseeable error becomes a sentence and, where there is one, a command to run; a bug stays a bug."""

from __future__ import annotations

import ast
import errno
import re
from collections.abc import Iterator
from pathlib import Path

import foveal
from foveal.cli.errors import explain, with_commands
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
        RpcError("unknown_method", "no Foo"),
        "no Foo",
        "foveal restart, if the daemon is older than this program",
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


def test_messages_name_commands_instead_of_methods() -> None:
    def check(message: str, shown: str) -> None:
        explained = explain(RpcError("not_found", message))
        assert explained is not None
        assert explained.message == shown

    check(
        "no session 's-1'. Call CreateSession to make it; ListSessions names those that there are.",
        "no session 's-1'. Run: foveal sessions create to make it; foveal sessions list names those that"
        " there are.",
    )
    check("taken; call ResumeSession to go on", "taken; run: foveal sessions resume to go on")
    check("no item 'PutItem'", "no item 'PutItem'")


def test_every_method_that_a_message_names_has_its_command() -> None:
    """Of the daemon's texts that aren't docstrings; one that only agents and programs meet is listed here."""
    root = Path(foveal.__file__).parent
    table = re.findall(r"(?m)^\| ([A-Z]\w+) \|", (root / "docs" / "protocol.md").read_text(encoding="utf-8"))
    names = re.compile(rf"(?<!\w)({'|'.join(name for name in table if name[1:] != name[1:].lower())})(?!\w)")
    found = set()
    for room in ("context", "sessions", "rules", "memory", "search"):
        for path in (root / "daemon" / room).glob("*.py"):
            for text in texts(ast.parse(path.read_text(encoding="utf-8"))):
                found |= set(names.findall(text)) if " " in text else set()
    assert {name for name in found if with_commands(name) == name} == set()


def texts(tree: ast.Module) -> Iterator[str]:
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def test_bugs_are_not_explained_away() -> None:
    for error in (ValueError("x"), KeyError("x"), AssertionError(), ZeroDivisionError()):
        assert explain(error) is None
