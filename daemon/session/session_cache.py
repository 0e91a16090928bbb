"""Owns what is kept in memory of sessions, each with the stamp of its file; knows no file."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Set as AbstractSet

from ..core.system import Stamp
from .session_summary import SessionSummary, summary_of
from .sessions import Session

MAX_WHOLE = 64
"""Sessions that are kept whole, the rest as summaries; more conversations are seldom live at once."""


class SessionCache:
    """The sessions used last, and summaries of all. What has another stamp than the file is not given out.

    Thread-safe; whoever puts something in holds that session's lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: OrderedDict[str, tuple[Stamp, Session]] = OrderedDict()
        self._summaries: dict[str, tuple[Stamp, SessionSummary]] = {}

    def session(self, session_id: str, stamp: Stamp) -> Session | None:
        """Return a session if it is kept and its file has this stamp."""
        with self._lock:
            kept = self._whole.get(session_id)
            if kept is None or kept[0] != stamp:
                return None
            self._whole.move_to_end(session_id)
            return kept[1]

    def summary(self, session_id: str, stamp: Stamp) -> SessionSummary | None:
        """Return a summary if it is kept and the file has this stamp."""
        with self._lock:
            kept = self._summaries.get(session_id)
            return kept[1] if kept is not None and kept[0] == stamp else None

    def put(self, session: Session, stamp: Stamp) -> None:
        """Keep a session whole, and no longer the one that was longest unused."""
        with self._lock:
            self._whole[session.id] = stamp, session
            self._whole.move_to_end(session.id)
            self._summaries[session.id] = stamp, summary_of(session)
            if len(self._whole) > MAX_WHOLE:
                self._whole.popitem(last=False)

    def put_summary(self, session: Session, stamp: Stamp) -> SessionSummary:
        """Keep the summary only, for a list: it would drive out the sessions that are in use."""
        summary = summary_of(session)
        with self._lock:
            self._summaries[session.id] = stamp, summary
        return summary

    def forget(self, session_id: str) -> None:
        """Keep nothing of a session."""
        with self._lock:
            self._whole.pop(session_id, None)
            self._summaries.pop(session_id, None)

    def keep_only(self, session_ids: AbstractSet[str]) -> None:
        """Forget all sessions but these."""
        with self._lock:
            for gone in self._summaries.keys() - session_ids:
                del self._summaries[gone]
                self._whole.pop(gone, None)

    def counts(self) -> tuple[int, int]:
        """Return how many sessions are known, and how many of them are kept whole."""
        with self._lock:
            return len(self._summaries), len(self._whole)
