"""The `foveal items` commands: rules, references and tools of a project."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from .command import Remark, Reply, Run, command, degraded, show_command, warnings
from .errors import CliError
from .group import group
from .options import CWD, argument, choice, number, option, score
from .settings import absolute
from .table import Column, table, words
from .table import number as figure
from .terminal import read_text, styled
from .text import clean, count, share, short_path, shortened

TYPES = ("rule", "reference", "tool")
MODES = ("always", "agent", "manual", "glob")
PRESETS = ("aggressive", "normal", "conservative")

NAME_CHARACTERS = 60


TEXT_MAX_BYTES = 262_144
"""Maximum bytes of an item's text, the same as the daemon's."""


ITEM = (
    argument("type", "TYPE", type=click.Choice(TYPES)),
    argument("name"),
    option("--server server_name", "NAME", "Of a tool: the MCP server that offers it."),
)
OF_TYPE = choice("--type types", TYPES, "Only of this type.", multiple=True)


def key_of(run: Run) -> dict[str, str]:
    """Return the fields that name an item. Raises `UsageError` for a tool without server and the reverse."""
    if run.type == "tool" and run.server_name is None:
        raise run.usage("a tool is named with its server: --server NAME")
    if run.type != "tool" and run.server_name is not None:
        raise run.usage(f"--server goes with tools, and this is a {run.type}")
    server = {} if run.server_name is None else {"server_name": run.server_name}
    return {"type": run.type, "name": run.name, **server}


def item_label(item: Mapping[str, Any]) -> str:
    """Return an item's name for a person, not yet cleaned: `rule AGENTS.md`, `tool search of github`."""
    of_server = f" of {item['server_name']}" if item.get("server_name") else ""
    return f"{item['type']} {item['name']}{of_server}"


def level_of(item: Mapping[str, Any]) -> str:
    """Return an item's priority with three digits, "" for one that has none: `001`."""
    level = item.get("priority_level")
    return f"{level:03}" if level else ""


def origin(item: Reply) -> str:
    """Return where an item comes from: a tool's server, a file with its line, or the source that its client
    named."""
    if item.get("server_name"):
        return shortened(item["server_name"], NAME_CHARACTERS)
    source, line = item["source"], item["line"]
    if not os.path.isabs(source):
        return shortened(source, NAME_CHARACTERS)
    return f"{short_path(source)}:{line}" if line > 1 else short_path(source)


def _include(item: Reply) -> str:
    return f"{item['include']} {shortened(', '.join(item.get('globs', ())), 30)}".rstrip()


DESCRIPTION = words("DESCRIPTION", "description", 60)
LEVEL = figure("LEVEL", lambda item: level_of(item) or "-", spare=1)
LABEL = words("ITEM", item_label, NAME_CHARACTERS)

ITEMS = (
    Column("TYPE", "type"),
    words("NAME", "name", NAME_CHARACTERS),
    words("INCLUDE", _include),
    LEVEL,
    Column("FROM", origin, "path"),
    DESCRIPTION,
)
FOUND = (
    Column("TAKEN", lambda item: "yes" if item["taken"] else "no"),
    figure("SCORE", lambda item: f"{item['similarity_score']:.2f}"),
    figure("MEANING", lambda item: f"{item['similarity']:.2f}", spare=1),
    figure("WORDS", lambda item: f"{item['lexical']:.2f}", spare=2),
    words("WHY", "reason"),
    LABEL,
    DESCRIPTION,
)
USAGE = (
    LABEL,
    Column("INCLUDE", lambda item: item["include"] or "gone"),
    figure("REQUESTS", "requests"),
    figure("REPLIES", "reported"),
    figure("REFERRED", "referred"),
    figure("SHARE", lambda item: share(item["referred"], item["reported"])),
    Column("LAST", "last_day"),
)


@group("Rules, references and tools of a project.")
def items_command() -> None:
    """List and change what an agent can be given in a project: rules, references and tools.

    An item is in every session of the project (always), found by its meaning for a message (agent), there
    when a file that matches is touched (glob), or only added by hand (manual).

    For example:

        foveal items list --type rule
        foveal items put rule sql --include agent --text 'Never build SQL from strings.'
        foveal items put reference api --include manual --file docs/api.md
        foveal items search "add an index to the orders table"
    """


@command(
    "List the items of this project.",
    OF_TYPE,
    choice("--include modes", MODES, "Only of this mode.", multiple=True),
    CWD,
    group=items_command,
)
def list_items(run: Run) -> None:
    """List the items that exist for this project, with their modes and where they come from."""
    reply = run.ask("ListItems", cwd=run.folder, types=list(run.types or TYPES))
    items = [item for item in reply["items"] if item["include"] in (run.modes or MODES)]
    run.show({**reply, "items": items}, [table(ITEMS, items) if items else "no items", *warnings(reply)])


def _put(run: Run) -> dict[str, Any]:
    """Return the parameters of PutItem."""
    mode = run.include or ("glob" if run.globs else None)
    if mode is None:
        raise run.usage(f"say when agents get it: --include with one of {', '.join(MODES)}")
    if run.text is not None and run.file is not None:
        raise run.usage("--text and --file exclude each other")
    fields = {
        **run.without("cwd", "file", "type", "name", "server_name"),
        **key_of(run),
        "include": mode,
        "globs": run.globs or None,
        "text": _text(run.text, run.file),
        "source": None if run.file is None else absolute(run.file),
    }
    return {"cwd": run.folder, "item": {name: value for name, value in fields.items() if value is not None}}


@show_command(
    "PutItem",
    "Put an item, or change how one is included.",
    *ITEM,
    choice("--include", MODES, "When agents get it; --glob alone means glob."),
    option("--glob globs", "PATTERN", "Agents get it when they touch a matching file.", multiple=True),
    option("--text", "TEXT", "Its text; - reads it from the standard input."),
    option("--file", "PATH", "A file with its text, read once."),
    option("--description", "TEXT", "One line about it, which search uses."),
    number("--level priority_level", 1, 999, "Its priority, the lowest is first."),
    CWD,
    sends=_put,
    group=items_command,
)
def put(reply: Reply, run: Run) -> Iterator[str]:
    """Put an item into this project: a TYPE (rule, reference or tool) and its NAME.

    Without a text it changes the mode of an item from another source, such as a rule of CLAUDE.md that
    agents should get only when a person adds it.
    """
    yield clean(f"put: {item_label(reply['item'])} ({reply['item']['include']})")


@show_command(
    "DeleteItem",
    "Delete an item that was put.",
    *ITEM,
    CWD,
    sends=lambda run: {"cwd": run.folder, **key_of(run)},
    hint="foveal items list",
    group=items_command,
)
def delete(reply: Reply, run: Run) -> Iterator[str]:
    """Delete an item that somebody put. If it replaced an item of an instruction file, that one is back."""
    yield clean(f"deleted: {item_label(key_of(run))}")
    if "item" in reply:
        yield Remark(f"the item of {origin(reply['item'])} is back ({reply['item']['include']})")


@show_command(
    "SearchItems",
    "Find the items that a message is about.",
    argument("query"),
    OF_TYPE,
    choice("--preset", PRESETS, "How many are taken; aggressive takes the fewest."),
    number("--top-k", 0, 1000, "Maximum passages to look at."),
    number("--top-n", 0, 200, "Maximum items to take."),
    score("--include-score", -1, 2, "Take every item with at least this score."),
    score("--floor", -1, 2, "Take no item with a lower score."),
    option("--agent agent_name", "NAME", "Use the settings for this agent."),
    CWD,
    sends=lambda run: run.params | {"query": read_text("query") if run.query == "-" else run.query},
    fails=lambda reply: not reply["items"],
    group=items_command,
)
def search(reply: Reply, run: Run) -> Iterator[str]:
    """Find the items of any mode that QUERY is about, and show the rejected candidates, with scores.

    A QUERY of - is read from the standard input. Exits with 1 if nothing was found.
    """
    items = reply["items"]
    found = [{**item, "taken": True} for item in items] + [
        {**item, "taken": False} for item in reply["considered"]
    ]
    if found:
        yield table(FOUND, found)
    yield from degraded(reply)
    yield Remark(f"{count(len(items), 'item')} in {reply['elapsed_ms']:.1f} ms")


def _since(run: Run) -> dict[str, Any]:
    first_day = datetime.now(UTC) - timedelta(days=(run.days or 1) - 1)
    return {"cwd": run.folder, "since": f"{first_day:%Y-%m-%d}" if run.days else None}


@show_command(
    "GetItemUsage",
    "Show which items replies referred to.",
    number("--days", 1, 3650, "Only the last N days, today included."),
    CWD,
    sends=_since,
    group=items_command,
)
def usage(reply: Reply, run: Run) -> Iterator[str]:
    """Show how many requests had each item, how many replies referred to it, and what to change."""
    if not reply["items"]:
        yield "no request had an item (a rule, reference or tool); foveal requests list shows all requests"
        return
    yield table(USAGE, reply["items"])
    reported = sum(day["reported"] for day in reply["shares"])
    if reported:
        referred = sum(day["referred"] for day in reply["shares"])
        yield ""
        yield f"{referred / reported:.0%} of the items that a search chose were referred to"
        yield f"({referred:,} of {reported:,} whose replies were reported)"
    for suggestion in reply["suggestions"]:
        yield ""
        yield clean(suggestion["text"])
        yield f"  {styled(clean(command_for(suggestion)), fg='cyan')}"


def _text(text: str | None, file: str | None) -> str | None:
    """Return what an item says, from the command line, the standard input or a file. Raises `CliError`."""
    if file is None:
        return read_text("text") if text == "-" else text
    if os.path.getsize(file) > TEXT_MAX_BYTES:
        raise CliError(f"{file} is larger than {TEXT_MAX_BYTES:,} bytes", "shorten the file")
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            return opened.read()
    except UnicodeDecodeError as error:
        raise CliError(f"{file} is no UTF-8 text: {error.reason} at byte {error.start:,}") from error


def command_for(suggestion: Reply) -> str:
    """Return the command that does what is suggested: to demote is the mode agent, to remove is manual."""
    mode = "agent" if suggestion["action"] == "demote" else "manual"
    if suggestion["type"] == "tool":
        words = ["tools", "mode", suggestion["server_name"], mode, "--tool", suggestion["name"]]
    else:
        words = ["items", "put", suggestion["type"], suggestion["name"], "--include", mode]
    return shlex.join(["foveal", *words])
