"""The instruction files of an open project, the items that they give, and whether they are still valid."""

from __future__ import annotations

from ..core.system import System
from ..rules.agent_items import AgentItems
from ..rules.instruction_files import RuleSet

CHECK_S = 0.5
"""Seconds between two looks into all places where an instruction file could have appeared. Files that were
found before are looked at every time; the watcher reports new ones in the project, so this is for the user's
own."""


class ProjectInstructions:
    """The instructions of one project. On the event loop only."""

    def __init__(self, rules: RuleSet, system: System) -> None:
        self.rules = rules
        self.items = AgentItems()
        """The items of `rules` and of all other sources, as merged last."""
        self.stale = False
        """Whether instruction files may have changed, whatever their stamps."""
        self.generation = 0
        """Changes with the rules and the items, and when they may have changed."""
        self._system = system
        self._checked = 0.0

    def is_check_due(self, now: float) -> bool:
        """Whether all places where an instruction file could have appeared are to be looked at again."""
        return now - self._checked >= CHECK_S

    def hold(self, now: float, *, due: bool) -> bool:
        """Whether the rules are those on the disk: the files found, and with `due` all places.

        Some stats; `now` is the event loop's time in seconds.
        """
        if self.stale:
            return False
        if not due:
            return self.rules.texts_unchanged(self._system)
        self._checked = now
        return self.rules.unchanged(self._system)

    def expect_changes(self) -> None:
        """Have the rules discovered again: an instruction file changed."""
        self.stale = True
        self.generation += 1

    def set_rules(self, rules: RuleSet) -> None:
        """Replace the rules by those that were discovered again."""
        if rules != self.rules:
            self.rules = rules
            self.generation += 1

    def set_items(self, items: AgentItems) -> None:
        """Replace the items by those that were merged again."""
        if (items.items, items.warnings) != (self.items.items, self.items.warnings):
            self.generation += 1
        self.items = items
