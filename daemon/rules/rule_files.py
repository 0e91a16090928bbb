"""Owns which of a project's files are rules' files: what is shown as a rule or not at all. Reads no file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from msgspec import Struct

from .instruction_files import RuleSet, is_instruction_path
from .items import Item

CONFIGURED = "foveal.toml"
"""Holds the texts of rules too."""

_OVERRIDE = "AGENTS.override.md"
_SKILL = re.compile(r"(?:^|/)\.(?:agents|claude)/skills/")
"""What lies in a skill's folder beside its SKILL.md is for the agent to find when it needs it."""


class RuleFiles(Struct, frozen=True):
    """The files of a project that rules come from, by path relative to the root.

    `removed` are among them: those of rules that a person took out of the session.
    """

    paths: frozenset[str]
    removed: tuple[Item, ...] = ()

    def __contains__(self, path: str) -> bool:
        """Tell whether a file is a rule's: it was read as one, or would have been by its name.

        By its name, since those that were refused, or were too many, are no documents either.
        """
        if path in self.paths:
            return True
        if not is_instruction_path(path):
            return False
        return path.endswith("/SKILL.md") or _SKILL.search(path) is None

    def is_removed(self, root: str, path: str, text: str) -> bool:
        """Tell whether a file of rules is, or holds the text of, a rule that was removed from the session.

        The text counts too: of several files with the same text one stands for all as the rule.
        """
        if not self.removed or path not in self:
            return False
        full = os.path.join(root, path)
        return any(item.source == full or (item.text and item.text in text) for item in self.removed)


def rule_files(root: str, rules: RuleSet, removed: Collection[Item]) -> RuleFiles:
    """Return the files that the rules of a project come from, those that they import included.

    An AGENTS.md beside an AGENTS.override.md counts, though nobody reads it.
    """
    inside = os.path.join(root, "")
    paths = {path[len(inside) :] for path in rules.sources if path.startswith(inside)}
    paths |= {path.replace(_OVERRIDE, "AGENTS.md") for path in paths if path.endswith(_OVERRIDE)}
    return RuleFiles(frozenset({*paths, CONFIGURED}), tuple(item for item in removed if item.type == "rule"))
