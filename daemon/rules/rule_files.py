"""The files of a project that rules come from: they are shown as rules or not at all."""

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


def rule_files(root: str, rules: RuleSet, removed: Collection[Item]) -> RuleFiles:
    """Return the files that the rules of a project come from, with imported ones.

    An AGENTS.md beside an AGENTS.override.md counts, though no agent reads it.
    """
    inside = os.path.join(root, "")
    paths = {path[len(inside) :] for path in rules.sources if path.startswith(inside)}
    paths |= {path.replace(_OVERRIDE, "AGENTS.md") for path in paths if path.endswith(_OVERRIDE)}
    return RuleFiles(frozenset({*paths, CONFIGURED}), tuple(item for item in removed if item.type == "rule"))
