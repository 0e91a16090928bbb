"""Owns the watch of one project: its watcher, and the batches that cross from that's thread to ours."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable

from ..project.tree import WatchMode
from ..project.watcher import Batch, Watcher

log = logging.getLogger(__name__)

COOKIE_S = 2.0
"""How long a cookie is waited for."""


class ProjectWatch:
    """The watch of one project's folders, on the indexer's working thread; there is none before `begin`.

    `on_batch` is called from the watcher's thread when there is a batch to be taken. Cookies are written into
    `folder`, which is the project's own in the state folder. `make_watcher` is called as `Watcher` is.
    """

    def __init__(
        self, folder: str, on_batch: Callable[[], object], make_watcher: Callable[..., Watcher] = Watcher
    ) -> None:
        self._on_batch = on_batch
        self._make_watcher = make_watcher
        self._watcher: Watcher | None = None
        self._batches: deque[Batch] = deque()
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
        """Whether the system tells of changes."""
        return self.mode == "native"

    @property
    def problem(self) -> str:
        """Say why the system doesn't tell of changes, or nothing."""
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

    def caught_up(self) -> bool:
        """Whether every event from before now is in a batch that can be taken."""
        if self._watcher is None:
            return False
        try:
            return self._watcher.wait_cookie(self._watcher.write_cookie(), COOKIE_S)
        except OSError as error:
            log.warning("the cookie folder can't be written to, the tree is swept instead: %s", error)
            return False

    def next_batch(self) -> Batch | None:
        """Return the next batch in order, None where all were taken."""
        return self._batches.popleft() if self._batches and not self._closed else None

    def end(self) -> None:
        """Stop watching; what was heard before can still be taken."""
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def close(self) -> None:
        """Stop watching for good."""
        self._closed = True
        self.end()

    def _hear(self, batch: Batch) -> None:
        """Take a batch from the watcher's thread to ours."""
        self._batches.append(batch)
        self._on_batch()
