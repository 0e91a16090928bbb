"""The settings in force in an open project: its foveal.toml, and which of its files a person trusts."""

from __future__ import annotations

import asyncio
import os

from ..config.files import LoadedConfig, load_project_config
from ..config.last_valid import load_or_last
from ..config.settings import ProjectConfig, UserConfig
from ..core.system import Stamp, System, stamps_hold
from ..privacy.trust import NOTHING_TRUSTED, Trusted
from ..rules.zone import stamp_now

CONFIG_NAME = "foveal.toml"
LAST_CONFIG = "foveal.last.toml"


class ProjectSettings:
    """The settings of one project, and whether they are those on the disk. On the event loop only."""

    def __init__(
        self, root: str, loaded: LoadedConfig[ProjectConfig], stamp: Stamp | None, system: System
    ) -> None:
        self.config = loaded.config
        self.warnings = loaded.warnings
        self.trusted: Trusted = NOTHING_TRUSTED
        self.stamp = stamp
        """The stamp of foveal.toml before it was read; None where there was none."""
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
        """Return the stamp of foveal.toml on the disk; None where there is none."""
        return stamp_now(self._system, self._path)

    def set(self, loaded: LoadedConfig[ProjectConfig]) -> None:
        """Replace the settings by those that were read again."""
        if (loaded.config, loaded.warnings) != (self.config, self.warnings):
            self.config, self.warnings = loaded.config, loaded.warnings
            self.generation += 1

    def set_trusted(self, trusted: Trusted) -> None:
        """Replace what a person trusts."""
        if trusted != self.trusted:
            self.trusted = trusted
            self.generation += 1


def read_settings(
    root: str, folder: str, user: UserConfig, system: System
) -> tuple[LoadedConfig[ProjectConfig], str]:
    """Read foveal.toml, or where it can't be used the copy of the last one that could; see `load_or_last`."""
    return load_or_last(
        lambda path: load_project_config(root, user, system, path),
        os.path.join(root, CONFIG_NAME),
        os.path.join(folder, LAST_CONFIG),
        system,
    )
