"""Owns how changes to settings and registrations are shown: as a diff, lines or JSON; knows no command."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from ..hooks.install.plan import Change
from ..hooks.install.state import MCP, HostState
from . import terminal

MAX_DIFF_LINES = 400
"""Of one file; the longest registration takes about 150."""

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def describe_change(change: Change) -> Iterator[str]:
    """Yield the unified diff of a change, coloured on a terminal."""
    path = terminal.short_path(change.target.path)
    before = "/dev/null" if change.found.data is None else path
    after = "/dev/null" if change.after is None else path
    old, new = _lines(change.found.data), _lines(change.after)
    diff = list(difflib.unified_diff(old, new, before, after, lineterm=""))
    for number, line in enumerate(diff[:MAX_DIFF_LINES]):
        shown = terminal.clean_lines(line.rstrip("\r"))
        yield terminal.styled(shown, bold=True) if number < 2 else _coloured(shown)
    if len(diff) > MAX_DIFF_LINES:
        yield f"... {terminal.count(len(diff) - MAX_DIFF_LINES, 'more line')}"
    if change.found.place != change.target.path and change.found.data is not None:
        yield f"(written to {terminal.short_path(change.found.place)})"


def summarize(change: Change) -> str:
    """Return a change in a word and its path."""
    verb = "remove" if change.after is None else "create" if change.found.data is None else "change"
    return f"{verb} {terminal.short_path(change.target.path)}"


def change_map(change: Change) -> dict[str, Any]:
    """Return a change for programs."""
    action = summarize(change).partition(" ")[0]
    return {"path": change.target.path, "action": action, "diff": "\n".join(_plain_diff(change))}


def describe_state(state: HostState) -> Iterator[str]:
    """Yield the lines about a host at a level where foveal is registered."""
    how = " as a plugin" if state.is_plugin else ""
    yield terminal.styled(f"{state.host}, {state.level}{how}", bold=True)
    for file in state.files:
        if file.problem:
            yield f"  {terminal.clean(file.problem)}"
        elif file.holds:
            yield f"  {terminal.short_path(file.path)}: {', '.join(map(_event, file.events)) or 'registered'}"
    for program in state.programs:
        yield f"  runs {terminal.clean(program)}"


def state_map(state: HostState, problems: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Return a host at a level for programs."""
    return {
        "host": state.host,
        "level": state.level,
        "registered": state.is_registered,
        "plugin": state.is_plugin,
        "events": list(state.events),
        "mcp": state.has_mcp,
        "programs": list(state.programs),
        "files": [
            {"path": file.path, "exists": file.exists, "registered": file.holds, "problem": file.problem}
            for file in state.files
        ],
        "problems": list(problems),
    }


def _event(name: str) -> str:
    return "MCP server" if name == MCP else terminal.clean(name)


def _plain_diff(change: Change) -> Iterator[str]:
    old, new = _lines(change.found.data), _lines(change.after)
    yield from difflib.unified_diff(old, new, change.target.path, change.target.path, lineterm="")


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").split("\n") if data else []


def _coloured(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return terminal.styled(line, fg=colour) if colour else line
