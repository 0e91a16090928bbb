"""Owns what an install or uninstall would change, before anything is, and then its doing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .backups import add_backup, backup_paths, read_backup
from .errors import InstallError
from .places import HostFiles
from .settings_file import SettingsFile, check_unchanged, delete, read, write
from .target import Target


@dataclass(frozen=True, slots=True)
class Change:
    """A file that becomes another: `after` is None where it goes, `spare` are copies needless then."""

    target: Target
    found: SettingsFile
    after: bytes | None
    keeps_copy: bool
    spare: tuple[str, ...] = ()


def plan_install(files: HostFiles, *, mcp: bool, plugin: bool) -> tuple[Change, ...]:
    """Return the changes that register us, none where all is as it should be. Raises `InstallError`.

    As a plugin we are taken out of the settings, and the other way round, so that nothing runs twice.
    """
    if plugin:
        return (*_registrations(files.plugin), *_removals((*files.hooks, *files.mcp)))
    wanted = (*files.hooks, *files.mcp) if mcp else files.hooks
    return (*_registrations(wanted), *_removals(files.plugin))


def plan_uninstall(files: HostFiles) -> tuple[Change, ...]:
    """Return the changes that take us out of all files of a host. Raises `InstallError`."""
    return _removals(files.all())


def apply(changes: Sequence[Change]) -> tuple[str, ...]:
    """Do the changes; return the paths of the copies that were made. Raises `InstallError`, `OSError`.

    All files are looked at before the first is written; each is replaced whole. What was done stays done if
    a later one fails: running the command again does the rest.
    """
    for change in changes:
        check_unchanged(change.found)
    copies = []
    for change in changes:
        if change.keeps_copy:
            copies.append(add_backup(change.found))
        if change.after is None:
            remove_copies(change.spare)
            delete(change.found, change.target.folders)
        else:
            write(change.found, change.after, executable=change.target.executable)
            remove_copies(change.spare)
    return tuple(copies)


def remove_copies(paths: Iterable[str]) -> None:
    """Delete copies that say nothing more."""
    for path in paths:
        os.unlink(path)


def _registrations(targets: Iterable[Target]) -> tuple[Change, ...]:
    changes = []
    for target in _joined(targets):
        found = read(target.path, target.within)
        after = target.registered(found.data)
        if after == found.data:
            continue
        if target.executable and found.data is not None and not found.mode & 0o100:
            raise InstallError(f"{target.path} isn't executable, so git skips it", f"chmod +x {target.path}")
        changes.append(Change(target, found, after, found.data is not None and not target.is_made))
    return tuple(changes)


def _removals(targets: Iterable[Target]) -> tuple[Change, ...]:
    changes = []
    for target in _joined(targets):
        found = read(target.path, target.within)
        if found.data is not None and target.holds(found.data):
            changes.append(_removal(target, found, found.data))
    return tuple(changes)


def _removal(target: Target, found: SettingsFile, data: bytes) -> Change:
    """Return the change to the file as it was before us where a copy proves it, else to what is left."""
    copies = [(path, kept) for path in backup_paths(found.place) if (kept := read_backup(path)) is not None]
    before = [(path, kept) for path, kept in copies if target.restored(data, kept)]
    older = [path for path, kept in copies if target.is_older(data, kept)]
    if before:
        spare = (*(path for path, _ in before), *older)
        return Change(target, found, before[0][1], keeps_copy=False, spare=spare)
    after = target.stripped(data)
    # Nothing is lost where a file goes that was made for us, nor where only older registrations were copied.
    lossless = target.is_made or after is None
    return Change(target, found, after, keeps_copy=not lossless, spare=tuple(older) if lossless else ())


def _joined(targets: Iterable[Target]) -> list[Target]:
    """Return targets with one for each file: a host may keep hooks and servers in the same."""
    joined: dict[str, Target] = {}
    for target in targets:
        first = joined.get(target.path)
        joined[target.path] = replace(first, parts=(*first.parts, *target.parts)) if first else target
    return list(joined.values())
