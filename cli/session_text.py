"""Owns how sessions read for a person: a table of them, and the lines about one; knows no daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import terminal
from .item_names import item_label, shortened
from .terminal import local_time

INTENT_CHARACTERS = 50
LABEL_WIDTH = 15


def sessions_table(sessions: Sequence[Mapping[str, Any]], *, projects: bool) -> str:
    """Return sessions as a table, in their order; with the column of their projects if asked."""
    header = ["SESSION", "NAME", "AGENT", "LAST HEARD OF", "ITEMS", "CONTEXT", "INTENT"]
    rows = []
    for one in sessions:
        ended = " (ended)" if one["ended"] else ""
        rows.append([
            one["session_id"],
            shortened(one["name"], INTENT_CHARACTERS),
            one["agent_name"],
            f"{local_time(last_heard(one))}{ended}",
            f"{one['items']:,}",
            f"{one['context_items']:,}",
            shortened(one["current_intent"], INTENT_CHARACTERS),
        ])  # fmt: skip
    if projects:
        header.insert(1, "PROJECT")
        for row, one in zip(rows, sessions, strict=True):
            row.insert(1, terminal.short_path(one["project"]))
    return terminal.table(header, rows, right=(header.index("ITEMS"), header.index("CONTEXT")))


def last_heard(session: Mapping[str, Any]) -> str:
    """Return when something was last heard of a session, as the wire has it."""
    return max(str(session[field] or "") for field in ("created", "last_observed", "last_idle"))


def describe(session: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about a session: its head, what is given of it, its items and context sets."""
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
