"""Owns `foveal sessions context`: the sets of files, endpoints and such that matter to a session."""

from __future__ import annotations

from typing import Any

import click

from . import terminal
from .command import Command, absolute, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect
from .hints import hint_if_unknown
from .remarks import say_warnings
from .session_text import set_lines


@click.command("context", cls=Command, short_help="Show or change a session's context sets.")
@click.argument("session_id")
@click.argument("set_name", required=False, metavar="[SET]")
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@click.option("--merge", is_flag=True, help="Add to what is there, instead of replacing it.")
@click.option("--clear", is_flag=True, help="Take all entries out.")
@json_option
@click.pass_context
def context_command(
    context: click.Context,
    session_id: str,
    set_name: str | None,
    entries: tuple[str, ...],
    merge: bool,
    clear: bool,
    as_json: bool,
) -> None:
    """Show the context sets of a session, show one SET, or make entries its content.

    The sets are files (paths), applet (a name, then key=value), endpoints (URLs) and ports; others are
    accepted.
    """
    if clear and (entries or merge or set_name is None):
        raise click.UsageError("--clear goes with a SET alone", context)
    if merge and not entries:
        raise click.UsageError("--merge adds entries: name some", context)
    if set_name is None or not (entries or clear):
        wanted = {"session_id": session_id, **({} if set_name is None else {"set_name": set_name})}
        with connect(settings_of(context)) as client, hint_if_unknown("foveal sessions list"):
            reply = client.call("GetRelevantContext", wanted, CALL_TIMEOUT_S)
        _print_sets(reply, set_name, as_json)
        return
    params = {
        "session_id": session_id,
        "set_name": set_name,
        "items": [_path(entry) if set_name == "files" else entry for entry in entries],
        "mode": "merge" if merge else "replace",
    }
    with connect(settings_of(context)) as client, hint_if_unknown("foveal sessions list"):
        reply = client.call("SetRelevantContext", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        terminal.say(terminal.clean(reply["text"]))


def _print_sets(reply: dict[str, Any], set_name: str | None, as_json: bool) -> None:
    if as_json:
        terminal.say_json(reply)
        return
    sets = {name: entries for name, entries in reply["context"].items() if entries}
    for name, entries in sets.items():
        for line in set_lines(name, entries):
            terminal.say(line)
    if not sets:
        terminal.say(f"{terminal.clean(set_name)} is empty" if set_name else "no context sets")
    say_warnings(reply)


def _path(entry: str) -> str:
    """Return a file's path as the daemon takes it: absolute, or seen from the home folder."""
    return entry if not entry or entry == "~" or entry.startswith("~/") else absolute(entry)
