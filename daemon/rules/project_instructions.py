"""The instructions of one project and the items made of them, and whether they are up to date."""

from __future__ import annotations

from typing import Protocol

from ..core.system import System
from ..project.tree import Tree
from .agent_items import AgentItems
from .instruction_files import RuleSet

CHECK_S = 0.5
"""Seconds between two checks of all places where an instruction file could have appeared. Known files are
checked every time, and the watcher reports new ones in the project, so this matters only for the user's own
files."""


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
        """Whether all places where an instruction file could have appeared are due for a check."""
        return now - self._checked >= CHECK_S

    def hold(self, *, due: bool) -> bool:
        """Whether the rules are up to date: checks the known files, and with `due` all places for new ones.

        Takes a few stats.
        """
        if self.stale:
            return False
        return self.rules.unchanged(self._system) if due else self.rules.texts_unchanged(self._system)

    def checked(self, now: float) -> None:
        """Note that all places were checked and nothing had changed, at this second of the event loop's
        time."""
        self._checked = now

    def expect_changes(self) -> None:
        """Mark the rules as outdated, so that they are discovered again: an instruction file changed."""
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


class ItemOwner(Protocol):
    """A project with items. `folder` is its part of the state folder."""

    @property
    def root(self) -> str:
        """The project's folder."""

    @property
    def folder(self) -> str:
        """The folder of what is kept about the project."""

    @property
    def tree(self) -> Tree:
        """Its files."""

    @property
    def instructions(self) -> ProjectInstructions:
        """Its instruction files, and all its items as merged last."""

    def set_problem(self, cause: str, problem: str) -> None:
        """Set the problem with this cause; "" means that it is solved."""
