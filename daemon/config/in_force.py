"""Owns whether config.toml still says what a daemon runs by: it is read once, at the start."""

from __future__ import annotations

from ..core.errors import ConfigError
from ..core.system import System
from .files import load_user_config
from .last_valid import IN_FORCE
from .settings import UserConfig


def config_problems(path: str, in_force: UserConfig, system: System) -> tuple[str, ...]:
    """Return in words what is wrong with config.toml now, and whether others are in force. Reads it."""
    try:
        loaded = load_user_config(path, system)
    except ConfigError as error:
        return (f"{error} {IN_FORCE}",)
    if loaded.config == in_force:
        return loaded.warnings
    changed = f"{path} was changed after the daemon started. {IN_FORCE} To change over: foveal restart"
    return (*loaded.warnings, changed)
