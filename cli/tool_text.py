"""Owns how MCP servers read for a person: what is known of their tools, and what would run; knows no daemon.

Who approves a file decides by what is shown here, so nothing of it is cut, and nothing in it can hide: what
isn't printable, such as a space without width, is shown as an escape.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import terminal
from .item_names import shortened

DESCRIPTION_CHARACTERS = 70
NAME_CHARACTERS = 40
"""A longer name doesn't push the columns of the others to the right."""

FOR_WHOM = {
    "local": "for you in this project",
    "project": "for everyone in this project",
    "user": "for you in all projects",
}

Modes = Mapping[tuple[str, str], str]
"""The modes of tools by server and name."""


def describe_files(files: Sequence[Mapping[str, Any]], modes: Modes) -> Iterator[str]:
    """Yield the lines about configuration files: whether each is approved, its servers, their tools."""
    for file in files:
        state = "approved" if file["approved"] else "not approved"
        colour = "green" if file["approved"] else "yellow"
        yield f"{_heading(file)}: {terminal.styled(state, fg=colour)}"
        if file["problem"]:
            yield f"  ! {terminal.clean(file['problem'])}"
        for server in file["servers"]:
            yield from _server_lines(server, modes, approved=file["approved"])


def review(file: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that a person reads before approving a file: all that it makes foveal run or reach."""
    yield _heading(file)
    yield _visible(f"{file['section']}, sha256 {file['digest']}")
    if file["problem"]:
        yield f"! {terminal.clean(file['problem'])}"
    for server in file["servers"]:
        yield ""
        yield f"  {terminal.styled(_visible(server['name']), bold=True)} (line {server['line']})"
        for label, value in _review_rows(server):
            yield f"    {label:<12} {_visible(value)}"


def outcome(server: Mapping[str, Any]) -> str:
    """Return what came of listing a server: how many tools it has, or why they aren't known."""
    if server["left_out"]:
        return f"not listed: {server['left_out']}"
    if server["problem"]:
        old = "; those of before are used" if server["tools"] else ""
        return f"it could not be listed: {server['problem']}{old}"
    if not server["listed_at"]:
        return "not listed yet: foveal tools list"
    more = f", {server['tools_left_out']:,} left out" if server["tools_left_out"] else ""
    return f"{terminal.count(len(server['tools']), 'tool')}{more}"


def _heading(file: Mapping[str, Any]) -> str:
    path = terminal.styled(terminal.short_path(file["path"]), bold=True)
    return f"{path} ({terminal.clean(file['host'])}, {FOR_WHOM.get(file['scope'], file['scope'])})"


def _server_lines(server: Mapping[str, Any], modes: Modes, *, approved: bool) -> Iterator[str]:
    name = terminal.styled(terminal.clean(server["name"]), bold=True)
    if not approved:
        yield f"  {name}  {terminal.clean(server['runs'])}"
        return
    yield f"  {name}  {terminal.clean(outcome(server))}"
    width = max((min(len(tool["name"]), NAME_CHARACTERS) for tool in server["tools"]), default=0)
    for tool in server["tools"]:
        mode = modes.get((server["name"], tool["name"]), "")
        description = shortened(tool["description"], DESCRIPTION_CHARACTERS)
        yield terminal.clean(f"    {tool['name']:<{width}}  {mode:<7} {description}").rstrip()


def _review_rows(server: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a server runs or reaches, each argument apart, and the names of what it gets, no values."""
    if server["transport"] != "stdio":
        yield "connects to:", f"{server['runs']} ({server['transport']})"
    elif "command" in server:
        yield "runs:", shlex.join([server["command"], *server["arguments"]])
        yield "in folder:", server["folder"]
    else:
        yield "runs:", server["runs"]
    for label, field in (("sets:", "environment"), ("headers:", "headers"), ("reads:", "variables")):
        if server.get(field):
            yield label, ", ".join(server[field])
    if server["left_out"]:
        yield "state:", server["left_out"]


def _visible(text: str) -> str:
    """Return text in which nothing is hidden: what isn't printable is shown as an escape."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
