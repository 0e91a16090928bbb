"""Every foreseeable error becomes a sentence and, where there is one, a command to run; a bug stays a bug."""

from __future__ import annotations

import ast
import errno
import re
from collections.abc import Iterator
from pathlib import Path

import click
import foveal
import pytest
from foveal.cli import app
from foveal.cli.errors import COMMANDS, CliError, explain, hint_if_unknown
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


def test_advice_names_commands_instead_of_methods() -> None:
    def check(message: str, advice: str, shown: str, hint: str) -> None:
        explained = explain(RpcError("not_found", f"{message} {advice}".strip(), {"advice": advice}))
        assert explained is not None
        assert (explained.message, explained.hint) == (shown, hint)

    check(
        "no session 's-1': it is gone.",
        "Call CreateSession to make it; ListSessions names those that there are.",
        "no session 's-1': it is gone",
        "foveal sessions create to make it; foveal sessions list names those that there are",
    )
    check(
        "there is a session 's' already;",
        "call ResumeSession to go on with it",
        "there is a session 's' already",
        "foveal sessions resume to go on with it",
    )
    check("no item 'PutItem'; look again", "", "no item 'PutItem'; look again", "")
    check("there is no experience 'x' here", "", "there is no decision 'x' here", "")
    check("it isn't an experience: set experience.path", "", "it isn't a decision: set experience.path", "")


def test_fields_of_the_wire_become_what_was_typed() -> None:
    typed = {
        "kinds": "--kind",
        "max_tokens": "--max-tokens",
        "name": "NAME",
        "text": "--text",
        "scope_id": "--scope",
    }

    def check(field: str, message: str, shown: str) -> None:
        explained = explain(RpcError("invalid_params", message, {"field": field}), typed)
        assert explained is not None
        assert (explained.message, explained.code) == (shown, "invalid_params")

    check("kinds", "kinds has the unknown name 'kinds'", "--kind has the unknown name 'kinds'")
    check("item.name", "item.name is empty: kinds", "NAME is empty: kinds")
    check("kinds[2]", "kinds[2] must not be empty", "--kind must not be empty")
    check("text.a.b", "text.a.b must be a map", "--text: a.b must be a map")
    check("reserve", "reserve leaves nothing of max_tokens (5)", "reserve leaves nothing of --max-tokens (5)")
    check("cwd", "'/a/max_tokens' is no folder: max_tokens_a", "'/a/max_tokens' is no folder: max_tokens_a")
    check("name", "names are unlike name", "names are unlike name")
    advice = "call ResumeSession, or choose another scope_id"
    explained = explain(RpcError("invalid_params", f"it is there; {advice}", {"advice": advice}), typed)
    assert explained is not None
    assert (explained.message, explained.hint) == (
        "it is there",
        "foveal sessions resume, or choose another --scope",
    )


def test_a_hint_of_the_command_goes_first() -> None:
    advice = "Call CreateSession to make it."
    with pytest.raises(CliError) as raised, hint_if_unknown("foveal sessions list"):
        raise RpcError("not_found", f"no session 's-1'. {advice}", {"advice": advice})
    assert (raised.value.message, raised.value.hint) == ("no session 's-1'", "foveal sessions list")


def methods() -> list[str]:
    """Return the methods of the wire, from the table of the protocol."""
    page = Path(foveal.__file__).parent / "docs" / "methods.md"
    return re.findall(r"(?m)^\| ([A-Z]\w+) \|", page.read_text(encoding="utf-8"))


def test_only_advice_of_the_daemon_names_methods() -> None:
    """Each text of the daemon that names a method is all advice, and has a command for each of them."""
    names = re.compile(
        rf"(?<!\w)({'|'.join(name for name in methods() if name[1:] != name[1:].lower())})(?!\w)"
    )
    root = Path(foveal.__file__).parent
    found: set[str] = set()
    for folder in ("daemon", "ipc"):
        for path in sorted((root / folder).rglob("*.py")):
            for text in texts(ast.parse(path.read_text(encoding="utf-8"))):
                found |= {text} if " " in text and names.search(text) else set()
    assert len(found) > 8  # it looks where the messages are
    named = {name for text in found for name in names.findall(text)}
    assert named == set(COMMANDS)


def test_commands_in_messages_exist() -> None:
    assert len(COMMANDS) > 8
    for command in COMMANDS.values():
        group: click.Command = app.foveal
        for word in command.split()[1:]:
            if word.startswith("--"):
                assert any(word in option.opts for option in group.get_params(click.Context(group)))
            else:
                assert isinstance(group, click.Group)
                found = group.get_command(click.Context(group), word)
                assert found is not None, command
                group = found


def texts(tree: ast.Module) -> Iterator[str]:
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def test_bugs_are_not_explained_away() -> None:
    for error in (ValueError("x"), KeyError("x"), AssertionError(), ZeroDivisionError()):
        assert explain(error) is None
