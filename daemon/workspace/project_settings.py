"""The settings in a project's own files: foveal.toml, the trusted files, and the instruction files."""

from __future__ import annotations

import asyncio
import os

from ..config.files import LoadedConfig, load_or_last, load_project_config
from ..config.settings import ProjectConfig, UserConfig
from ..core.system import Stamp, System, stamps_hold
from ..core.zone import stamp_now
from ..privacy.trust import NOTHING_TRUSTED, Trusted
from ..rules.agent_items import AgentItems
from ..rules.instruction_files import RuleSet

CONFIG_NAME = "foveal.toml"
LAST_CONFIG = "foveal.last.toml"


class ProjectSettings:
    """The settings of one project, and whether they are up to date. On the event loop only."""

    def __init__(
        self, root: str, loaded: LoadedConfig[ProjectConfig], stamp: Stamp | None, system: System
    ) -> None:
        self.config = loaded.config
        self.warnings = loaded.warnings
        self.trusted: Trusted = NOTHING_TRUSTED
        self.stamp = stamp
        """The stamp of foveal.toml before it was read; None if there was no file."""
        self.stale = False
        """Whether foveal.toml may have changed, whatever its stamp."""
        self.generation = 0
        """Changes with the settings, their warnings and what is trusted."""
        self.lock = asyncio.Lock()
        """Held while the settings are read again."""
        self._path = os.path.join(root, CONFIG_NAME)
        self._system = system

    def hold(self) -> bool:
        """Whether foveal.toml is still the file that was read, by its stamp."""
        return not self.stale and stamps_hold(self._system.lstat, ((self._path, self.stamp),))

    def stamp_now(self) -> Stamp | None:
        """Return the stamp of foveal.toml on the disk; None if there is no file."""
        return stamp_now(self._system, self._path)

    def set(self, loaded: LoadedConfig[ProjectConfig]) -> None:
        """Replace the settings after they were read again."""
        if (loaded.config, loaded.warnings) != (self.config, self.warnings):
            self.config, self.warnings = loaded.config, loaded.warnings
            self.generation += 1

    def set_trusted(self, trusted: Trusted) -> None:
        """Replace the trusted files."""
        if trusted != self.trusted:
            self.trusted = trusted
            self.generation += 1


def read_settings(
    root: str, folder: str, user: UserConfig, system: System
) -> tuple[LoadedConfig[ProjectConfig], str]:
    """Read foveal.toml, or, if it can't be used, the copy of the last valid one; see `load_or_last`."""
    return load_or_last(
        lambda path: load_project_config(root, user, system, path),
        os.path.join(root, CONFIG_NAME),
        os.path.join(folder, LAST_CONFIG),
        system,
    )


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
