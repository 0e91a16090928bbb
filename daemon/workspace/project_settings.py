"""The settings in a project's own files: foveal.toml, and the trusted files."""

from __future__ import annotations

import asyncio
import os

from ..config.files import LoadedConfig, load_or_last, load_project_config
from ..config.settings import ProjectConfig, UserConfig
from ..core.system import Stamp, System, stamps_hold
from ..core.zone import stamp_now
from ..privacy.trust import NOTHING_TRUSTED, PROJECT_FILE, Trusted

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
        self._path = os.path.join(root, PROJECT_FILE)
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
        os.path.join(root, PROJECT_FILE),
        os.path.join(folder, LAST_CONFIG),
        system,
    )
