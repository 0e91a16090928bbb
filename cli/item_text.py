"""Owns how items read for a person: tables of them, of what a search found, of their use; knows no daemon."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import terminal
from .item_names import item_label, shortened

NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 60
GLOB_CHARACTERS = 30


def items_table(items: Sequence[Mapping[str, Any]]) -> str:
    """Return items as a table, in their order."""
    header = ("TYPE", "NAME", "INCLUDE", "LEVEL", "FROM", "DESCRIPTION")
    rows = [
        (
            item["type"],
            shortened(item["name"], NAME_CHARACTERS),
            _include(item),
            str(item["priority_level"]),
            origin(item),
            shortened(item.get("description", ""), DESCRIPTION_CHARACTERS),
        )
        for item in items
    ]
    return terminal.table(header, rows, right=(3,))


def origin(item: Mapping[str, Any]) -> str:
    """Return where an item comes from: a tool's server, a file with its line, or what whoever put it said."""
    if item.get("server_name"):
        return shortened(item["server_name"], NAME_CHARACTERS)
    source, line = item["source"], item["line"]
    if not os.path.isabs(source):
        return shortened(source, NAME_CHARACTERS)
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
            shortened(item_label(item), NAME_CHARACTERS),
            shortened(item.get("description", ""), DESCRIPTION_CHARACTERS),
        )
        for found, items in ((True, taken), (False, considered))
        for item in items
    ]
    return terminal.table(header, rows, right=(1, 2, 3))


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
    return f"{item['include']} {shortened(globs, GLOB_CHARACTERS)}".rstrip()


def _usage_table(items: Sequence[Mapping[str, Any]]) -> str:
    header = ("ITEM", "INCLUDE", "REQUESTS", "REPLIES", "REFERRED", "SHARE", "LAST")
    rows = [
        (
            shortened(item_label(item), NAME_CHARACTERS),
            item["include"] or "gone",
            f"{item['requests']:,}",
            f"{item['reported']:,}",
            f"{item['referred']:,}",
            f"{item['referred'] / item['reported']:.0%}" if item["reported"] else "",
            item["last_day"],
        )
        for item in items
    ]
    return terminal.table(header, rows, right=(2, 3, 4, 5))
