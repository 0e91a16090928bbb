"""Exchanges embeddings with a shared store on a separate thread, so that a slow store delays nothing else."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from ..core.storage import DatabaseError
from ..core.system import System
from .messages import Pushed, SharedProgress, SharedStore
from .redis_source import RedisSource
from .shared_source import EmbeddingSource, SourceError, VectorCodec
from .unit_vectors import Floats

log = logging.getLogger(__name__)

LOOK_UP = 1_000
"""Maximum number of contents in one look-up, and in one write."""

OFFERED_MAX = 200_000
"""Maximum number of contents that wait to be written, 15 MB; above it the oldest are dropped, and only a push
writes them."""

FIRST_RETRY_S = 5.0
LONGEST_RETRY_S = 300.0
"""Seconds until a store that failed is tried again: the first pause, which doubles with each failure, and the
maximum."""

Vectors = dict[bytes, Floats]
"""Unit vectors (dim,) by content digest."""


class SharedEmbeddings:
    """Looks up contents in a shared store and writes new ones to it.

    `run` needs its own thread; all other methods may be called from any thread. `load` returns this machine's
    vectors of contents, and may raise `DatabaseError`. `report` receives the counts after each change.
    """

    def __init__(
        self,
        source: EmbeddingSource,
        codec: VectorCodec,
        load: Callable[[Sequence[bytes]], Vectors],
        report: Callable[[SharedProgress], None],
        system: System,
        first_retry_s: float = FIRST_RETRY_S,
    ) -> None:
        self._source = source
        self._codec = codec
        self._load = load
        self._report = report
        self._changed = threading.Condition()
        self._look_ups: deque[tuple[Sequence[bytes], int, Callable[[Vectors | None], None]]] = deque()
        self._pushes: deque[_Push] = deque()
        self._offered: dict[bytes, None] = {}
        self._closed = False
        self._reading = Breaker(system, first_retry_s)
        self._writing = Breaker(system, first_retry_s)
        self._found = self._missing = self._rejected = self._written = self._dropped = 0
        self._received = self._sent = 0

    @property
    def is_up(self) -> bool:
        """Whether a look-up may be sent now: the store hasn't failed recently."""
        return self._reading.is_closed

    @property
    def is_trusted(self) -> bool:
        """Whether the last look-up succeeded, or there was none yet: embedding may then wait for the next."""
        return not self._reading.problem

    def retry_in(self) -> float:
        """Return the seconds until a store that failed is tried again."""
        return self._reading.rest_s()

    def look_up(self, digests: Sequence[bytes], dim: int, done: Callable[[Vectors | None], None]) -> None:
        """Request contents from the store. `done` is called on the thread of `run` with the vectors that were
        found, or with None if the store can't be used."""
        with self._changed:
            self._look_ups.append((digests, dim, done))
            self._changed.notify_all()

    def offer(self, digests: Sequence[bytes]) -> None:
        """Queue contents that were embedded on this machine to be written to the store."""
        with self._changed:
            self._offered.update(dict.fromkeys(digests))
            while len(self._offered) > OFFERED_MAX:
                del self._offered[next(iter(self._offered))]
                self._dropped += 1
            self._changed.notify_all()

    def push(self, digests: Sequence[bytes], done: Callable[[Pushed], None]) -> None:
        """Write the contents that the store lacks, ahead of queued ones; `done` receives the counts."""
        with self._changed:
            self._pushes.append(_Push(digests, done))
            self._changed.notify_all()

    def close(self) -> None:
        """Make `run` end soon; queued contents aren't written."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def run(self) -> None:
        """Exchange embeddings until `close`."""
        while (work := self._next()) is not None:
            work()
        self._source.close()

    def progress(self) -> SharedProgress:
        """Return the counts so far."""
        with self._changed:
            return SharedProgress(
                self._source.place,
                self._found,
                self._missing,
                self._rejected,
                self._written,
                len(self._offered),
                self._dropped,
                self._received,
                self._sent,
                self._reading.problem or self._writing.problem,
            )

    def _next(self) -> Callable[[], None] | None:
        """Wait for work and return it; None after `close`."""
        with self._changed:
            while not self._closed:
                if self._look_ups:
                    return self._answer
                if self._pushes:
                    return self._push_some
                if self._offered and self._writing.is_closed:
                    return self._write_offered
                self._changed.wait(self._writing.rest_s() if self._offered else None)
        return None

    def _answer(self) -> None:
        digests, dim, done = self._look_ups.popleft()
        if not self._reading.is_closed:
            done(None)
            return
        keys = [self._codec.key(digest) for digest in digests]
        try:
            fetched = self._source.get(keys)
        except SourceError as error:
            self._note(self._reading, str(error))
            done(None)
            return
        found: Vectors = {}
        rejected = 0
        for digest, key, value in zip(digests, keys, fetched.values, strict=True):
            if value is None:
                continue
            vector = self._codec.unpack(key, value, dim)
            if vector is None:
                rejected += 1
            else:
                found[digest] = vector
        self._found += len(found)
        self._rejected += rejected
        self._missing += len(digests) - len(found) - rejected
        self._received += sum(map(len, filter(None, fetched.values)))
        self._note(self._reading, fetched.problem)
        done(found)

    def _write_offered(self) -> None:
        with self._changed:
            digests = list(self._offered)[:LOOK_UP]
        problem = self._write(digests)
        if not problem:
            with self._changed:
                for digest in digests:
                    self._offered.pop(digest, None)
        self._note(self._writing, problem)

    def _push_some(self) -> None:
        """Write the next part of a push; look-ups are answered between two parts."""
        push = self._pushes[0]
        digests, push.rest = push.rest[:LOOK_UP], push.rest[LOOK_UP:]
        problem = ""
        try:
            there = self._source.renew([self._codec.key(digest) for digest in digests]) if digests else []
            lacking = [digest for digest, is_there in zip(digests, there, strict=True) if not is_there]
            before = self._written
            problem = self._write(lacking) if lacking else ""
            push.present += len(digests) - len(lacking)
            push.written += self._written - before
        except SourceError as error:
            problem = str(error)
        if problem or not push.rest:
            self._pushes.popleft()
            push.done(Pushed(push.contents, push.written, push.present, problem))
        self._note(self._writing, problem)

    def _write(self, digests: Sequence[bytes]) -> str:
        """Write contents to the store; return the problem, or an empty string."""
        try:
            vectors = self._load(digests)
            values = {}
            for digest, vector in vectors.items():
                key = self._codec.key(digest)
                values[key] = self._codec.pack(key, vector)
            problem = self._source.put(values) if values else ""
        except (SourceError, DatabaseError) as error:
            return str(error)
        if not problem:
            self._written += len(values)
            self._sent += sum(map(len, values.values()))
        return problem

    def _note(self, breaker: Breaker, problem: str) -> None:
        if problem and problem != breaker.problem:
            log.warning("shared embeddings: %s", problem)
        elif breaker.problem and not problem:
            log.info("shared embeddings: %s is back", self._source.place)
        breaker.note(problem)
        self._report(self.progress())


class _Push:
    """A push in progress: the remaining contents, and the counts so far."""

    def __init__(self, digests: Sequence[bytes], done: Callable[[Pushed], None]) -> None:
        self.rest = digests
        self.done = done
        self.contents = len(digests)
        self.written = self.present = 0


class Breaker:
    """A circuit breaker, which tells when a store or service that failed may be tried again.

    `problem` says why the last try failed, or is empty. The pause after it doubles with each failure.
    """

    def __init__(self, system: System, first_s: float, longest_s: float = LONGEST_RETRY_S) -> None:
        self.problem = ""
        self._system = system
        self._first_s = first_s
        self._longest_s = longest_s
        self._wait_s = first_s
        self._again_at = 0.0

    @property
    def is_closed(self) -> bool:
        """Whether the store may be tried."""
        return not self.problem or self.rest_s() <= 0

    def rest_s(self) -> float:
        """Return the seconds until the next try."""
        return max(0.0, self._again_at - self._system.monotonic()) if self.problem else 0.0

    def note(self, problem: str, wait_s: float = 0.0) -> None:
        """Record the result of a try; an empty `problem` means success. `wait_s` is the minimum pause, itself
        at most the longest."""
        if problem:
            pause = max(self._wait_s, min(wait_s, self._longest_s))
            self._again_at = self._system.monotonic() + pause
            self._wait_s = min(2 * self._wait_s, self._longest_s)
        else:
            self._wait_s = self._first_s
        self.problem = problem


def open_source(store: SharedStore, password: str) -> EmbeddingSource:
    """Return the configured store. Raises `SourceError` if its package isn't installed."""
    return RedisSource(store, password)
