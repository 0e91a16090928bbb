"""Owns the tools of servers as they were listed: their records, and a file for each server's configuration.

A list stays good until its server's definition changes or a person asks anew; nothing is listed here.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from ..core.errors import StateError
from ..core.quarantine import clear_file, set_aside
from ..core.system import System
from .item_texts import has_harmful
from .items import Item
from .server_definition import McpServer

log = logging.getLogger(__name__)

VERSION = 1
MAX_TOOLS = 512
"""Of one server; models get worse with some dozens."""
MAX_NAME_CHARACTERS = 128
"""What MCP allows a tool's name."""
MAX_DESCRIPTION_CHARACTERS = 2_048
"""Claude Code cuts descriptions there too."""
MAX_SCHEMA_CHARACTERS = 65_536
MAX_LISTS = 300
"""Files that are kept; those unused for longest go first."""
MAX_BYTES = 64 * 1024 * 1024
"""Of one file: what `MAX_TOOLS` of the largest tools take, escaped."""


class ListedTool(Struct, frozen=True):
    """A tool as its server describes it; `input_schema` is JSON, empty for one that is too large."""

    name: str
    description: str = ""
    input_schema: str = ""


class ToolList(Struct, frozen=True):
    """What came of listing a server. With a `problem` the tools are those of the last time that it went well.

    `listed_at` is ISO 8601 UTC. `left_out` counts tools above the limits or whose names can't be used.
    """

    tools: tuple[ListedTool, ...] = ()
    problem: str = ""
    left_out: int = 0
    listed_at: str = ""


class ToolLists:
    """The lists in a folder, made if there is none. May be used from several threads."""

    def __init__(self, folder: str, system: System) -> None:
        self._folder = folder
        self._system = system

    def load(self, server: McpServer) -> ToolList | None:
        """Return a server's list, None if it wasn't listed as it is configured now.

        A file that can't be used counts as none: the tools are listed again.
        """
        path = self._path(server)
        try:
            if clear_file(path, self._system):
                return None
            data, _ = self._system.read(path, MAX_BYTES + 1)
            content = json.loads(data) if len(data) <= MAX_BYTES else {}
            if content["version"] != VERSION:
                return None
            return list_in(content)
        except OSError:
            return None
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged
            log.warning("the list of tools in %s can't be used (%s): they are listed anew", path, error)
            with suppress(OSError):
                set_aside(path, self._system)
            return None

    def store(self, server: McpServer, found: ToolList) -> ToolList:
        """Keep what came of listing a server, with the tools known before if it failed; returns that.

        Raises `StateError`.
        """
        if found.problem and (known := self.load(server)) is not None:
            found = ToolList(known.tools, found.problem, known.left_out, found.listed_at)
        content = {"version": VERSION, "server": server.name, **to_builtins(found)}
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._system.write_atomic(self._path(server), json.dumps(content).encode())
            self._prune()
        except OSError as error:
            raise StateError(
                f"The list of tools {self._path(server)} can't be written: {error.strerror or error}."
            ) from error
        return found

    def items(self, servers: Iterable[McpServer]) -> tuple[Item, ...]:
        """Return the known tools of servers as items; which servers may be listed is the caller's to say."""
        items: list[Item] = []
        for server in servers:
            known = self.load(server)
            items += () if known is None else tool_items(server, known)
        return tuple(items)

    def _path(self, server: McpServer) -> str:
        return os.path.join(self._folder, f"{server.digest}.json")

    def _prune(self) -> None:
        with self._system.scandir(self._folder) as entries:
            paths = [entry.path for entry in entries if entry.name.endswith(".json")]
        if len(paths) > MAX_LISTS:
            paths.sort(key=lambda path: (self._system.stat(path).st_mtime_ns, path))
            for path in paths[: len(paths) - MAX_LISTS]:
                os.unlink(path)


def tool_items(server: McpServer, found: ToolList) -> tuple[Item, ...]:
    """Return a server's tools as items of mode `always`, without those that its configuration forbids."""
    return tuple(
        Item(
            type="tool",
            name=tool.name,
            include="always",
            text=tool.input_schema,
            source=server.source,
            line=server.line,
            description=tool.description,
            server_name=server.name,
        )
        for tool in found.tools
        if server.permits(tool.name)
    )


def list_in(fields: Mapping[str, Any]) -> ToolList:
    """Read a list out of a map. Raises `KeyError`, `TypeError` or `ValueError` for what is none."""
    tools = tuple(
        ListedTool(each["name"], each["description"], each["input_schema"]) for each in fields["tools"]
    )
    for tool in tools:
        if not all(isinstance(value, str) for value in asdict(tool).values()) or not is_name(tool.name):
            raise ValueError("a tool has something else than texts")
    problem, listed_at, left_out = fields["problem"], fields.get("listed_at", ""), fields["left_out"]
    if not isinstance(problem, str) or not isinstance(listed_at, str) or not isinstance(left_out, int):
        raise TypeError("a field is of a wrong type")
    return ToolList(tools[:MAX_TOOLS], problem, left_out, listed_at)


def is_name(name: str) -> bool:
    """Tell whether a tool may have this name."""
    return 0 < len(name.strip()) <= MAX_NAME_CHARACTERS and "\n" not in name and not has_harmful(name)
