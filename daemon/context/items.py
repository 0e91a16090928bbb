"""Owns the item: a rule, reference or tool with an include mode. Knows no session and no scope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..system import Stamp

ItemType = Literal["rule", "reference", "tool"]
IncludeMode = Literal["always", "manual", "agent", "glob"]


@dataclass(frozen=True, slots=True)
class Item:
    """A rule, reference or tool as it exists at the agent level.

    `name` is unique within its type: for an instruction file its path relative to the root, or with `~/`
    where it lies in the user's home. `source` is the absolute path it came from, `line` its first line
    there. `globs` are POSIX patterns relative to the project root, for the mode `glob`.
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
