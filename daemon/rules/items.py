"""Owns the item: a rule, reference or tool with an include mode. Knows no session and no scope."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..core.system import Stamp

ItemType = Literal["rule", "reference", "tool"]
IncludeMode = Literal["always", "manual", "agent", "glob"]


class Item(Struct, frozen=True):
    """A rule, reference or tool as it exists at the agent level.

    `name` is unique within its type, a tool's within its server: for an instruction file its path relative
    to the root, or with `~/` where it lies in the user's home. `source` is the absolute path it came from, or
    what whoever put it said, `line` its first line there. `globs` are POSIX patterns relative to the project
    root, for the mode `glob`. Items are sorted by `priority_level`, from 100 to 999, the lowest first.
    `text` is what is shown of a rule or a reference, and the JSON schema of a tool's input where it has one.
    """

    type: ItemType
    name: str
    include: IncludeMode
    text: str
    source: str
    line: int = 1
    description: str = ""
    globs: tuple[str, ...] = ()
    priority_level: int = 500
    stamp: Stamp | None = None
    """Of the source file when it was read, so that a reader can tell that it changed since."""
    server_name: str = ""
    """Of a tool: the MCP server that offers it. Empty for rules and references."""
    parts: tuple[str, ...] = ()
    """Of an instruction file: the files that its text was read from, with those that it imports, as they
    really lie, absolute and sorted."""
