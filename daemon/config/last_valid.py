"""Owns the copy of a configuration file as it was last in force, for when the file can't be used any more.

A file that was damaged, or is half edited, must neither keep a daemon from starting nor count as if it had
set nothing: what it closed would be open. Without such a copy there is nothing to go by, and it is an error.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ..core.errors import ConfigError
from ..core.system import System
from .files import C, LoadedConfig, load_user_config
from .settings import UserConfig
from .source import MAX_CONFIG_BYTES

IN_FORCE = "The settings from before are in force."


def load_or_last(
    load: Callable[[str], LoadedConfig[C]], path: str, last: str, system: System
) -> tuple[LoadedConfig[C], str]:
    """Return a configuration, and why that of the copy at `last` is used, or "".

    `load` reads the file at a path. A copy is made of each that could be used, an empty one where there is
    none. Raises `ConfigError` where neither can be used.
    """
    try:
        loaded = load(path)
    except ConfigError as error:
        try:
            kept = load(last)
        except ConfigError:
            raise error from None
        if kept.stamp is None:
            raise
        # The stamp is that of another file: this one is read again when it changes.
        return replace(kept, warnings=(), stamp=None), f"{error} {IN_FORCE}"
    _keep(path, last, system)
    return loaded, ""


def _keep(path: str, last: str, system: System) -> None:
    """Copy a file unless it was copied before. What can't be kept now is kept the next time."""
    data, former = _content(path, system), _content(last, system)
    if data is not None and data != former:
        try:
            system.write_atomic(last, data)
        except OSError:
            return


def _content(path: str, system: System) -> bytes | None:
    """Return what a file holds, nothing where there is none; None for one that can't be read."""
    try:
        return system.read(path, MAX_CONFIG_BYTES)[0]
    except FileNotFoundError:
        return b""
    except OSError:
        return None


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
