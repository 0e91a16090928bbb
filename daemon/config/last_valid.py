"""Copies of configuration files as they were last valid, used while a file is invalid.

A damaged or half-edited file must neither keep a daemon from starting nor count as empty: it would open
what it was to close. Without such a copy an invalid file is an error.
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
    """Return a configuration, and why the copy at `last` is used, or "".

    `load` reads the file at a path. Each valid file is copied, an absent one as an empty copy. Raises
    `ConfigError` if neither can be used.
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
    """Copy a file unless it was copied before. A failed copy is retried the next time."""
    data, former = _content(path, system), _content(last, system)
    if data is not None and data != former:
        try:
            system.write_atomic(last, data)
        except OSError:
            return


def _content(path: str, system: System) -> bytes | None:
    """Return the content of a file, empty if there is none; None if it can't be read."""
    try:
        return system.read(path, MAX_CONFIG_BYTES)[0]
    except FileNotFoundError:
        return b""
    except OSError:
        return None


def config_problems(path: str, in_force: UserConfig, system: System) -> tuple[str, ...]:
    """Return what is wrong with config.toml now, in words, and whether the daemon runs with other
    settings. Reads the file."""
    try:
        loaded = load_user_config(path, system)
    except ConfigError as error:
        return (f"{error} {IN_FORCE}",)
    if loaded.config == in_force:
        return loaded.warnings
    changed = f"{path} was changed after the daemon started. {IN_FORCE} To change over: foveal restart"
    return (*loaded.warnings, changed)
