"""The store of all sessions: a meta.json each, a limit on their number, and quarantine of damaged ones."""

from __future__ import annotations

import glob
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ..core.errors import InvalidRequest, NewerVersion, NotFound, StateError, TooLarge, refuse_newer
from ..core.parameters import read_request
from ..core.quarantine import MARK, clear_file, quarantine
from ..core.system import Stamp, System, latest_time, stamp_of
from ..core.times import timestamp_of
from ..rules.records import ItemKey
from .session import (
    Session,
    SessionSummary,
    checked_id,
    ended,
    is_id,
    last_use,
    new_id,
    new_session,
    summary_of,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

META_NAME = "meta.json"
META_VERSION = 1
"""Raised when a field changes its meaning; a new field doesn't need it."""

MAX_META_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a meta.json; a session with 5,000 items of long names takes 6 MB."""

MAX_SESSIONS = 2_000
"""Maximum number of sessions: ten a day for more than half a year; a list of them fits a frame."""


class UnusableSession(NotFound):
    """A session that exists and can't be used. The text says why and what to do."""


class SessionList(Struct, frozen=True):
    """The sessions of a project or all, the last used first, and warnings about those that can't be read."""

    sessions: tuple[SessionSummary, ...]
    warnings: tuple[str, ...]


class SessionStore:
    """The sessions on disk, a folder each in `folder`, whose parent exists; only this process writes there.

    Thread-safe; every method blocks for the disk. A returned change is durable. A file edited by hand counts
    at once, a damaged one is put into quarantine, other files are left alone. Above `max_count` sessions,
    ended ones are removed first, then the longest unused; a new one stays.

    Raises `InvalidRequest` for an invalid id, `NotFound`, `StateError` if the disk refuses.
    """

    def __init__(self, folder: str, system: System, *, max_count: int = MAX_SESSIONS) -> None:
        self._folder = folder
        self._system = system
        self._max_count = max_count
        self._lock = threading.RLock()
        self._summaries: dict[str, tuple[Stamp, SessionSummary]] = {}
        """The summaries that were listed last, valid for one stamp of their file."""

    def now(self) -> str:
        """Return the time in the form of sessions."""
        return timestamp_of(self._system.now())

    def create(
        self,
        project_root: str,
        always: Iterable[ItemKey],
        *,
        session_id: str = "",
        name: str = "",
        agent_name: str = "",
        selection: Mapping[str, object] | str | None = None,
    ) -> Session:
        """Make a session with the `always` items. Without an id it gets a new one.

        Raises `InvalidRequest` if the id is taken.
        """
        session = new_session(
            checked_id(session_id) if session_id else new_id(),
            project_root,
            self.now(),
            always,
            name=name,
            agent_name=agent_name,
            selection=selection,
        )
        path = self._path(session.id)
        with self._lock:
            with suppress(NotFound):
                self._read(session.id)  # a damaged one makes room
            if os.path.lexists(path):
                raise InvalidRequest(
                    f"there is a session {session.id!r} already;",
                    "session_id",
                    "call ResumeSession to go on with it, or choose another session_id",
                )
            try:
                self._system.make_folder(self._folder, os.path.dirname(self._folder))
                self._system.make_folder(os.path.dirname(path), self._folder)
            except OSError as error:
                raise StateError(f"{os.path.dirname(path)} can't be made: {error.strerror}.") from error
            self._write(session)
            self._prune(session.id)
        return session

    def find(self, session_id: str) -> Session | None:
        """Return a session, or None if none was made with this id. Raises `UnusableSession` for one that
        can't be used."""
        try:
            return self.get(session_id)
        except UnusableSession:
            raise
        except NotFound:
            return None

    def get(self, session_id: str) -> Session:
        """Return a session."""
        with self._lock:
            return self._read(checked_id(session_id))[0]

    def list(self, project_root: str | None = None, heard: Mapping[str, str] | None = None) -> SessionList:
        """Return the sessions of a project, or all, the last used first. Only files that changed are read.

        `heard` are times of signs that may be later than what the files say, by session.
        """
        summaries: dict[str, tuple[Stamp, SessionSummary]] = {}
        warnings = []
        for session_id in self._names():
            try:
                stamp = stamp_of(self._system.lstat(self._path(session_id)))
                cached = self._summaries.get(session_id)
                if cached is None or cached[0] != stamp:
                    with self._lock:
                        session, stamp = self._read(session_id)
                    cached = stamp, summary_of(session)
                summaries[session_id] = cached
            except (UnusableSession, StateError) as error:
                warnings.append(str(error))
            except (OSError, NotFound):
                continue  # no session, or it was removed just now
        self._summaries = summaries
        latest = timestamp_of(latest_time(self._system.now()))
        wanted = [
            replace(summary, last_observed=max(summary.last_observed, (heard or {}).get(summary.id, "")))
            for _, summary in summaries.values()
            if project_root in {None, summary.project_root}
        ]
        wanted.sort(key=lambda one: (last_use(one, latest), one.id), reverse=True)
        return SessionList(tuple(wanted), tuple(warnings))

    def update(self, session_id: str, change: Callable[[Session], Session]) -> Session:
        """Replace a session by the result of `change`, and return that with the next revision.

        No other change happens meanwhile; `change` must not call the store. An equal session is not written.
        """
        return self.apply(session_id, lambda session: (change(session), None))[0]

    def apply(self, session_id: str, change: Callable[[Session], tuple[Session, T]]) -> tuple[Session, T]:
        """Update a session with a change that also returns an outcome."""
        with self._lock:
            former = self.get(session_id)
            session, outcome = change(former)
            if session != former:
                revision = former.revision + 1
                session = replace(session, id=former.id, created=former.created, revision=revision)
                self._write(session)
            return session, outcome

    def end(self, session_id: str) -> Session:
        """Mark a session as ended. It can be resumed, but is removed first if there are too many."""
        at = self.now()
        return self.update(session_id, lambda session: ended(session, at))

    def remove(self, session_id: str) -> None:
        """Remove a session for good, if it is there, with all that lies beside it."""
        path = self._path(session_id)
        try:
            with self._lock, suppress(FileNotFoundError):
                os.unlink(path)  # first, so that a crash leaves no part of a session
                shutil.rmtree(os.path.dirname(path))
        except OSError as error:
            raise StateError(f"{path} can't be removed: {error.strerror}.") from error

    def _path(self, session_id: str) -> str:
        return os.path.join(self._folder, session_id, META_NAME)

    def _names(self) -> tuple[str, ...]:
        """Return the names of the sessions' folders. Other files are ignored."""
        try:
            with self._system.scandir(self._folder) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StateError(f"The sessions in {self._folder} can't be listed: {error.strerror}.") from error
        return tuple(name for name in folders if is_id(name))

    def _read(self, session_id: str) -> tuple[Session, Stamp]:
        """Read a session, under the lock. A damaged file is put into quarantine, never deleted; one of a
        newer version stays."""
        path = self._path(session_id)
        try:
            clear_file(path, self._system)
            data, status = self._system.read(path, MAX_META_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise self._missing(session_id) from None
        except OSError as error:
            raise StateError(f"{path} can't be read: {error.strerror or error}.") from error
        try:
            session = session_in(data, path)
        except NewerVersion:
            raise
        except Exception as error:  # any exception means damage
            try:
                quarantine(path, self._system)
            except OSError as refused:
                problem = f"{path} is damaged ({error}), and can't be renamed: {refused.strerror}."
                raise StateError(problem) from error
            raise self._missing(session_id, f" ({error})") from error
        if session.id != session_id:
            problem = f"{path} is of the session {session.id!r:.130}; rename its folder, or remove it."
            raise UnusableSession(problem)
        return session, stamp_of(status)

    def _missing(self, session_id: str, reason: str = "") -> NotFound:
        """Return the error for a session without a file, which may be in quarantine."""
        aside = max(glob.glob(f"{glob.escape(self._path(session_id))}{MARK}*"), default="")
        if aside:
            return UnusableSession(
                f"The session {session_id} is lost: its {META_NAME} was damaged and is kept as {aside}"
                f"{reason}. Mend that and rename it to {META_NAME}, or make a new session."
            )
        return NotFound(
            f"no session {session_id!r:.130}: it was removed as the one longest unused, or never existed.",
            "Call CreateSession to make it; ListSessions names those that there are.",
        )

    def _write(self, session: Session) -> None:
        """Replace a session's file, durably; its folder must exist. Raises `TooLarge`."""
        data, path = bytes_of(session), self._path(session.id)
        if len(data) > MAX_META_BYTES:
            raise TooLarge(f"the session {session.id} would take more than {MAX_META_BYTES:,} bytes.")
        try:
            self._system.write_atomic(path, data)
        except OSError as error:
            problem = f"{path} can't be written: {error.strerror}. Mend that, then try again."
            raise StateError(problem) from error

    def _prune(self, keep: str) -> None:
        """Remove the sessions above the number: the ended ones first, then those longest unused."""
        if len(self._names()) <= self._max_count:
            return
        latest = timestamp_of(latest_time(self._system.now()))
        others = [summary for summary in self.list().sessions if summary.id != keep]
        others.sort(key=lambda one: (not one.ended, last_use(one, latest), one.id))
        for summary in others[: max(0, len(others) + 1 - self._max_count)]:
            try:
                self.remove(summary.id)
            except StateError as error:  # the new session is stored, and the next one tries again
                log.warning("an old session can't be removed: %s", error)


def bytes_of(session: Session) -> bytes:
    """Return a session as JSON for text editors.

    Half surrogates, which an edited file may have, are written as they were read.
    """
    fields = {"version": META_VERSION, **to_builtins(session)}
    return json.dumps(fields, indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def session_in(data: bytes, name: str = META_NAME) -> Session:
    """Read a session from a file of a name. Checks types but no limits, since a person may have edited it.

    Raises any error for damage; `NewerVersion`.
    """
    if len(data) > MAX_META_BYTES:
        raise ValueError(f"it is larger than {MAX_META_BYTES:,} bytes")
    fields = json.loads(data)
    if not isinstance(fields, dict) or type(fields.get("version")) is not int:
        raise ValueError("it is no JSON object with a version")
    refuse_newer(name, fields["version"], META_VERSION)
    selection = fields.get("selection") or {}
    if not isinstance(selection, dict):
        selection = {"preset": selection}  # an unusable setting must not cost the session
    session = read_request(Session, {**fields, "selection": selection})
    return replace(session, context={name: entries for name, entries in session.context.items() if entries})
