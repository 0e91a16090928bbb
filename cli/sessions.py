"""The `foveal sessions` commands: the items and context sets of a conversation, shown and changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import click

from .command import Remark, Reply, Run, list_command, show_command, warnings
from .group import group
from .items import ITEM, item_label, key_of
from .options import ALL, CWD, argument, flag, option
from .settings import absolute
from .table import Column, number, path, words
from .terminal import styled
from .text import clean, clean_lines, local_time, short_path

PRESETS = ("aggressive", "normal", "conservative", "off")


LABEL_WIDTH = 15
KNOWN = "foveal sessions list"


def last_heard(session: Reply) -> str:
    """Return the time of the last sign of a session, in ISO 8601."""
    return max(str(session[field] or "") for field in ("created", "last_observed", "last_idle"))


COLUMNS = (
    Column("SESSION", "session_id"),
    words("NAME", "name", 50),
    words("AGENT", "agent_name"),
    Column(
        "LAST HEARD OF",
        lambda session: (
            f"{local_time(last_heard(session), '%Y-%m-%d')} (ended)"
            if session["ended"]
            else local_time(last_heard(session))
        ),
    ),
    number("ITEMS", "items", spare=2),
    number("CONTEXT", "context_items", spare=1),
    words("INTENT", "current_intent", 50),
)
"""The columns of sessions. Where there is no room, the figures go first: `show` has them."""

SESSION = argument("session_id")
SELECTION = "--selection"
NAME = option("--name", "TEXT", "What a person calls it.")


@group("Conversations and what is always in them.")
def sessions_command() -> None:
    """List and change sessions: the conversations of agents in a project.

    A session holds the items that are always in it, what it is about, and its context sets: the files,
    applet, endpoints and ports that matter to it, which are put before the agent when it resumes.

    For example:

        foveal sessions list
        foveal sessions create --name "payment bug" --selection aggressive
        foveal sessions add s-1 tool search --server github
        foveal sessions context s-1 files src/auth.py src/tokens.py
        foveal sessions resume s-1
    """


session_command = partial(show_command, hint=KNOWN, group=sessions_command)
"""Declares a command on one session."""


@list_command(
    "ListSessions",
    "List the sessions of this project.",
    *ALL,
    rows="sessions",
    columns=lambda run: (*COLUMNS, path("PROJECT", "project")) if run.everywhere else COLUMNS,
    nothing="no sessions",
    group=sessions_command,
)
def list_sessions() -> None:
    """List the sessions of this project, the most recently active first."""


@session_command("GetSession", "Show all of a session.", SESSION)
def show(session: Reply, run: Run) -> Iterator[str]:
    """Show a session: its items, those that were removed from it, its context sets and its settings."""
    return describe(session)


@session_command(
    "CreateSession",
    "Make a session.",
    option("--id session_id", "ID", "Its id [default: a new one]."),
    NAME,
    option("--agent agent_name", "NAME", "The agent that it is a conversation with."),
    option(SELECTION, "PRESET", "How items are chosen for its messages; see set."),
    CWD,
    sends=lambda run: run.params | {"selection": parse_selection(run.selection)},
)
def create(reply: Reply, run: Run) -> Iterator[str]:
    """Create a session in this project, with the items that are in every session. Prints its id."""
    yield clean(reply["session_id"])


@session_command("ResumeSession", "Print what an agent begins with again.", SESSION)
def resume(reply: Reply, run: Run) -> Iterator[str]:
    """Resume a session: print the text that its agent gets. Names files that are gone."""
    if reply["text"]:
        yield clean_lines(reply["text"])
    else:
        yield Remark("nothing to resume with: the session has no intent, no hint and no context sets")
    yield from (Remark(f"not found: {path}") for path in reply["missing_files"])


@session_command("EndSession", "End a session.", SESSION)
def end(reply: Reply, run: Run) -> Iterator[str]:
    """End a session. It can be resumed; when there are too many sessions, ended ones are removed first."""
    yield f"ended: {clean(run.session_id)}"


def _item(run: Run) -> dict[str, str]:
    return {"session_id": run.session_id, **key_of(run)}


@session_command(
    "AddSessionItem",
    "Add an item to a session.",
    SESSION,
    *ITEM,
    sends=_item,
    hint=f"{KNOWN}, foveal items list",
)
def add(reply: Reply, run: Run) -> Iterator[str]:
    """Add an item of any mode to a session: all its later messages have it."""
    yield clean(reply["text"])


@session_command(
    "RemoveSessionItem",
    "Remove an item from a session.",
    SESSION,
    *ITEM,
    sends=_item,
    hint=f"{KNOWN}, foveal items list",
)
def remove(reply: Reply, run: Run) -> Iterator[str]:
    """Remove an item from a session. It stays out even if its mode is always."""
    yield clean(reply["text"])


def _changes(run: Run) -> dict[str, Any]:
    changes = run.params | {"selection": parse_selection(run.selection)}
    if all(value is None for name, value in changes.items() if name != "session_id"):
        raise run.usage("say what to change: --name, --intent, --env or --selection")
    return changes


@session_command(
    "UpdateSession",
    "Change a session's name, intent or settings.",
    SESSION,
    NAME,
    option("--intent current_intent", "TEXT", "What the agent is doing in it."),
    option("--env env_hint", "TEXT", "A hint on the environment, such as 'staging, Python 3.12'."),
    option(SELECTION, "PRESET", "How items are chosen for its messages."),
    sends=_changes,
)
def set_fields(session: Reply, run: Run) -> Iterator[str]:
    """Change fields of a session; an empty text clears one.

    PRESET is aggressive (the fewest items), normal, conservative (the most) or off, or a JSON map such as
    '{"rules": "normal", "tools": {"preset": "aggressive", "top_n": 2}}'.
    """
    return describe(session)


def _shows_sets(run: Run) -> bool:
    """Show context sets where none is to be changed."""
    if run.clear and (run.entries or run.merge or run.set_name is None):
        raise run.usage("--clear needs a SET, and takes no entries and no --merge")
    if run.merge and not run.entries:
        raise run.usage("--merge needs entries to add")
    if run.set_name is not None and (run.entries or run.clear):
        return False
    reply = run.ask("GetRelevantContext", KNOWN, session_id=run.session_id, set_name=run.set_name)
    run.show(reply, _describe_sets(reply, run.set_name))
    return True


@session_command(
    "SetRelevantContext",
    "Show or change a session's context sets.",
    SESSION,
    argument("set_name", "[SET]", required=False),
    argument("entries", "[ENTRY]...", nargs=-1),
    flag("--merge", "Add to what is there, instead of replacing it."),
    flag("--clear", "Take all entries out."),
    instead=_shows_sets,
    sends=lambda run: {
        "session_id": run.session_id,
        "set_name": run.set_name,
        "items": [_entry(entry) if run.set_name == "files" else entry for entry in run.entries],
        "mode": "merge" if run.merge else "replace",
    },
)
def context(reply: Reply, run: Run) -> Iterator[str]:
    """Show the context sets of a session, show one SET, or make entries its content.

    The sets are files (paths), applet (a name, then key=value; or its address, if applet.url is set),
    endpoints (URLs) and ports; others are accepted.
    """
    yield clean(reply["text"])


def _describe_sets(reply: Reply, set_name: str | None) -> Iterator[str]:
    sets = {name: entries for name, entries in reply["context"].items() if entries}
    for name, entries in sets.items():
        yield from set_lines(name, entries)
    if not sets:
        yield f"{clean(set_name)} is empty" if set_name else "no context sets"
    yield from warnings(reply)


def _entry(entry: str) -> str:
    """Return a file's path as the daemon takes it: absolute, or seen from the home folder."""
    return entry if not entry or entry == "~" or entry.startswith("~/") else absolute(entry)


def parse_selection(given: str | None) -> dict[str, Any] | str | None:
    """Return a preset's name, the map that a JSON text holds, or an empty one. Raises `BadParameter`."""
    if given is None or given in PRESETS:
        return given
    if not given:
        return {}
    try:
        selection = json.loads(given)
    except (ValueError, RecursionError):
        selection = None
    if not isinstance(selection, dict):
        raise click.BadParameter(
            f"{given!r} is neither one of {', '.join(PRESETS)} nor a JSON map", param_hint=f"'{SELECTION}'"
        )
    return selection


def describe(session: Reply) -> Iterator[str]:
    """Yield the lines about a session: its head, its fields, its items and its context sets."""
    head = styled(clean(session["session_id"]), bold=True)
    mark = f" (ended {local_time(session['ended'])})" if session["ended"] else ""
    yield f"{head}{mark}"
    for label, value in (
        ("project", short_path(session["project"])),
        ("name", session["name"]),
        ("agent", session["agent_name"]),
        ("created", local_time(session["created"])),
        ("last heard of", local_time(last_heard(session))),
        ("intent", session["current_intent"]),
        ("environment", session["env_hint"]),
        ("selection", json.dumps(session["selection"]) if session["selection"] else ""),
    ):
        if value:
            text = clean_lines(value).replace("\n", "\n" + " " * LABEL_WIDTH)
            yield f"{label + ':':<{LABEL_WIDTH}}{text}"
    items = session["items"]
    yield f"items: {len(items):,}" if items else "items: none"
    yield from (f"  {item['include']:<7} {clean(item_label(item))}" for item in items)
    if session["removed"]:
        yield "removed by hand:"
        yield from (f"  {clean(item_label(item))}" for item in session["removed"])
    for name, entries in session["context"].items():
        yield from set_lines(name, entries)
        if name == "applet" and session["applet"] and session["applet"]["url"]:
            yield f"  reopen at {clean(session['applet']['url'])}"
    yield from warnings(session)


def set_lines(name: str, entries: Sequence[str]) -> Iterator[str]:
    """Yield the lines about a context set."""
    yield f"{clean(name)}:"
    yield from (f"  {clean(entry)}" for entry in entries)
