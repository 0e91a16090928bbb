"""Owns the servers of tools as the page of items lists them: approved or not, their mode, their tools."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server with the file that configures it. `include` is the mode of its tools but for the `own` ones
    that have their own, and empty where none is known; `problem` says why its tools aren't."""

    name: str
    path: str
    line: int
    tools: int
    include: str
    own: int
    problem: str


@dataclass(frozen=True, slots=True)
class Unapproved:
    """A file whose servers are not run, since nobody approved it as it is."""

    path: str
    servers: tuple[str, ...]
    problem: str
    command: str


def server_rows(files: Iterable[Mapping[str, Any]], items: Iterable[Mapping[str, Any]]) -> list[ServerRow]:
    """Return the approved servers, and those whose tools somebody put, by name."""
    tools: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        if item["type"] == "tool":
            tools.setdefault(item["server_name"], []).append(item)
    places = {
        server["name"]: (file["path"], server)
        for file in reversed(list(files))  # of several with one name the first counts
        if file["approved"]
        for server in file["servers"]
    }
    return [
        _row(name, *places.get(name, ("", {})), tools.get(name, [])) for name in sorted({*tools, *places})
    ]


def unapproved(files: Iterable[Mapping[str, Any]], root: str) -> list[Unapproved]:
    """Return the files that wait for somebody's approval, with the command that asks for it."""
    return [
        Unapproved(
            file["path"],
            tuple(server["name"] for server in file["servers"]),
            file["problem"],
            shlex.join(["foveal", "tools", "approve", file["path"], "--cwd", root]),
        )
        for file in files
        if not file["approved"]
    ]


def _row(name: str, path: str, server: Mapping[str, Any], tools: list[Mapping[str, Any]]) -> ServerRow:
    return ServerRow(
        name,
        path,
        server.get("line", 1),
        len(tools),
        tools[0]["server_include"] if tools else "",
        sum("own_include" in tool for tool in tools),
        _problem(server, tools),
    )


def _problem(server: Mapping[str, Any], tools: list[Mapping[str, Any]]) -> str:
    if not server:
        return ""
    if server["left_out"] or server["problem"]:
        return str(server["left_out"] or server["problem"])
    return "" if tools or server["listed_at"] else "its tools were not listed yet; run: foveal tools list"
