"""The command `foveal usage`: what contexts cost, what was used, and what agents read by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import terminal
from .command import Reply, Run, show_command
from .options import ALL, SINCE, UNTIL, choice
from .table import Column, number, table
from .text import clean, count, end_of_path, share, short_path

GROUPS = ("day", "project", "host", "agent", "session", "type")

NEVER_USED_MAX = 10

SHORT_ID = 8
"""Characters of a session's id that tell sessions of the same name apart."""


@show_command(
    "GetUsage",
    "Show what contexts cost, and what was used.",
    choice("--by", GROUPS, "What a row is about.", default="day", show_default=True),
    SINCE,
    UNTIL,
    *ALL,
)
def usage_command(reply: Reply, run: Run) -> Iterator[str]:
    """Show the tokens that contexts took, how many of the places they showed were used, what was never used,
    and what agents read by themselves.

    A place counts as used if the agent read, edited or named its file after it was shown.

    For example:

        foveal usage                       # tokens of this project by day
        foveal usage --all --by project
        foveal usage --by type --since 2026-01-01 --json
    """
    return describe_usage(reply, run.by)


def describe_usage(reply: Reply, by: str) -> Iterator[str]:
    """Yield the lines about a reply to GetUsage: a table with a total, what was never used, what agents read
    by themselves."""
    rows = reply["rows"]
    if not rows:
        yield "no agent got a context in this time"
        return
    yield table(columns(by), [*rows, {**reply["total"], "key": "total"}])
    never = reply["never_used"]
    if never:
        yield ""
        yield f"shown most and never used ({count(len(never), 'file')}):"
        for place in never[:NEVER_USED_MAX]:
            head = f"  {place['shown']:>5,} times  "
            yield clean(head + end_of_path(place["path"], terminal.room(len(head))))
        if len(never) > NEVER_USED_MAX:
            yield f"  and {len(never) - NEVER_USED_MAX:,} more: --json lists them"
    after = reply["afterwards"]
    if after["sessions"]:
        yield ""
        yield (
            f"where it can be observed ({count(after['sessions'], 'session')}):"
            f" given {count(after['tokens'], 'token')} that show {count(after['files_given'], 'file')},"
            f" of which agents opened {after['read_again']:,} all the same;"
            f" they read {count(after['read_elsewhere'], 'other file')} that they weren't shown"
        )


def columns(by: str) -> Sequence[Column]:
    """Return the columns of rows that are about a day, a project, a host, a session or a type."""
    return (
        Column(by.upper(), lambda row: _key(row, by), "path" if by == "project" else "text"),
        number("TURNS", "turns"),
        number("TOKENS", "tokens"),
        number("SHOWN", "places_shown"),
        number("USED", "places_used"),
        number("SHARE", lambda row: share(row["places_used"], row["places_shown"])),
        number("SESSIONS", "sessions", spare=1),
    )


def _key(row: Reply, by: str) -> str:
    key = str(row["key"])
    if by == "project" and key != "total":
        return short_path(key)
    name = str(row.get("name") or "")
    if by == "session" and name:  # sessions may begin with the same prompt
        return f"{name} ({key[:SHORT_ID]})"
    return name or key or "(none)"
