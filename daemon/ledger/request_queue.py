"""Owns the queue of requests that are not written yet: what waits, how much, and what was lost of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from ..core.lazy_dataclass import dataclass
from .messages import Sent
from .request_record import RequestRecord

MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Some thousand ordinary requests, or four whose history fills a frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """A request that is not written yet, and about how many bytes it holds."""

    record: RequestRecord
    sent: Sent
    size: int


class RequestQueue:
    """Requests by session and id, in the order in which they came. Thread-safe; nothing here waits long.

    When they hold more than `max_bytes`, those that waited longest are lost, but for the latest, and counted.
    """

    def __init__(self, max_bytes: int = MAX_WAITING_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._waiting: OrderedDict[tuple[str, str], Waiting] = OrderedDict()
        self._bytes = 0
        self._lost = 0

    def add(self, record: RequestRecord, sent: Sent) -> None:
        """Put a request at the end; one with the same session and id is replaced."""
        one = Waiting(record, sent, _size_of(sent))
        with self._lock:
            self._remove((record.session_id, record.id))
            self._waiting[record.session_id, record.id] = one
            self._bytes += one.size
            while self._bytes > self._max_bytes and len(self._waiting) > 1:
                self._remove(next(iter(self._waiting)))
                self._lost += 1

    def find(self, session_id: str, request_id: str) -> Waiting | None:
        """Return a request if it waits."""
        with self._lock:
            return self._waiting.get((session_id, request_id))

    def all(self, session_id: str | None = None) -> list[Waiting]:
        """Return all requests, or those of a session, the first first."""
        with self._lock:
            return [one for key, one in self._waiting.items() if session_id in (None, key[0])]

    def remove(self, done: Sequence[Waiting]) -> None:
        """Take these out, unless others with their ids came meanwhile."""
        with self._lock:
            for one in done:
                key = one.record.session_id, one.record.id
                if self._waiting.get(key) is one:
                    self._remove(key)

    def lose(self, one: Waiting) -> None:
        """Take one out that can't be written, and count it as lost."""
        self.remove([one])
        with self._lock:
            self._lost += 1

    def counts(self) -> tuple[int, int]:
        """Return how many wait and how many were lost."""
        with self._lock:
            return len(self._waiting), self._lost

    def _remove(self, key: tuple[str, str]) -> None:
        one = self._waiting.pop(key, None)
        if one is not None:
            self._bytes -= one.size


def _size_of(sent: Sent) -> int:
    """Return about how many bytes a request holds, without making its texts bytes."""
    items = (*sent.references, *sent.rules, *sent.tools)
    prompts = len(sent.context) + len(sent.system_prompt) + len(sent.user_prompt)
    history = sum(len(one.content) for one in sent.history)
    return _RECORD_BYTES + prompts + history + sum(len(one.text) + len(one.schema) for one in items)


_RECORD_BYTES = 4_000
"""About what a record takes in memory."""
