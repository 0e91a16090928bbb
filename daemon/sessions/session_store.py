"""The store of all sessions: one writer for each at a time, a cache, a limit on their number, and
warnings."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidRequest, NotFound, StateError
from ..core.system import Stamp, System, latest_time
from ..core.times import timestamp_of
from ..rules.items import ItemKey
from .session import (
    Session,
    SessionSummary,
    checked_id,
    ended,
    last_use,
    new_id,
    new_session,
    summary_of,
)
from .session_files import KeptAside, OthersFolder, SessionFiles, SetAside

T = TypeVar("T")

MAX_SESSIONS = 2_000
"""Maximum number of sessions: ten a day for more than half a year; a list of them fits a frame."""
_MAX_WARNINGS = 20


class StoreStatistics(Struct, frozen=True):
    """Counts: known sessions, those cached whole, those put into quarantine or removed since the start."""

    sessions: int
    kept: int
    quarantine: int
    removed: int


class SessionStore:
    """The sessions on disk, a folder each in `folder`, whose parent exists; only this process writes there.

    Thread-safe; every method blocks for the disk. A returned change is durable. A file edited by hand is read
    again, a damaged one is put into quarantine with a warning, other files are left alone. Above `max_count`
    sessions, ended ones are removed first, then the longest unused; a new one stays.

    Raises `InvalidRequest` for an invalid id, `NotFound`, `StateError` if the disk refuses.
    """

    def __init__(self, folder: str, system: System, *, max_count: int = MAX_SESSIONS) -> None:
        self._files = SessionFiles(folder, system)
        self._system = system
        self._max_count = max_count
        self._memory = threading.Lock()
        self._pruning = threading.Lock()
        # A lock exists while a thread holds it or waits for it.
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
        self._cache = SessionCache()
        self._told: dict[str, str] = {}
        self._warnings: deque[str] = deque(maxlen=_MAX_WARNINGS)
        self._set_aside = 0
        self._removed = 0

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
        with self._lock_of(session.id):
            if self._taken(session.id):
                raise InvalidRequest(
                    f"there is a session {session.id!r} already;",
                    "session_id",
                    "call ResumeSession to go on with it, or choose another session_id",
                )
            self._files.make(session.id)
            self._write(session)
        self._prune(session.id)
        return session

    def find(self, session_id: str) -> Session | None:
        """Return a session, or None if none was made with this id.

        Raises `SetAside`, `KeptAside` or `OthersFolder`, all `NotFound`, if an existing one can't be used.
        """
        try:
            return self.get(session_id)
        except (SetAside, KeptAside, OthersFolder):
            raise
        except NotFound:
            return None

    def get(self, session_id: str) -> Session:
        """Return a session: a stat, and a read if it isn't cached."""
        checked_id(session_id)
        stamp = self._files.stamp(session_id)
        if stamp is None:
            self._cache.forget(session_id)
            raise self._files.missing(session_id)
        if session := self._cache.session(session_id, stamp):
            return session
        with self._lock_of(session_id):
            return self._load(session_id)

    def list(self, project_root: str | None = None) -> tuple[SessionSummary, ...]:
        """Return the sessions of a project, or all, the last used first.

        An unreadable session is left out, with one warning.
        """
        names = self._files.names()
        known = set(names)
        found = [summary for name in names if (summary := self._summary(name))]
        self._cache.keep_only(known)
        with self._memory:
            for gone in self._told.keys() - known:
                del self._told[gone]
        wanted = (summary for summary in found if project_root in {None, summary.project_root})
        latest = timestamp_of(latest_time(self._system.now()))
        return tuple(sorted(wanted, key=lambda one: (last_use(one, latest), one.id), reverse=True))

    def update(self, session_id: str, change: Callable[[Session], Session]) -> Session:
        """Replace a session by the result of `change`, and return that with the next revision.

        No other change happens meanwhile; `change` must not call the store. An equal session is not written.
        """
        return self.apply(session_id, lambda session: (change(session), None))[0]

    def apply(self, session_id: str, change: Callable[[Session], tuple[Session, T]]) -> tuple[Session, T]:
        """Update a session with a change that also returns an outcome."""
        checked_id(session_id)
        with self._lock_of(session_id):
            former = self._load(session_id)
            session, outcome = change(former)
            if session == former:
                return former, outcome
            session = replace(session, id=former.id, created=former.created, revision=former.revision + 1)
            self._write(session)
            return session, outcome

    def end(self, session_id: str) -> Session:
        """Mark a session as ended. It can be resumed, but is removed first if there are too many."""
        at = self.now()
        return self.update(session_id, lambda session: ended(session, at))

    def remove(self, session_id: str) -> None:
        """Remove a session for good, if it is there."""
        with self._lock_of(session_id):
            if self._files.stamp(session_id) is not None:
                self._files.remove(session_id)
            self._cache.forget(session_id)

    def take_warnings(self) -> tuple[str, ...]:
        """Return the latest warnings since the last call."""
        with self._memory:
            warnings = tuple(self._warnings)
            self._warnings.clear()
            return warnings

    def statistics(self) -> StoreStatistics:
        """Return the counts."""
        return StoreStatistics(*self._cache.counts(), self._set_aside, self._removed)

    def _lock_of(self, session_id: str) -> threading.Lock:
        with self._memory:
            return self._locks.setdefault(session_id, threading.Lock())

    def _taken(self, session_id: str) -> bool:
        try:
            self._load(session_id)
        except OthersFolder as error:
            raise InvalidRequest(f"{error} Or choose another session_id.", "session_id") from error
        except NotFound:
            return False
        return True

    def _load(self, session_id: str) -> Session:
        """Return a session, whose lock is held, from the cache if its file is unchanged."""
        stamp = self._files.stamp(session_id)
        if stamp is None or (session := self._cache.session(session_id, stamp)) is None:
            session, stamp = self._read(session_id)
            self._cache.put(session, stamp)
        return session

    def _read(self, session_id: str) -> tuple[Session, Stamp]:
        """Read a session, whose lock is held."""
        try:
            return self._files.read(session_id)
        except SetAside as error:
            self._cache.forget(session_id)
            self._warn(session_id, str(error))
            with self._memory:
                self._set_aside += 1
            raise
        except NotFound:
            self._cache.forget(session_id)
            raise

    def _write(self, session: Session) -> None:
        self._cache.put(session, self._files.write(session))

    def _summary(self, session_id: str) -> SessionSummary | None:
        """Return a session's summary with one stat, or a read if it changed; None if it can't be read."""
        try:
            stamp = self._files.stamp(session_id)
            if stamp is None:
                return None
            if summary := self._cache.summary(session_id, stamp):
                return summary
            with self._lock_of(session_id):
                return self._cache.put_summary(*self._read(session_id))
        except (OthersFolder, SetAside, StateError) as error:
            self._warn(session_id, str(error))
            return None
        except NotFound:
            return None  # it was removed just now, or put into quarantine with a warning

    def _prune(self, keep: str) -> None:
        """Remove the sessions above the number: the ended ones first, then those longest unused."""
        with self._pruning:
            if len(self._files.names()) <= self._max_count:
                return
            others = [summary for summary in self.list() if summary.id != keep]
            latest = timestamp_of(latest_time(self._system.now()))
            others.sort(key=lambda one: (not one.ended, last_use(one, latest), one.id))
            for summary in others[: max(0, len(others) + 1 - self._max_count)]:
                self._remove(summary)

    def _remove(self, summary: SessionSummary) -> None:
        lock = self._lock_of(summary.id)
        if not lock.acquire(blocking=False):
            return  # it is in use, so not the longest unused any more
        try:
            if self._load(summary.id).revision == summary.revision:
                self._files.remove(summary.id)
                self._cache.forget(summary.id)
                self._removed += 1
        except (NotFound, StateError) as error:
            # The new session was made; failing to remove an old one is only a warning.
            self._warn(summary.id, str(error))
        finally:
            lock.release()

    def _warn(self, session_id: str, text: str) -> None:
        """Keep a warning unless it was the last one about this session, which each list repeats."""
        with self._memory:
            if self._told.get(session_id) != text:
                self._told[session_id] = text
                self._warnings.append(text)


MAX_WHOLE = 64
"""Maximum number of sessions cached whole, the others as summaries."""


class SessionCache:
    """The last used sessions, and summaries of all, valid for one stamp of their file.

    Thread-safe; callers of `put` hold the session's lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: OrderedDict[str, tuple[Stamp, Session]] = OrderedDict()
        self._summaries: dict[str, tuple[Stamp, SessionSummary]] = {}

    def session(self, session_id: str, stamp: Stamp) -> Session | None:
        """Return a session if it is cached for this stamp of its file."""
        with self._lock:
            kept = self._whole.get(session_id)
            if kept is None or kept[0] != stamp:
                return None
            self._whole.move_to_end(session_id)
            return kept[1]

    def summary(self, session_id: str, stamp: Stamp) -> SessionSummary | None:
        """Return a summary if it is cached for this stamp of the file."""
        with self._lock:
            kept = self._summaries.get(session_id)
            return kept[1] if kept is not None and kept[0] == stamp else None

    def put(self, session: Session, stamp: Stamp) -> None:
        """Cache a session whole, dropping the longest unused."""
        with self._lock:
            self._whole[session.id] = stamp, session
            self._whole.move_to_end(session.id)
            self._summaries[session.id] = stamp, summary_of(session)
            if len(self._whole) > MAX_WHOLE:
                self._whole.popitem(last=False)

    def put_summary(self, session: Session, stamp: Stamp) -> SessionSummary:
        """Cache only the summary, for a list: whole sessions would drop those in use."""
        summary = summary_of(session)
        with self._lock:
            self._summaries[session.id] = stamp, summary
        return summary

    def forget(self, session_id: str) -> None:
        """Drop a session from the cache."""
        with self._lock:
            self._whole.pop(session_id, None)
            self._summaries.pop(session_id, None)

    def keep_only(self, session_ids: AbstractSet[str]) -> None:
        """Drop all sessions but these."""
        with self._lock:
            for gone in self._summaries.keys() - session_ids:
                del self._summaries[gone]
                self._whole.pop(gone, None)

    def counts(self) -> tuple[int, int]:
        """Return the number of known sessions, and of those cached whole."""
        with self._lock:
            return len(self._summaries), len(self._whole)
