"""Owns `foveal node`: a file or definition with what it imports and who imports it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from . import terminal
from .command import Command, current_folder, cwd_option, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .focus import locate

NEIGHBOURS = {
    "superclasses": "inherits",
    "subclasses": "inherited by",
    "callers": "called by",
    "callees": "calls",
}
"""How the lists of a node's neighbours are called."""


@click.command("node", cls=Command, short_help="Show a file or definition and its neighbours.")
@click.argument("node_id")
@cwd_option
@json_option
@click.pass_context
def node_command(context: click.Context, node_id: str, cwd: str | None, as_json: bool) -> None:
    """Show a node: a file (src/auth.py), a definition (src/auth.py#Session.login) or a section.

    Its text is printed, and before it what it imports and who imports it, who calls it and what it calls.
    """
    folder = cwd or current_folder()
    folders = [folder] if cwd is None else [folder, current_folder()]
    params = {"cwd": folder, "node_id": locate(node_id, folders)}
    with connect(settings_of(context)) as client:
        reply = client.call("GetNode", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
        return
    for line in describe(reply):
        terminal.say(line)
    terminal.flush()
    for reason in reply["degraded"]:
        terminal.note(f"degraded: {reason}")


def describe(node: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about a node: its head, its neighbours, its text."""
    place = f"{node['kind']}, lines {node['start_line']}-{node['end_line']}"
    yield f"{terminal.styled(terminal.clean(node['node_id']), bold=True)} ({terminal.clean(place)})"
    if node.get("doc"):
        yield terminal.clean(node["doc"])
    for one in node["imports"]:
        name = f" {one['name']}" if one.get("name") else ""
        path = f" -> {one['path']}" if one.get("path") else " (missing)" if one.get("missing") else ""
        yield terminal.clean(f"imports      {one['module']}{name}{path}")
    for one in node["importers"]:
        yield terminal.clean(f"imported by  {one['path']}:{one['line']}")
    for one in node["symbols"]:
        yield terminal.clean(f"defines      {one['node_id']} ({one['kind']}, line {one['start_line']})")
    for name, label in NEIGHBOURS.items():
        for one in node.get(name, ()):
            yield terminal.clean(f"{label:<13}{_neighbour(one)}")
        if name in node.get("more", ()):
            yield f"{label:<13}…"
    yield ""
    text = node["definition"]
    yield terminal.clean_lines(text) if terminal.is_terminal(sys.stdout) else text
    if node["truncated"]:
        yield "…"


def _neighbour(one: dict[str, Any]) -> str:
    """Return a neighbour with the place of the reference, and a remark if only the name is known."""
    by_name = "  (by name)" if one["certainty"] == "name" else ""
    return f"{one.get('node_id') or one['name']}  at {one['path']}:{one['line']}{by_name}"
