"""Owns whether config.toml still says what a daemon runs by: it is read once, at the start."""

from __future__ import annotations

from .config import UserConfig
from .config_file import load_user_config
from .config_last import IN_FORCE
from .errors import ConfigError
from .system import System


def config_problem(path: str, in_force: UserConfig, system: System) -> str:
    """Return in words why the settings of config.toml aren't those in force, "" where they are. Reads it."""
    try:
        loaded = load_user_config(path, system)
    except ConfigError as error:
        return f"{error} {IN_FORCE}"
    if loaded.config == in_force:
        return ""
    return f"{path} was changed after the daemon started. {IN_FORCE} To change over: foveal restart"
