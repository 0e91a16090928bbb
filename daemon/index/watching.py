"""The watch of one project: its watcher, and the events that its thread hands over to the indexer's."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable

from ..project.tree import WatchMode
from ..project.watcher import WatchBatch, Watcher

log = logging.getLogger(__name__)

COOKIE_S = 2.0
"""Maximum seconds to wait for a cookie."""

COOKIE_STEP_S = 0.02
"""Seconds of that in one step, between which other projects have their turns."""

PENDING_PATHS = 4_000
"""Maximum number of changed paths that wait to be taken; more become one overflow: a sweep finds them in
less time than a look at each."""


class ProjectWatch:
    """The watch of one project's folders, on the indexer's working thread; there is none before `begin`.

    `on_batch` is called from the watcher's thread when events can be taken: all since the last time, as one
    batch, however often the same file changed. Cookies are written into
    `folder`, which is the project's own in the state folder. `make_watcher` is called as `Watcher` is.
    """

    def __init__(
        self, folder: str, on_batch: Callable[[], object], make_watcher: Callable[..., Watcher] = Watcher
    ) -> None:
        self._on_batch = on_batch
        self._make_watcher = make_watcher
        self._watcher: Watcher | None = None
        self._hearing = threading.Lock()
        """Guards the events that wait to be taken."""
        self._paths: set[str] = set()
        self._lost: set[str] = set()
        self._overflow = False
        self._closed = False
        self._cookie_folder = os.path.join(folder, "cookies")
        os.makedirs(self._cookie_folder, mode=0o700, exist_ok=True)

    @property
    def active(self) -> bool:
        """Whether there is a watcher."""
        return self._watcher is not None

    @property
    def mode(self) -> WatchMode:
        """How changes are noticed."""
        return "off" if self._watcher is None else self._watcher.mode

    @property
    def native(self) -> bool:
        """Whether the system reports changes."""
        return self.mode == "native"

    @property
    def problem(self) -> str:
        """Say why the system doesn't report changes, or ""."""
        watcher = self._watcher
        return "" if watcher is None or watcher.mode == "native" else watcher.reason

    def begin(self, folders: Iterable[str]) -> None:
        """Watch these absolute folders."""
        self._watcher = self._make_watcher(folders, self._hear, cookie_folder=self._cookie_folder)

    def add(self, folders: Iterable[str]) -> None:
        """Watch these folders too."""
        if self._watcher is not None:
            self._watcher.add(folders)

    def replace(self, folders: Iterable[str]) -> None:
        """Watch these folders in the place of those before."""
        if self._watcher is not None:
            self._watcher.replace(folders)

    def catch_up(self) -> Generator[None, None, bool]:
        """Wait in steps until every event from before now can be taken; returns whether that is so."""
        watcher = self._watcher
        if watcher is None:
            return False
        try:
            cookie = watcher.write_cookie()
        except OSError as error:
            log.warning("the cookie folder can't be written to, the tree is swept instead: %s", error)
            return False
        deadline = time.monotonic() + COOKIE_S
        try:
            while not (came := watcher.wait_cookie(cookie, COOKIE_STEP_S)) and not cookie.failed:
                if time.monotonic() > deadline:
                    break
                yield
        finally:
            watcher.forget_cookie(cookie)
        return came

    @property
    def has_batch(self) -> bool:
        """Whether events wait to be taken."""
        return not self._closed and bool(self._paths or self._lost or self._overflow)

    def next_batch(self) -> WatchBatch | None:
        """Return the events since the last time; None for none."""
        if not self.has_batch:
            return None
        with self._hearing:
            batch = WatchBatch(frozenset(self._paths), self._overflow, frozenset(self._lost))
            self._paths, self._lost, self._overflow = set(), set(), False
        return batch

    def end(self) -> None:
        """Stop watching; earlier events can still be taken."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def close(self) -> None:
        """Stop watching for good."""
        self._closed = True
        self.end()

    def _hear(self, batch: WatchBatch) -> None:
        """Take a batch from the watcher's thread to ours."""
        with self._hearing:
            self._overflow |= batch.overflow
            self._paths |= batch.paths
            self._lost |= batch.lost_folders
            if len(self._paths) > PENDING_PATHS or len(self._lost) > PENDING_PATHS:
                self._overflow = True
            if self._overflow:
                # All is compared and watched anew, so that no name of it is needed.
                self._paths.clear()
                self._lost.clear()
        self._on_batch()
