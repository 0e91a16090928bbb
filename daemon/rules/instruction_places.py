"""The names and places of instruction files of all hosts, and which of a project's files are such files.

To add a name, add it to the tables below.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from msgspec import Struct

from .items import Item

MAX_DEPTH = 8
"""Maximum depth of folders below a folder of rules."""

Dialect = Literal["plain", "claude", "cursor", "copilot", "windsurf", "cline", "kiro", "skill"]


def is_instruction_path(relative_path: str) -> bool:
    """Tell whether creating, changing or deleting a path of the project could change the rules.

    Also true for the folders that hold instruction files, since a watcher may name only those. Files that
    others import are in the sources of the rules; if an ordinary folder is removed, its files are gone from
    the names as well.
    """
    return _INSTRUCTION_PATH.search(relative_path) is not None


class RulePlace(Struct, frozen=True):
    """Where instructions lie, relative to the folder that they hold for.

    Without `suffix`, `path` is a file; else a folder, whose files with that suffix count down to `depth`
    folders below it.
    """

    path: str
    dialect: Dialect = "plain"
    suffix: str = ""
    depth: int = 0
    nested: bool = True
    imports: bool = False


PROJECT_PLACES = (
    RulePlace(".agents/skills", "skill", "/SKILL.md", depth=1),
    RulePlace(".claude/AGENTS.md"),
    RulePlace(".claude/CLAUDE.md", imports=True),
    RulePlace(".claude/rules", "claude", ".md", depth=MAX_DEPTH),
    RulePlace(".claude/skills", "skill", "/SKILL.md", depth=1),
    RulePlace(".cline/rules", "cline", ".md", nested=False),
    RulePlace(".clinerules", "cline", nested=False),
    RulePlace(".clinerules", "cline", ".md", nested=False),
    RulePlace(".cursor/rules", "cursor", ".mdc", depth=MAX_DEPTH),
    RulePlace(".cursorrules", nested=False),
    RulePlace(".devin/rules", "windsurf", ".md"),
    RulePlace(".github/copilot-instructions.md"),
    RulePlace(".github/instructions", "copilot", ".instructions.md", depth=MAX_DEPTH),
    RulePlace(".kiro/steering", "kiro", ".md", nested=False),
    RulePlace(".windsurf/rules", "windsurf", ".md"),
    RulePlace(".windsurfrules", nested=False),
    RulePlace("AGENTS.md"),
    RulePlace("AGENTS.override.md"),
    RulePlace("CLAUDE.local.md", imports=True),
    RulePlace("CLAUDE.md", imports=True),
    RulePlace("GEMINI.md", imports=True),
)
"""Sorted so that the longer of two places with the same end comes first."""

USER_PLACES = (
    RulePlace(".agents/skills", "skill", "/SKILL.md", depth=1),
    RulePlace(".claude/CLAUDE.md", imports=True),
    RulePlace(".claude/rules", "claude", ".md", depth=MAX_DEPTH),
    RulePlace(".claude/skills", "skill", "/SKILL.md", depth=1),
    RulePlace(".codeium/windsurf/memories/global_rules.md"),
    RulePlace(".codex/AGENTS.md"),
    RulePlace(".codex/AGENTS.override.md"),
    RulePlace(".copilot/instructions", "copilot", ".instructions.md", depth=MAX_DEPTH),
    RulePlace(".gemini/GEMINI.md", imports=True),
    RulePlace("Documents/Cline/Rules", "cline", ".md"),
)
MANAGED_PLACES = (RulePlace("CLAUDE.md", imports=True),)

_NESTED_PLACES = tuple(place for place in PROJECT_PLACES if place.nested)


def _instruction_path() -> re.Pattern[str]:
    patterns = {re.escape(place.path) + ("(?:/|$)" if place.suffix else "$") for place in PROJECT_PLACES}
    parents = {os.path.dirname(place.path) for place in PROJECT_PLACES}
    patterns |= {f"{re.escape(parent)}$" for parent in parents if parent}
    return re.compile(f"(?:^|/)(?:{'|'.join(sorted(patterns))})")


_INSTRUCTION_PATH = _instruction_path()


def nested_files(names: Iterable[str]) -> Iterator[tuple[str, RulePlace, str]]:
    """Yield the instruction files in subfolders, each with its place and the folder it holds for."""
    for name in names:
        if name.endswith((".md", ".mdc")) and "/" in name and is_instruction_path(name):
            nested = _nested_place(name)
            if nested is not None:
                yield name, *nested


def _nested_place(name: str) -> tuple[RulePlace, str] | None:
    """Return the place that a file's path ends with and what comes before; `None` at the root too.

    What lies at the root was looked up on the disk.
    """
    rooted = f"/{name}"
    for place in _NESTED_PLACES:
        if place.suffix:
            folder, slash, below = rooted.partition(f"/{place.path}/")
            matched = bool(slash) and below.endswith(place.suffix) and below.count("/") <= place.depth
        else:
            folder = rooted.removesuffix(f"/{place.path}")
            matched = folder != rooted
        if matched:
            return (place, folder[1:]) if folder else None
    return None


CONFIGURED = "foveal.toml"
"""Holds the texts of rules too."""

_OVERRIDE = "AGENTS.override.md"
_SKILL = re.compile(r"(?:^|/)\.(?:agents|claude)/skills/")
"""Other files in a skill's folder are for the agent to find when it needs them."""


class RuleFiles(Struct, frozen=True):
    """The files of a project that rules come from, by path relative to the root.

    `removed` are the rules that a person removed from the session.
    """

    paths: frozenset[str]
    removed: tuple[Item, ...] = ()

    def __contains__(self, path: str) -> bool:
        """Tell whether rules come from a file: it was read as a rule, or is one by its name.

        By its name, since files that were refused or too many are no documents either.
        """
        if path in self.paths:
            return True
        if not is_instruction_path(path):
            return False
        return path.endswith("/SKILL.md") or _SKILL.search(path) is None

    def is_removed(self, root: str, path: str, text: str) -> bool:
        """Tell whether a file is, or holds the text of, a rule that was removed from the session.

        The text counts too, since one rule stands for all files with the same text.
        """
        if not self.removed or path not in self:
            return False
        full = os.path.join(root, path)
        return any(item.source == full or (item.text and item.text in text) for item in self.removed)


def rule_files(root: str, sources: Collection[str], removed: Collection[Item]) -> RuleFiles:
    """Return the files that rules come from; `sources` are the absolute paths that were read.

    An AGENTS.md beside an AGENTS.override.md counts, though no agent reads it.
    """
    inside = os.path.join(root, "")
    paths = {path[len(inside) :] for path in sources if path.startswith(inside)}
    paths |= {path.replace(_OVERRIDE, "AGENTS.md") for path in paths if path.endswith(_OVERRIDE)}
    return RuleFiles(frozenset({*paths, CONFIGURED}), tuple(item for item in removed if item.type == "rule"))
