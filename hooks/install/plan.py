"""What an install or uninstall changes, planned before anything is written, and then applied."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from .errors import InstallError, UnreadableText
from .settings_file import (
    SettingsFile,
    add_backup,
    backup_paths,
    check_unchanged,
    delete,
    read,
    read_backup,
    write,
)

BOM = "\ufeff"


class TargetPart(Protocol):
    """What we put into a file: our hooks, our MCP server, a block, or the whole text."""

    def register(self, text: str) -> str:
        """Return a text with our part; the text "" stands for no file. Raises `InstallError`."""

    def strip(self, text: str) -> str:
        """Return a text without our part. Raises `InstallError`."""

    def holds(self, text: str) -> bool:
        """Whether a text holds our part. Raises `InstallError`."""

    def entries(self, text: str) -> list[tuple[str, str | None]]:
        """Return (event, program) for each command of ours in a text that holds our part."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file of a host that is to be changed.

    `folders` around it are removed with it if they are empty, of which the outer `shared` belong to other
    programs too; its links may not lead out of `within`.
    `is_made` means that the whole file is ours, so no copy of it is kept.
    """

    path: str
    parts: Sequence[TargetPart]
    folders: int
    within: str | None = None
    encoding: str = "utf-8"
    executable: bool = False
    shared: int = 0
    is_made: bool = False

    def registered(self, data: bytes | None) -> bytes:
        """Return the file with us. Raises `InstallError` that names the file."""
        bom, text = self._decode(data)
        with self._named():
            for part in self.parts:
                text = part.register(text)
        return self._encode(bom, text)

    def stripped(self, data: bytes | None) -> bytes | None:
        """Return the file without us, None to remove it. Raises `InstallError` that names the file.

        If nothing is left but what a file made for us would hold, the file is removed.
        """
        if data is None or not self.holds(data):
            return data
        left = self._stripped(data)
        return None if left == self._stripped(self.registered(None)) else left

    def was_before(self, data: bytes, kept: bytes) -> bool:
        """Whether a copy is the file as it was before us: equal to it but for our part.

        Registering in the copy and removing us again must give the file without us.
        """
        try:
            return not self.holds(kept) and self._stripped(self.registered(kept)) == self._stripped(data)
        except InstallError:  # an unreadable copy isn't
            return False

    def holds(self, data: bytes | None) -> bool:
        """Whether any part of us is in a file. Raises `InstallError` that names the file."""
        if data is None or self.is_others(data):
            return False
        _, text = self._decode(data)
        with self._named():
            return any(part.holds(text) for part in self.parts)

    def is_others(self, data: bytes | None) -> bool:
        """Whether a script of somebody else, in any encoding, is where ours would be: it stays there."""
        if not (self.is_made and self.executable and data and data.strip()):
            return False
        return not any(part.holds(data.decode(errors="replace")) for part in self.parts)

    def _stripped(self, data: bytes) -> bytes:
        bom, text = self._decode(data)
        with self._named():
            for part in self.parts:
                text = part.strip(text)
        return self._encode(bom, text)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Put the file's path in front of an error."""
        try:
            yield
        except UnreadableText as error:
            raise InstallError(f"{self.path}, {error}", error.hint) from error
        except InstallError as error:
            raise InstallError(f"{self.path}: {error}", error.hint) from error

    def _decode(self, data: bytes | None) -> tuple[str, str]:
        """Return BOM and text. Raises `InstallError` for bytes in another encoding."""
        try:
            text = (data or b"").decode(self.encoding)
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise InstallError(
                f"{self.path}, line {line}: it isn't UTF-8", "save it as UTF-8 first"
            ) from error
        bom = BOM if text.startswith(BOM) else ""
        return bom, text.removeprefix(bom)

    def _encode(self, bom: str, text: str) -> bytes:
        return f"{bom}{text}".encode(self.encoding)


@dataclass(frozen=True, slots=True)
class HostFiles:
    """The files of a host at a level: its hooks, its list of MCP servers, and for Claude Code the plugin."""

    hooks: tuple[Target, ...]
    mcp: tuple[Target, ...]
    plugin: tuple[Target, ...] = ()

    def all(self) -> tuple[Target, ...]:
        """Return all files."""
        return (*self.hooks, *self.mcp, *self.plugin)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file: `after` is None to delete it; `spare` are copies that are deleted with it."""

    target: Target
    found: SettingsFile
    after: bytes | None
    keeps_copy: bool
    spare: tuple[str, ...] = ()


def plan_install(files: HostFiles, *, mcp: bool, plugin: bool) -> tuple[Change, ...]:
    """Return the changes that register us, none if everything is registered. Raises `InstallError`.

    Registering the plugin removes us from the settings, and the other way round, so that nothing runs twice.
    """
    if plugin:
        return (*_registrations(files.plugin), *_removals((*files.hooks, *files.mcp)))
    wanted = (*files.hooks, *files.mcp) if mcp else files.hooks
    return (*_registrations(wanted), *_removals(files.plugin))


def others_scripts(files: HostFiles) -> tuple[str, ...]:
    """Return the scripts of somebody else for whose events we aren't registered. Raises `InstallError`."""
    return tuple(
        target.path for target in files.hooks if target.is_others(read(target.path, target.within).data)
    )


def plan_uninstall(files: HostFiles) -> tuple[Change, ...]:
    """Return the changes that remove us from all files of a host. Raises `InstallError`."""
    return _removals(files.all())


def apply(changes: Sequence[Change]) -> tuple[str, ...]:
    """Apply the changes; return the paths of the copies made. Raises `InstallError`, `OSError`.

    All files are checked before the first is written. If a later one fails, the earlier changes stay: running
    the command again does the rest.
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


def copies_left(files: HostFiles) -> tuple[str, ...]:
    """Return the copies of earlier settings that lie beside a host's files."""
    places = dict.fromkeys(read(target.path, target.within).place for target in _joined(files.all()))
    return tuple(path for place in places for path in backup_paths(place))


def remove_copies(paths: Iterable[str]) -> None:
    """Delete copies that are no longer needed."""
    for path in paths:
        os.unlink(path)


def _registrations(targets: Iterable[Target]) -> tuple[Change, ...]:
    changes = []
    for target in _joined(targets):
        found = read(target.path, target.within)
        if target.is_others(found.data):
            continue
        after = target.registered(found.data)
        if after == found.data:
            continue
        if target.executable and found.data is not None and not found.mode & 0o100:
            raise InstallError(f"{target.path} isn't executable, so it is skipped", f"chmod +x {target.path}")
        # What held us before has its copy, and we take ourselves out of it without one.
        is_new = found.data is not None and not target.is_made and not target.holds(found.data)
        changes.append(Change(target, found, after, is_new))
    return tuple(changes)


def _removals(targets: Iterable[Target]) -> tuple[Change, ...]:
    changes = []
    for target in _joined(targets):
        found = read(target.path, target.within)
        if found.data is not None and target.holds(found.data):
            changes.append(_removal(target, found, found.data))
    return tuple(changes)


def _removal(target: Target, found: SettingsFile, data: bytes) -> Change:
    """Return the change to the file as it was before us if a copy proves it, else to the rest."""
    after, is_lossless = target.stripped(data), target.is_made
    copies = {path: kept for path in backup_paths(found.place) if (kept := read_backup(path)) is not None}
    spare = [path for path, kept in copies.items() if target.was_before(data, kept)]
    if spare:
        after, is_lossless = copies[spare[0]], True
    return Change(target, found, after, not is_lossless and after is not None, tuple(spare))


def _joined(targets: Iterable[Target]) -> list[Target]:
    """Return one target a file: a host may keep hooks and servers in the same."""
    joined: dict[str, Target] = {}
    for target in targets:
        first = joined.get(target.path)
        joined[target.path] = replace(first, parts=(*first.parts, *target.parts)) if first else target
    return list(joined.values())
