"""The commands `foveal items` and `feedback`: rules, references and tools."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from . import terminal
from .command import (
    Command,
    CommandGroup,
    absolute,
    ask,
    current_folder,
    cwd_option,
    json_option,
    read_text,
)
from .errors import FAILED, CliError
from .terminal import say_warnings

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
    """Return an item's name for a person, not yet cleaned: `rule AGENTS.md`, `tool search of github`."""
    of_server = f" of {item['server_name']}" if item.get("server_name") else ""
    return f"{item['type']} {item['name']}{of_server}"


NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 60
GLOB_CHARACTERS = 30

PRESETS = ("aggressive", "normal", "conservative")
TEXT_MAX_BYTES = 262_144
"""Maximum bytes of an item's text, the same as the daemon's."""

EXAMPLES = (
    "foveal items list --type rule",
    "foveal items put rule sql --include agent --text 'Never build SQL from strings.'",
    "foveal items put reference api --include manual --file docs/api.md",
    'foveal items search "add an index to the orders table"',
)


@click.group(
    "items", cls=CommandGroup, short_help="Rules, references and tools of a project.", examples=EXAMPLES
)
def items_command() -> None:
    """List and change what an agent can be given in a project: rules, references and tools.

    An item is in every session of the project (always), found by its meaning for a message (agent), there
    when a file that matches is touched (glob), or only added by hand (manual).
    """


@items_command.command("list", cls=Command, short_help="List the items of this project.")
@click.option("--type", "kinds", multiple=True, type=click.Choice(TYPES), help="Only of this type.")
@click.option("--include", "modes", multiple=True, type=click.Choice(MODES), help="Only of this mode.")
@cwd_option
@json_option
@click.pass_context
def list_command(
    context: click.Context, kinds: tuple[str, ...], modes: tuple[str, ...], cwd: str | None, as_json: bool
) -> None:
    """List the items that exist for this project, with their modes and where they come from."""
    reply = ask(context, "ListItems", {"cwd": cwd or current_folder(), "types": list(kinds or TYPES)})
    items = [item for item in reply["items"] if item["include"] in (modes or MODES)]
    if as_json:
        terminal.say_json({**reply, "items": items})
        return
    terminal.say(items_table(items) if items else "no items")
    say_warnings(reply)


@items_command.command("put", cls=Command, short_help="Put an item, or change how one is included.")
@item_arguments
@click.option("--include", type=click.Choice(MODES), help="When agents get it; --glob alone means glob.")
@click.option(
    "--glob", "globs", multiple=True, metavar="PATTERN", help="Agents get it when they touch a matching file."
)
@click.option("--text", metavar="TEXT", help="Its text; - reads it from the standard input.")
@click.option("--file", metavar="PATH", help="A file with its text, read once.")
@click.option("--description", metavar="TEXT", help="One line about it, which search uses.")
@click.option(
    "--level",
    "priority_level",
    metavar="N",
    type=click.IntRange(100, 999),
    help="Its priority, the lowest is first.",
)
@cwd_option
@json_option
@click.pass_context
def put_command(
    context: click.Context,
    /,
    kind: str,
    name: str,
    server: str | None,
    include: str | None,
    globs: tuple[str, ...],
    text: str | None,
    file: str | None,
    cwd: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Put an item into this project: a TYPE (rule, reference or tool) and its NAME.

    Without a text it changes the mode of an item from another source, such as a rule of CLAUDE.md that
    agents should get only when a person adds it.
    """
    mode = include or ("glob" if globs else None)
    if mode is None:
        raise click.UsageError(f"say when agents get it: --include with one of {', '.join(MODES)}", context)
    if text is not None and file is not None:
        raise click.UsageError("--text and --file exclude each other", context)
    fields = {
        **given,
        **key_of(context, kind, name, server),
        "include": mode,
        "globs": globs or None,
        "text": _text(text, file),
        "source": None if file is None else absolute(file),
    }
    item = {field: value for field, value in fields.items() if value is not None}
    reply = ask(context, "PutItem", {"cwd": cwd or current_folder(), "item": item})
    if as_json:
        terminal.say_json(reply)
    else:
        put = reply["item"]
        terminal.say(terminal.clean(f"put: {item_label(put)} ({put['include']})"))


@items_command.command("delete", cls=Command, short_help="Delete an item that was put.")
@item_arguments
@cwd_option
@json_option
@click.pass_context
def delete_command(
    context: click.Context, kind: str, name: str, server: str | None, cwd: str | None, as_json: bool
) -> None:
    """Delete an item that somebody put. If it replaced an item of an instruction file, that one is back."""
    key = key_of(context, kind, name, server)
    reply = ask(context, "DeleteItem", {"cwd": cwd or current_folder(), **key}, hint="foveal items list")
    if as_json:
        terminal.say_json(reply)
        return
    terminal.say(terminal.clean(f"deleted: {item_label(key)}"))
    if "item" in reply:
        terminal.flush()
        terminal.note(f"the item of {origin(reply['item'])} is back ({reply['item']['include']})")


@items_command.command("search", cls=Command, short_help="Find the items that a message is about.")
@click.argument("query")
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="Only of this type.")
@click.option("--preset", type=click.Choice(PRESETS), help="How many are taken; aggressive takes the fewest.")
@click.option("--top-k", metavar="N", type=click.IntRange(0, 1000), help="Maximum passages to look at.")
@click.option("--top-n", metavar="N", type=click.IntRange(0, 200), help="Maximum items to take.")
@click.option(
    "--include-score",
    metavar="S",
    type=click.FloatRange(-1, 2),
    help="Take every item with at least this score.",
)
@click.option("--floor", metavar="S", type=click.FloatRange(-1, 2), help="Take no item with a lower score.")
@click.option("--agent", "agent_name", metavar="NAME", help="Use the settings for this agent.")
@cwd_option
@json_option
@click.pass_context
def search_command(
    context: click.Context, /, query: str, cwd: str | None, as_json: bool, **settings: Any
) -> None:
    """Find the items of any mode that QUERY is about, and show the rejected candidates, with scores.

    A QUERY of - is read from the standard input. Exits with 1 if nothing was found.
    """
    text = read_text("query") if query == "-" else query
    reply = ask(context, "SearchItems", {"cwd": cwd or current_folder(), "query": text, **settings})
    if as_json:
        terminal.say_json(reply)
    else:
        if reply["items"] or reply["considered"]:
            terminal.say(found_table(reply["items"], reply["considered"]))
        terminal.flush()
        for reason in reply["degraded"]:
            terminal.note(f"degraded: {reason}")
        terminal.note(f"{terminal.count(len(reply['items']), 'item')} in {reply['elapsed_ms']:.1f} ms")
    if not reply["items"]:
        context.exit(FAILED)


@items_command.command("usage", cls=Command, short_help="Show which items replies referred to.")
@click.option(
    "--days", metavar="N", type=click.IntRange(1, 3650), help="Only the last N days, today included."
)
@cwd_option
@json_option
@click.pass_context
def usage_command(context: click.Context, days: int | None, cwd: str | None, as_json: bool) -> None:
    """Show how many requests had each item, how many replies referred to it, and what to change."""
    params = {"cwd": cwd or current_folder()}
    if days is not None:
        params["since"] = f"{datetime.now(UTC) - timedelta(days=days - 1):%Y-%m-%d}"
    reply = ask(context, "GetItemUsage", params)
    terminal.say_reply(reply, as_json, *describe_usage(reply))


def _text(text: str | None, file: str | None) -> str | None:
    """Return what an item says, from the command line, the standard input or a file. Raises `CliError`."""
    if text == "-":
        return read_text("text")
    if file is None:
        return text
    with open(file, "rb") as opened:
        data = opened.read(TEXT_MAX_BYTES + 1)
    if len(data) > TEXT_MAX_BYTES:
        raise CliError(f"{file} is larger than {TEXT_MAX_BYTES:,} bytes", "shorten the file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CliError(f"{file} is no UTF-8 text: {error.reason} at byte {error.start:,}") from error


def items_table(items: Sequence[Mapping[str, Any]]) -> str:
    """Return items as a table, in their order."""
    header = ("TYPE", "NAME", "INCLUDE", "LEVEL", "FROM", "DESCRIPTION")
    rows = [
        (
            item["type"],
            terminal.shortened(item["name"], NAME_CHARACTERS),
            _include(item),
            str(item["priority_level"]),
            origin(item),
            terminal.shortened(item.get("description", ""), DESCRIPTION_CHARACTERS),
        )
        for item in items
    ]
    return terminal.table(header, rows, right=(3,), paths=(4,), texts=(1, 2, 5), spare=(3,))


def origin(item: Mapping[str, Any]) -> str:
    """Return where an item comes from: a tool's server, a file with its line, or the source that its client
    named."""
    if item.get("server_name"):
        return terminal.shortened(item["server_name"], NAME_CHARACTERS)
    source, line = item["source"], item["line"]
    if not os.path.isabs(source):
        return terminal.shortened(source, NAME_CHARACTERS)
    return f"{terminal.short_path(source)}:{line}" if line > 1 else terminal.short_path(source)


def found_table(taken: Sequence[Mapping[str, Any]], considered: Sequence[Mapping[str, Any]]) -> str:
    """Return what a search took, and below it what it left out, with scores and reasons."""
    header = ("TAKEN", "SCORE", "MEANING", "WORDS", "WHY", "ITEM", "DESCRIPTION")
    rows = [
        (
            "yes" if found else "no",
            f"{item['similarity_score']:.2f}",
            f"{item['similarity']:.2f}",
            f"{item['lexical']:.2f}",
            item["reason"],
            terminal.shortened(item_label(item), NAME_CHARACTERS),
            terminal.shortened(item.get("description", ""), DESCRIPTION_CHARACTERS),
        )
        for found, items in ((True, taken), (False, considered))
        for item in items
    ]
    return terminal.table(header, rows, right=(1, 2, 3), texts=(4, 5, 6), spare=(2, 3))


def describe_usage(usage: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about the use of items: a table, the share of selected ones, what is suggested."""
    if not usage["items"]:
        yield "no requests were recorded"
        return
    yield _usage_table(usage["items"])
    reported = sum(day["reported"] for day in usage["shares"])
    if reported:
        referred = sum(day["referred"] for day in usage["shares"])
        yield ""
        yield f"{referred / reported:.0%} of the items that a search chose were referred to"
        yield f"({referred:,} of {reported:,} whose replies were reported)"
    for suggestion in usage["suggestions"]:
        yield ""
        yield terminal.clean(suggestion["text"])
        yield f"  {terminal.styled(terminal.clean(command_for(suggestion)), fg='cyan')}"


def command_for(suggestion: Mapping[str, Any]) -> str:
    """Return the command that does what is suggested: to demote is the mode agent, to remove is manual."""
    mode = "agent" if suggestion["action"] == "demote" else "manual"
    if suggestion["type"] == "tool":
        words = ["tools", "mode", suggestion["server_name"], mode, "--tool", suggestion["name"]]
    else:
        words = ["items", "put", suggestion["type"], suggestion["name"], "--include", mode]
    return shlex.join(["foveal", *words])


def _include(item: Mapping[str, Any]) -> str:
    globs = ", ".join(item.get("globs", ()))
    return f"{item['include']} {terminal.shortened(globs, GLOB_CHARACTERS)}".rstrip()


def _usage_table(items: Sequence[Mapping[str, Any]]) -> str:
    header = ("ITEM", "INCLUDE", "REQUESTS", "REPLIES", "REFERRED", "SHARE", "LAST")
    rows = [
        (
            terminal.shortened(item_label(item), NAME_CHARACTERS),
            item["include"] or "gone",
            f"{item['requests']:,}",
            f"{item['reported']:,}",
            f"{item['referred']:,}",
            f"{item['referred'] / item['reported']:.0%}" if item["reported"] else "",
            item["last_day"],
        )
        for item in items
    ]
    return terminal.table(header, rows, right=(2, 3, 4, 5), texts=(0,))


@click.command("feedback", cls=Command, short_help="Say where to see what was of use.")
@click.option("--clear", is_flag=True, help="Does nothing: no such weights are kept.")
@cwd_option
@json_option
@click.pass_context
def feedback_command(context: click.Context, clear: bool, cwd: str | None, as_json: bool) -> None:
    """Say where to see which files and items were of use: nothing weighs more for it in contexts."""
    reply = ask(context, "ClearFeedback" if clear else "GetFeedback", {"cwd": cwd or current_folder()})
    if as_json:
        terminal.say_json(reply)
    else:
        terminal.say("nothing weighs more because it was of use; see: foveal usage, foveal items usage")
