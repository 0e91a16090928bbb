"""The sessions' files: a meta.json each, its layout as JSON, atomic replacement, and quarantine of damaged
ones."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Mapping

from msgspec import Struct, to_builtins

from ..core.errors import FovealError, NotFound, StateError, TooLarge, refuse_newer
from ..core.parameters import read_request
from ..core.system import Stamp, System, stamp_of
from ..rules.items import IncludeMode, ItemKey, ItemType
from .session import IncludedItem, Session, is_id

META_NAME = "meta.json"
MAX_META_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a meta.json; a session with 5,000 items of long names takes 6 MB."""

_ASIDE_PREFIX = f"{META_NAME}.damaged-"
_REMOVED_PREFIX = ".removed-"
"""Prefix of a session that is being removed: it is renamed first, so that a crash leaves no part. No id
begins so."""


class OthersFolder(NotFound):
    """The folder's meta.json is of a session with another id: it was copied, or the disk ignores case."""


class SetAside(NotFound):
    """A meta.json was damaged and renamed; the text is the warning."""


class KeptAside(NotFound):
    """There is no meta.json, but a damaged one in quarantine."""


class SessionFiles:
    """The folder of all sessions, `<folder>/<id>/meta.json`. Folders are made on demand.

    The caller checks ids, and lets only one thread at a time read, write or remove a session. Raises
    `StateError` with the path if the disk refuses.
    """

    def __init__(self, folder: str, system: System) -> None:
        self._folder = folder
        self._system = system
        self._durable = False

    def names(self) -> list[str]:
        """Return the names of the sessions' folders, unsorted. Other files are ignored."""
        try:
            with self._system.scandir(self._folder) as entries:
                return [
                    entry.name
                    for entry in entries
                    if is_id(entry.name) and entry.is_dir(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StateError(f"The sessions in {self._folder} can't be listed: {error.strerror}.") from error

    def stamp(self, session_id: str) -> Stamp | None:
        """Return the stamp of a session's file, None if there is none, with one stat.

        If it isn't a regular file it goes into quarantine, and `SetAside` is raised.
        """
        path = self._path(session_id)
        try:
            status = self._system.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unusable(path, f"can't be read: {error.strerror}") from error
        if not stat.S_ISREG(status.st_mode):
            raise SetAside(self._set_aside(session_id, Damaged("is not a regular file")))
        return stamp_of(status)

    def missing(self, session_id: str) -> NotFound:
        """Return the error for a session without a file, which may be in quarantine."""
        folder = os.path.join(self._folder, session_id)
        try:
            with self._system.scandir(folder) as entries:
                aside = max(
                    (entry.path for entry in entries if entry.name.startswith(_ASIDE_PREFIX)), default=""
                )
        except OSError:
            aside = ""  # mostly there is no folder; in any case it has no known session
        if not aside:
            return not_found(session_id)
        return KeptAside(
            f"The session {session_id} is lost: its {META_NAME} was damaged and is kept as {aside}."
            f" Mend that and rename it to {META_NAME}, or make a new session."
        )

    def read(self, session_id: str) -> tuple[Session, Stamp]:
        """Read a session. A damaged file is put into quarantine, never deleted, and `SetAside` raised.

        Raises `NotFound`, `OthersFolder`, and `StateError` for a file of a newer version, which stays.
        """
        path = self._path(session_id)
        if self.stamp(session_id) is None:
            raise self.missing(session_id)
        try:
            data, status = self._system.read(path, MAX_META_BYTES + 1)
            self._remove_leftovers(session_id)
        except OSError as error:
            raise self._unusable(path, f"can't be read: {error.strerror or error}") from error
        try:
            if len(data) > MAX_META_BYTES:
                raise Damaged(f"is larger than {MAX_META_BYTES:,} bytes")
            session = session_in(data, path)
        except Damaged as damage:
            raise SetAside(self._set_aside(session_id, damage)) from damage
        if session.id != session_id:
            raise OthersFolder(
                f"{path} is of the session {session.id!r:.130}; rename its folder, or remove it."
            )
        return session, stamp_of(status)

    def write(self, session: Session) -> Stamp:
        """Replace a session's file, durably; its folder must exist. Returns the stamp. Raises `TooLarge`."""
        data = bytes_of(session)
        path = self._path(session.id)
        if len(data) > MAX_META_BYTES:
            raise TooLarge(f"the session {session.id} would take more than {MAX_META_BYTES:,} bytes.")
        try:
            self._system.write_atomic(path, data)
            return stamp_of(self._system.lstat(path))
        except OSError as error:
            raise self._unusable(
                path, f"can't be written: {error.strerror}. Mend that, then try again"
            ) from error

    def make(self, session_id: str) -> None:
        """Make a session's folder, durably; an existing empty one is used."""
        path = os.path.join(self._folder, session_id)
        try:
            for folder in (self._folder, path):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, 0o700)
            if not stat.S_ISDIR(self._system.lstat(path).st_mode):
                raise self._unusable(path, "is no folder. Move it away, then try again")
            # Also for existing folders: their maker may have died before this.
            self._system.fsync_folder(self._folder)
            if not self._durable:
                self._system.fsync_folder(os.path.dirname(self._folder))
                self._durable = True
        except OSError as error:
            raise self._unusable(path, f"can't be made: {error.strerror}") from error

    def remove(self, session_id: str) -> None:
        """Remove a session's folder with its content, and leftovers of interrupted removals."""
        path = os.path.join(self._folder, session_id)
        try:
            os.rename(
                path, os.path.join(self._folder, f"{_REMOVED_PREFIX}{self._system.time_ns()}-{session_id}")
            )
            with self._system.scandir(self._folder) as entries:
                removed = [entry.path for entry in entries if entry.name.startswith(_REMOVED_PREFIX)]
            for folder in removed:
                shutil.rmtree(folder)
        except OSError as error:
            raise self._unusable(path, f"can't be removed: {error.strerror}") from error

    def _path(self, session_id: str) -> str:
        return os.path.join(self._folder, session_id, META_NAME)

    def _set_aside(self, session_id: str, damage: Damaged) -> str:
        path = self._path(session_id)
        aside = os.path.join(os.path.dirname(path), f"{_ASIDE_PREFIX}{self._system.time_ns()}")
        try:
            os.replace(path, aside)
        except OSError as error:
            raise self._unusable(path, f"{damage}, and can't be renamed: {error.strerror}") from error
        return (
            f"The session {session_id} could not be used: its {META_NAME} {damage}; it was kept as {aside}."
            f" Mend that and rename it to {META_NAME}, or make a new session."
        )

    def _remove_leftovers(self, session_id: str) -> None:
        """Remove leftovers of interrupted writes. No other thread writes this session."""
        folder = os.path.join(self._folder, session_id)
        with self._system.scandir(folder) as entries:
            left = [
                entry.path
                for entry in entries
                if entry.name.startswith(f"{META_NAME}.") and entry.name.endswith(".tmp")
            ]
        for path in left:
            os.unlink(path)

    def _unusable(self, path: str, problem: str) -> StateError:
        return StateError(f"{path} {problem}.")


def not_found(session_id: str) -> NotFound:
    """Return the error for an id that no session has."""
    return NotFound(
        f"no session {session_id!r:.130}: it was removed as the one longest unused, or never existed.",
        "Call CreateSession to make it; ListSessions names those that there are.",
    )


META_VERSION = 1
"""Raised when a field changes its meaning; a new field doesn't need it."""


class Damaged(Exception):  # caught in this room; never shown to a person
    """Bytes that are no session. The text follows the file's name."""


def bytes_of(session: Session) -> bytes:
    """Return a session as JSON with a line for each field and item, for text editors.

    Half surrogates, which an edited file may have, are written as they were read.
    """
    fields: dict[str, object] = {"version": META_VERSION}
    fields.update((name, getattr(session, name)) for name in _TEXTS)
    fields["context"] = session.context
    fields["items"] = [{**to_builtins(item.key), "include": item.include} for item in session.items]
    fields["removed"] = to_builtins(session.removed)
    fields["selection"] = session.selection
    fields["revision"] = session.revision
    fields.update(session.extra)
    lines = ",\n".join(f"  {json.dumps(name)}: {_json_of(value)}" for name, value in fields.items())
    return f"{{\n{lines}\n}}\n".encode("utf-8", "surrogatepass")


def session_in(data: bytes, name: str = META_NAME) -> Session:
    """Read a session from a file of a name. Checks types but no limits, since a person may have edited it.

    Raises `Damaged`, `NewerVersion`.
    """
    try:
        fields = json.loads(data)
    except Exception as error:
        raise Damaged(f"is not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise Damaged("is not a map")
    refuse_newer(name, fields.get("version"), META_VERSION)
    try:
        meta = read_request(_Meta, fields)
    except FovealError as error:
        raise Damaged(f"can't be used: {error}") from error
    return Session(
        **{name: getattr(meta, name) for name in _TEXTS},
        context={name: entries for name, entries in meta.context.items() if entries},
        items=tuple(IncludedItem(_key(item), item.include) for item in meta.items),
        removed=tuple(map(_key, meta.removed)),
        selection=_selection_in(fields.get("selection")),
        revision=meta.revision,
        extra={name: value for name, value in fields.items() if name not in _KNOWN},
    )


class _StoredKey(Struct):
    """The fields that name an item."""

    type: ItemType
    name: str
    server_name: str = ""


class _StoredItem(_StoredKey, kw_only=True):
    """An item of a session."""

    include: IncludeMode


class _Meta(Struct):
    """The fields of a meta.json."""

    version: int
    id: str
    project_root: str
    created: str
    name: str = ""
    agent_name: str = ""
    last_observed: str = ""
    last_idle: str = ""
    ended: str = ""
    current_intent: str = ""
    env_hint: str = ""
    context: dict[str, tuple[str, ...]] = {}
    items: tuple[_StoredItem, ...] = ()
    removed: tuple[_StoredKey, ...] = ()
    revision: int = 0


_KNOWN = frozenset((*_Meta.__struct_fields__, "selection"))
_TEXTS = _Meta.__struct_fields__[1:11]


def _key(fields: _StoredKey) -> ItemKey:
    return ItemKey(fields.type, fields.name, fields.server_name)


def _json_of(value: object) -> str:
    """Return a value as JSON, with a line for each entry of a list or a map."""
    if not value or not isinstance(value, list | Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[\n{_lines_of(json.dumps(entry, ensure_ascii=False) for entry in value)}\n  ]"
    pairs = (
        f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(entry, ensure_ascii=False)}"
        for key, entry in value.items()
    )
    return f"{{\n{_lines_of(pairs)}\n  }}"


def _lines_of(entries: Iterable[str]) -> str:
    return ",\n".join(f"    {entry}" for entry in entries)


def _selection_in(value: object) -> Mapping[str, object]:
    """Return the selection settings, unchecked: an unusable setting must not cost the session.

    Anything but a map means a preset.
    """
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"preset": value}
