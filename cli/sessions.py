"""The `foveal sessions` commands: the items and context sets of a conversation, shown and changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
    list_options,
)
from .items import item_arguments, item_label, key_of
from .terminal import say_warnings
from .times import local_time

PRESETS = ("aggressive", "normal", "conservative", "off")

EXAMPLES = (
    "foveal sessions list",
    'foveal sessions create --name "payment bug" --selection aggressive',
    "foveal sessions add s-1 tool search --server github",
    "foveal sessions context s-1 files src/auth.py src/tokens.py",
    "foveal sessions resume s-1",
)


@click.group(
    "sessions", cls=CommandGroup, short_help="Conversations and what is always in them.", examples=EXAMPLES
)
def sessions_command() -> None:
    """List and change sessions: the conversations of agents in a project.

    A session holds the items that are always in it, what it is about, and its context sets: the files,
    applet, endpoints and ports that matter to it, which are put before the agent when it resumes.
    """


@sessions_command.command("list", cls=Command, short_help="List the sessions of this project.")
@list_options
@click.pass_context
def list_command(context: click.Context, cwd: str | None, everywhere: bool, as_json: bool) -> None:
    """List the sessions of this project, the most recently active first."""
    params = {} if everywhere else {"cwd": cwd or current_folder()}
    reply = _call(context, "ListSessions", params)
    if as_json:
        terminal.say_json(reply)
        return
    sessions = reply["sessions"]
    terminal.say(sessions_table(sessions, projects=everywhere) if sessions else "no sessions")
    say_warnings(reply)


@sessions_command.command("show", cls=Command, short_help="Show all of a session.")
@click.argument("session_id")
@json_option
@click.pass_context
def show_command(context: click.Context, session_id: str, as_json: bool) -> None:
    """Show a session: its items, those that were removed from it, its context sets and its settings."""
    _print_session(_call(context, "GetSession", {"session_id": session_id}), as_json)


@sessions_command.command("create", cls=Command, short_help="Make a session.")
@click.option("--id", "session_id", metavar="ID", help="Its id [default: a new one].")
@click.option("--name", metavar="TEXT", help="What a person calls it.")
@click.option("--agent", "agent_name", metavar="NAME", help="The agent that it is a conversation with.")
@click.option("--selection", metavar="PRESET", help="How items are chosen for its messages; see set.")
@cwd_option
@json_option
@click.pass_context
def create_command(
    context: click.Context, /, selection: str | None, cwd: str | None, as_json: bool, **given: Any
) -> None:
    """Create a session in this project, with the items that are in every session. Prints its id."""
    chosen = None if selection is None else parse_selection(selection)
    reply = _call(context, "CreateSession", {"cwd": cwd or current_folder(), "selection": chosen, **given})
    terminal.say_reply(reply, as_json, terminal.clean(reply["session_id"]))


@sessions_command.command("resume", cls=Command, short_help="Print what an agent begins with again.")
@click.argument("session_id")
@json_option
@click.pass_context
def resume_command(context: click.Context, session_id: str, as_json: bool) -> None:
    """Resume a session: print the text that its agent gets. Names files that are gone."""
    reply = _call(context, "ResumeSession", {"session_id": session_id})
    if as_json:
        terminal.say_json(reply)
        return
    if reply["text"]:
        terminal.say(terminal.clean_lines(reply["text"]))
        terminal.flush()
    else:
        terminal.note("nothing to resume with: the session has no intent, no hint and no context sets")
    for path in reply["missing_files"]:
        terminal.note(f"not found: {path}")


@sessions_command.command("end", cls=Command, short_help="End a session.")
@click.argument("session_id")
@json_option
@click.pass_context
def end_command(context: click.Context, session_id: str, as_json: bool) -> None:
    """End a session. It can be resumed; when there are too many sessions, ended ones are removed first."""
    reply = _call(context, "EndSession", {"session_id": session_id})
    terminal.say_reply(reply, as_json, f"ended: {terminal.clean(session_id)}")


@sessions_command.command("add", cls=Command, short_help="Add an item to a session.")
@click.argument("session_id")
@item_arguments
@json_option
@click.pass_context
def add_command(
    context: click.Context, session_id: str, kind: str, name: str, server: str | None, as_json: bool
) -> None:
    """Add an item of any mode to a session: all its later messages have it."""
    _change_item(context, "AddSessionItem", session_id, key_of(context, kind, name, server), as_json)


@sessions_command.command("remove", cls=Command, short_help="Remove an item from a session.")
@click.argument("session_id")
@item_arguments
@json_option
@click.pass_context
def remove_command(
    context: click.Context, session_id: str, kind: str, name: str, server: str | None, as_json: bool
) -> None:
    """Remove an item from a session. It stays out even if its mode is always."""
    _change_item(context, "RemoveSessionItem", session_id, key_of(context, kind, name, server), as_json)


@sessions_command.command("set", cls=Command, short_help="Change a session's name, intent or settings.")
@click.argument("session_id")
@click.option("--name", metavar="TEXT", help="What a person calls it.")
@click.option("--intent", "current_intent", metavar="TEXT", help="What the agent is doing in it.")
@click.option(
    "--env", "env_hint", metavar="TEXT", help="A hint on the environment, such as 'staging, Python 3.12'."
)
@click.option("--selection", metavar="PRESET", help="How items are chosen for its messages.")
@json_option
@click.pass_context
def set_command(
    context: click.Context, /, session_id: str, selection: str | None, as_json: bool, **given: Any
) -> None:
    """Change fields of a session; an empty text clears one.

    PRESET is aggressive (the fewest items), normal, conservative (the most) or off, or a JSON map such as
    '{"rules": "normal", "tools": {"preset": "aggressive", "top_n": 2}}'.
    """
    changes = {"selection": None if selection is None else parse_selection(selection), **given}
    if all(value is None for value in changes.values()):
        raise click.UsageError("say what to change: --name, --intent, --env or --selection", context)
    _print_session(_call(context, "UpdateSession", {"session_id": session_id, **changes}), as_json)


@sessions_command.command("context", cls=Command, short_help="Show or change a session's context sets.")
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
        raise click.UsageError("--clear needs a SET, and takes no entries and no --merge", context)
    if merge and not entries:
        raise click.UsageError("--merge needs entries to add", context)
    if set_name is None or not (entries or clear):
        wanted = {"session_id": session_id, "set_name": set_name}
        _print_sets(_call(context, "GetRelevantContext", wanted), set_name, as_json)
        return
    params = {
        "session_id": session_id,
        "set_name": set_name,
        "items": [_path(entry) if set_name == "files" else entry for entry in entries],
        "mode": "merge" if merge else "replace",
    }
    reply = ask(context, "SetRelevantContext", params, hint="foveal sessions list")
    terminal.say_reply(reply, as_json, terminal.clean(reply["text"]))


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


def parse_selection(given: str) -> dict[str, Any] | str:
    """Return a preset's name, the map that a JSON text holds, or an empty one. Raises `BadParameter`."""
    if given in PRESETS:
        return given
    if not given:
        return {}
    try:
        selection = json.loads(given)
    except (ValueError, RecursionError):
        selection = None
    if not isinstance(selection, dict):
        raise click.BadParameter(
            f"{given!r} is neither one of {', '.join(PRESETS)} nor a JSON map", param_hint="'--selection'"
        )
    return selection


def _print_session(session: dict[str, Any], as_json: bool) -> None:
    if as_json:
        terminal.say_json(session)
        return
    for line in describe(session):
        terminal.say(line)
    say_warnings(session)


def _change_item(
    context: click.Context, method: str, session_id: str, key: dict[str, str], as_json: bool
) -> None:
    reply = _call(
        context, method, {"session_id": session_id, **key}, "foveal sessions list, foveal items list"
    )
    terminal.say_reply(reply, as_json, terminal.clean(reply["text"]))


def _call(
    context: click.Context, method: str, params: dict[str, Any], hint: str = "foveal sessions list"
) -> dict[str, Any]:
    return ask(context, method, params, hint=hint)


INTENT_CHARACTERS = 50
LABEL_WIDTH = 15


def sessions_table(sessions: Sequence[Mapping[str, Any]], *, projects: bool) -> str:
    """Return sessions as a table, in their order; with the column of their projects if asked."""
    header = ["SESSION", "NAME", "AGENT", "LAST HEARD OF", "ITEMS", "CONTEXT", "INTENT", "PROJECT"]
    rows = []
    for session in sessions:
        ended = " (ended)" if session["ended"] else ""
        rows.append([
            session["session_id"],
            terminal.shortened(session["name"], INTENT_CHARACTERS),
            session["agent_name"],
            f"{local_time(last_heard(session))}{ended}",
            f"{session['items']:,}",
            f"{session['context_items']:,}",
            terminal.shortened(session["current_intent"], INTENT_CHARACTERS),
        ])  # fmt: skip
    if projects:
        for row, session in zip(rows, sessions, strict=True):
            row.append(terminal.short_path(session["project"]))
    else:
        header.pop()
    # Where there is no room, the figures go first: `show` has them.
    return terminal.table(header, rows, right=(4, 5), paths=(7,), texts=(1, 2, 6), spare=(5, 4))


def last_heard(session: Mapping[str, Any]) -> str:
    """Return the time of the last sign of a session, in ISO 8601."""
    return max(str(session[field] or "") for field in ("created", "last_observed", "last_idle"))


def describe(session: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a session: its head, its fields, its items and its context sets."""
    head = terminal.styled(terminal.clean(session["session_id"]), bold=True)
    mark = f" (ended {local_time(session['ended'])})" if session["ended"] else ""
    yield f"{head}{mark}"
    for label, value in (
        ("project", terminal.short_path(session["project"])),
        ("name", session["name"]),
        ("agent", session["agent_name"]),
        ("created", local_time(session["created"])),
        ("last heard of", local_time(last_heard(session))),
        ("intent", session["current_intent"]),
        ("environment", session["env_hint"]),
        ("selection", json.dumps(session["selection"]) if session["selection"] else ""),
    ):
        if value:
            yield f"{label + ':':<{LABEL_WIDTH}}{_indented(value)}"
    yield from _item_lines(session)
    for name, entries in session["context"].items():
        yield from set_lines(name, entries)


def set_lines(name: str, entries: Sequence[str]) -> Iterator[str]:
    """Yield the lines about a context set."""
    yield f"{terminal.clean(name)}:"
    for entry in entries:
        yield f"  {terminal.clean(entry)}"


def _item_lines(session: Mapping[str, Any]) -> Iterator[str]:
    items = session["items"]
    yield f"items: {len(items):,}" if items else "items: none"
    for item in items:
        yield f"  {item['include']:<7} {terminal.clean(item_label(item))}"
    if session["removed"]:
        yield "removed by hand:"
        for item in session["removed"]:
            yield f"  {terminal.clean(item_label(item))}"


def _indented(text: str) -> str:
    return terminal.clean_lines(text).replace("\n", "\n" + " " * LABEL_WIDTH)
