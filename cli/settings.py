"""The settings of one run: the socket and the folder that were named, and paths as they are typed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from .errors import CliError


@dataclass(slots=True)
class Settings:
    """The settings of one run: the socket and the folder that the user named, and the environment, read
    once."""

    socket: str | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: str | None = None

    @property
    def named_socket(self) -> str | None:
        """The socket that the user named by option or variable, absolute; None where the default applies."""
        named = self.socket or self.environ.get("FOVEAL_SOCKET")
        return os.path.abspath(named) if named else None


def settings_of(context: click.Context) -> Settings:
    """Return the settings of this run."""
    return context.ensure_object(Settings)


def current_folder() -> str:
    """Return the folder that --cwd names in place of the current one, else that. Raises `CliError` where it
    is gone."""
    context = click.get_current_context(silent=True)
    if context is not None and (named := settings_of(context).folder):
        return named
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise CliError("the current folder doesn't exist any more", "cd to a folder that exists") from error


def absolute(path: str) -> str:
    """Make a path absolute from the current folder; the daemon resolves symlinks and `..`."""
    return path if os.path.isabs(path) else os.path.join(current_folder(), path)


def locate(given: str, folders: Sequence[str]) -> str:
    """Return a path, glob or node id (`path#symbol`) as the daemon takes it.

    It becomes absolute when it exists below one of the folders, the first that has it, or when it begins
    with `./` or `../`. Of a glob the part before its first wildcard must exist. What exists nowhere stays as
    it is: the daemon takes it relative to the project's root.
    """
    if not given or os.path.isabs(given):
        return given
    if given.split("/", 1)[0] in {".", ".."}:
        return os.path.join(folders[0], given)
    for part in dict.fromkeys((given, given.partition("#")[0])):  # a file's own name may hold the mark
        for folder in folders:
            if part and os.path.lexists(os.path.join(folder, part)):
                return os.path.join(folder, given)
    if wildcard := re.search(r"[*?\[{]", given):
        fixed = given[: wildcard.start()].rpartition("/")[0]
        for folder in folders:
            if os.path.isdir(os.path.join(folder, fixed)):
                return os.path.join(folder, given)
    return given


def is_inside(folder: str, root: str) -> bool:
    """Whether a folder is a root or lies below it."""
    return f"{folder.rstrip('/')}/".startswith(f"{root.rstrip('/')}/")


def seen_from(folder: str, root: str, path: str) -> str:
    """Return a project's path as a person in a folder opens it: relative below the root or above it. One in a
    linked project begins with `../`."""
    full = os.path.normpath(os.path.join(root, path))
    return os.path.relpath(full, folder) if is_inside(root, folder) or is_inside(folder, root) else full
