"""Owns how an item is named on the command line: TYPE NAME, for a tool with --server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

TYPES = ("rule", "reference", "tool")
MODES = ("always", "agent", "manual", "glob")


def item_arguments(command: F) -> F:
    """Add TYPE, NAME and --server, given to the function as `kind`, `name` and `server`."""
    command = click.option("--server", metavar="NAME", help="Of a tool: the MCP server that offers it.")(
        command
    )
    command = click.argument("name")(command)
    return click.argument("kind", metavar="TYPE", type=click.Choice(TYPES))(command)


def key_of(context: click.Context, kind: str, name: str, server: str | None) -> dict[str, str]:
    """Return the fields that name an item. Raises `UsageError` for a tool without server and the reverse."""
    if kind == "tool" and server is None:
        raise click.UsageError("a tool is named with its server: --server NAME", context)
    if kind != "tool" and server is not None:
        raise click.UsageError(f"--server goes with tools, and this is a {kind}", context)
    return {"type": kind, "name": name, **({} if server is None else {"server_name": server})}


def item_label(item: Mapping[str, Any]) -> str:
    """Return an item's name as a person reads it, as it came: `rule AGENTS.md`, `tool search of github`."""
    of_server = f" of {item['server_name']}" if item.get("server_name") else ""
    return f"{item['type']} {item['name']}{of_server}"


def shortened(text: str, most: int) -> str:
    """Return a text on one line, cut where it has more characters than that."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
