"""Watches folders and reports changed paths in batches. The only file that imports watchfiles."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from watchfiles import Change

Mode = Literal["native", "polling", "off"]

OVERFLOW_PATHS = 4_000
"""Number of paths in a batch from which events may be lost, so that a sweep has to follow: the kernel
silently drops events when its queue of 16,384 is full, and a path has a few."""

_CLOSE_TIMEOUT_S = 1.0
"""Maximum seconds to wait for the threads to end. They check at every step, so only an `on_batch` that
doesn't return takes that long."""

_OPEN_ATTEMPTS = 10
"""Maximum number of attempts to open a stream while folders vanish; after that the cause is another."""

_WAKE_MS = 1_000
"""Milliseconds after which an idle thread checks whether its retirement is overdue."""


class WatchSettings(Struct, frozen=True):
    """How events are collected into batches, and when native watching is replaced by polling.

    A batch ends after `step_ms` without a new event, or `debounce_ms` after its first. A stream wakes once a
    step: with 40 an event arrives after 60 ms (median); 20 would give 32 ms and take twice as much of a core
    at rest. Answers don't wait for it: they look at the files that they show. Every stream of events
    costs a thread and one of the 128 inotify instances a user has, so more than `max_streams` are merged.
    A stream that fails is replaced; after `max_failures` in the life of a watcher it polls. `native` False
    polls from the start.
    """

    step_ms: int = 40
    debounce_ms: int = 100
    max_streams: int = 4
    retire_timeout_s: float = 10.0
    max_failures: int = 5
    native: bool = True


class WatchBatch(Struct, frozen=True):
    """Absolute paths at which anything changed.

    `overflow` says that events may have been lost, so that a sweep is needed. `lost_folders` are no longer
    watched, because they were removed, replaced or moved; those that still exist must be added again.
    """

    paths: frozenset[str]
    overflow: bool = False
    lost_folders: frozenset[str] = frozenset()


class Watcher:
    """Watches folders, each without those below, and calls `on_batch` from its threads, once at a time.

    The folders are given one by one because watching a root recursively follows its links (one to /usr/lib
    added 11,345 watches) and takes in what is ignored. So a new folder is to be `add`ed when it is first
    reported, and then looked into once more, since earlier changes made no event.

    `on_batch` must only pass the batch on: while it runs nothing else is delivered, and it must not call the
    watcher. All methods may be called from any other thread.
    """

    def __init__(
        self,
        folders: Iterable[str],
        on_batch: Callable[[WatchBatch], None],
        *,
        cookie_folder: str,
        settings: WatchSettings | None = None,
    ) -> None:
        """Start watching; returns when the watches are in place. A failure shows in `mode`, not as an error.

        `folders` are absolute; missing ones are left out. `cookie_folder` is an existing folder for this
        watcher alone, outside of every project; raises `NotADirectoryError` without it.
        """
        # Only here, since processes that only read files import this room too; and not in the thread, which
        # may have no descriptor left to import with.
        import watchfiles  # noqa: F401

        self._cookie_folder = os.path.realpath(cookie_folder)
        if not os.path.isdir(self._cookie_folder):
            raise NotADirectoryError(
                f"{cookie_folder} is no folder, and the watcher needs one for its cookies"
            )
        self._on_batch = on_batch
        self._settings = settings or WatchSettings()
        self._changing = threading.Lock()
        """Held while streams are opened: one change of what is watched at a time."""
        self._delivering = threading.Lock()
        self._state = threading.Lock()
        """Guards everything below."""
        self._streams: set[_Stream] = set()
        self._watched: set[str] = set()
        self._cookie_number = 0
        self._mode: Mode = "off"
        self._reason = ""
        self._closed = False
        self._failures = 0
        self.replace(folders)

    @property
    def mode(self) -> Mode:
        """`native` with events, `polling` without (sweep every `poll_interval_s`), `off` without a folder."""
        return self._mode

    @property
    def reason(self) -> str:
        """Why the mode isn't `native`, or ""."""
        return self._reason

    @property
    def folders(self) -> frozenset[str]:
        """The folders watched now."""
        with self._state:
            return frozenset(self._watched)

    @property
    def streams(self) -> int:
        """The number of streams of events, including those that end once another has taken over."""
        return len(self._streams)

    def add(self, folders: Iterable[str]) -> None:
        """Watch more folders; returns when the watches are in place. Those watched already cost nothing.

        Look at `mode` afterwards: it is `polling` when the system's watches ran out. In that mode this does
        nothing; `replace` tries anew.
        """
        with self._changing:
            with self._state:
                wanted = set(folders) - self._watched
                if not wanted or self._closed or self._mode == "polling":
                    return
                lasting = [stream for stream in self._streams if not stream.retiring]
                crowded = len(lasting) >= self._settings.max_streams
                if crowded:
                    wanted |= self._watched
            self._open(wanted, lasting if crowded else [])

    def replace(self, folders: Iterable[str]) -> None:
        """Watch exactly these folders from now on; meanwhile no event is lost. Tries to leave `polling`."""
        with self._changing:
            with self._state:
                if self._closed:
                    return
                if not self._settings.native:
                    self._stop_streams("polling", "native events are switched off")
                    return
                streams = [stream for stream in self._streams if not stream.retiring]
                self._watched.clear()
            self._open(folders, streams)

    def close(self) -> None:
        """Stop watching. Afterwards the threads have ended and `on_batch` isn't called. May be repeated."""
        with self._changing, self._state:
            self._closed = True
            streams = list(self._streams)
            self._stop_streams("off", "closed")
        deadline = time.monotonic() + _CLOSE_TIMEOUT_S
        for stream in streams:
            stream.thread.join(max(0.0, deadline - time.monotonic()))
        with self._delivering:
            pass  # a callback that began before is over now

    # -- opening and ending streams ------------------------------------------------------------------------

    def _open(self, folders: Iterable[str], others: list[_Stream]) -> None:
        """Start a stream for folders and let `others` end when it has taken over. Needs `_changing`."""
        present = set(filter(_can_be_watched, folders))
        for _ in range(_OPEN_ATTEMPTS):
            if not present:
                break
            stream = _Stream(self, present, self._cookie_folder, self._settings)
            stream.thread.start()
            stream.opened.wait()
            if not isinstance(stream.error, FileNotFoundError | PermissionError):
                break
            present = set(filter(_can_be_watched, present))  # one has just vanished or been closed off
        with self._state:
            if not present:
                if not self._watched:
                    self._stop_streams("off", "there is no folder to watch")
                return
            if stream.error is not None:
                self._stop_streams("polling", str(stream.error))
                return
            self._streams.add(stream)
            self._watched |= present
            self._mode, self._reason = "native", ""
            last_cookie = self._next_cookie_path()
            for other in others:
                other.last_cookie = last_cookie
                other.retire_at = time.monotonic() + self._settings.retire_timeout_s
        if others:
            try:
                _touch(last_cookie)
            except OSError:
                for other in others:
                    other.retire_at = 0.0  # they get no cookie, so they end with an overflow

    def _next_cookie_path(self) -> str:
        self._cookie_number += 1
        return os.path.join(self._cookie_folder, f"{os.getpid()}-{id(self):x}-{self._cookie_number}")

    def _stop_streams(self, mode: Mode, reason: str) -> None:
        """End all streams without waiting for their events. Needs the state."""
        for stream in self._streams:
            stream.stopped = True
        self._streams.clear()
        self._watched.clear()
        self._mode, self._reason = mode, reason

    # -- called by streams, each on its own thread ---------------------------------------------------------

    def receive(self, stream: _Stream, changes: set[tuple[Change, str]]) -> bool:
        """Deliver the events of a stream; return whether the stream should continue."""
        paths = {path for _, path in changes}
        cookies = {path for path in paths if os.path.dirname(path) == self._cookie_folder}
        paths -= cookies
        paths.discard(self._cookie_folder)
        finished = stream.last_cookie in cookies
        overdue = not finished and time.monotonic() >= stream.retire_at
        lost = self._drop_lost(changes)
        if paths or overdue:
            self._deliver(WatchBatch(frozenset(paths), overdue or len(paths) >= OVERFLOW_PATHS, lost))
        if finished or overdue:
            # All events before the last cookie are delivered; another stream sees the later ones.
            with self._state:
                self._streams.discard(stream)
        return not finished and not overdue

    def fail(self, stream: _Stream, reason: str) -> None:
        """Replace a stream that failed, and report an overflow for the events that it may have missed."""
        with self._changing:
            with self._state:
                if stream not in self._streams:
                    return
                folders = set(self._watched)
                self._failures += 1
                failures = self._failures
                streams = [other for other in self._streams if other is not stream and not other.retiring]
                self._streams.discard(stream)
                if failures > self._settings.max_failures:
                    self._stop_streams("polling", f"native events failed {failures} times: {reason}")
            if failures <= self._settings.max_failures:
                self._open(folders, streams)
        self._deliver(WatchBatch(frozenset(), overflow=True))

    def _drop_lost(self, changes: set[tuple[Change, str]]) -> frozenset[str]:
        """Remove watched folders that were created or deleted, because their watch is on the old folder."""
        replaced = {path for change, path in changes if change.name != "modified"}
        with self._state:
            replaced &= self._watched
            if not replaced:
                return frozenset()
            prefixes = tuple(f"{path}/" for path in replaced)
            lost = replaced.union(path for path in self._watched if path.startswith(prefixes))
            self._watched -= lost
            if not self._watched and self._mode == "native":
                self._mode, self._reason = "off", "the watched folders are gone"
            return frozenset(lost)

    def _deliver(self, batch: WatchBatch) -> None:
        with self._delivering:
            if self._closed:
                return
            self._on_batch(batch)


class _Stream:
    """One native event queue and the thread that reads it; to watchfiles also the event that ends it."""

    def __init__(
        self, watcher: Watcher, folders: set[str], cookie_folder: str, settings: WatchSettings
    ) -> None:
        self.opened = threading.Event()
        """Set when the watches are in place, or `error` says why they aren't."""
        self.error: Exception | None = None
        self.stopped = False
        self.last_cookie = ""
        """The cookie after which this stream is to end."""
        self.retire_at = math.inf
        """The time at which it ends even without that cookie."""
        self.thread = threading.Thread(target=self._run, name="foveal-watch", daemon=True)
        self._watcher = watcher
        self._folders = sorted(folders)
        self._cookie_folder = cookie_folder
        self._settings = settings

    @property
    def retiring(self) -> bool:
        return self.retire_at != math.inf

    def is_set(self) -> bool:
        """Answer watchfiles, which asks at every step from the moment when all watches are in place."""
        if not self.opened.is_set():
            self.opened.set()
        return self.stopped

    def _run(self) -> None:
        from watchfiles import watch

        reason = "on_batch failed"
        events = watch(
            *self._folders,
            self._cookie_folder,
            watch_filter=None,
            debounce=self._settings.debounce_ms,
            step=self._settings.step_ms,
            stop_event=self,
            rust_timeout=_WAKE_MS,
            yield_on_timeout=True,
            debug=False,
            raise_interrupt=False,
            force_polling=False,
            recursive=False,
            ignore_permission_denied=False,  # True would hide every error, having no watches left too
        )
        try:
            with closing(events):
                while True:
                    try:
                        changes = next(events)
                    except (OSError, RuntimeError) as error:
                        # No watches or instances are left, or a name isn't UTF-8 and can't be passed on.
                        reason = str(error)
                        self.error = None if self.opened.is_set() else error
                        return
                    except StopIteration:
                        reason = "the stream ended"
                        return
                    if not self._watcher.receive(self, changes):
                        return
        finally:
            self.opened.set()
            if not self.stopped and self.error is None:
                self._watcher.fail(self, reason)


def _can_be_watched(folder: str) -> bool:
    """Whether a path is a folder that the kernel lets us watch, for which it must be readable."""
    return os.path.isdir(folder) and os.access(folder, os.R_OK)


def _touch(path: str) -> None:
    """Create a file and remove it again: both cause events, and no file is left."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    os.unlink(path)
