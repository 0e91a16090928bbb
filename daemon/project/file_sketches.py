"""Sketches of a project's files: as they are when an experience is made, and as they are now."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from msgspec.structs import replace

from ..context.content import decode
from ..core.system import Stamp, System, stamp_of
from ..memory.experience import SKETCHES_MAX, BadField, Draft, Experience, relative_files
from ..memory.recall import Sketch, Staleness, decoded, encoded, sketch_of, staleness_of
from . import commits, git

SKETCHED_BYTES = 262_144
"""Maximum number of bytes of a file that are compared: decisions are seldom about larger files."""

KEPT_MAX = 4_096
"""Maximum number of cached sketches of files as they are now, half a kilobyte each."""


class FileSketches:
    """The sketches of one project's files. From any thread; blocks for stats and files that changed."""

    def __init__(self, root: str, system: System) -> None:
        self._root = root
        self._system = system
        self._kept: OrderedDict[str, tuple[Stamp, Sketch]] = OrderedDict()
        self._reverted: tuple[str, frozenset[str]] = ("", frozenset())
        self._lock = threading.Lock()

    def now(self, path: str) -> Sketch | None:
        """Return the sketch of a file as it is, by its relative path; None where there is none to read."""
        full = os.path.join(self._root, path)
        try:
            if os.path.realpath(full) != full:
                return None  # what lies behind a link is no file of the project
            stamp = stamp_of(self._system.stat(full))
            with self._lock:
                known = self._kept.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            data, _ = self._system.read(full, SKETCHED_BYTES)
        except (OSError, ValueError):
            return None
        sketch = sketch_of(decode(data, cut=True))
        with self._lock:
            self._kept[path] = (stamp, sketch)
            self._kept.move_to_end(path)
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return sketch

    def sketched(self, draft: Draft) -> Draft:
        """Return a draft with the sketches of its files as they are."""
        try:
            files, _ = relative_files(draft.files_touched, self._root)
        except BadField:
            return draft  # the pool says what is wrong when it is stored
        found = ((path, self.now(path)) for path in files[:SKETCHES_MAX])
        return replace(
            draft, sketches=tuple((path, encoded(sketch)) for path, sketch in found if sketch is not None)
        )

    def staleness(self, experience: Experience) -> Staleness:
        """Return whether an experience still holds."""
        then = {path: sketch for path, text in experience.sketches if (sketch := decoded(text)) is not None}
        reverted = self._reverted_commits() if experience.commit else frozenset()
        return staleness_of(experience, then, self.now, reverted)

    def _reverted_commits(self) -> frozenset[str]:
        """Return what git reverted, asked anew when another commit is checked out."""
        head = git.head(self._root, self._system)
        if head is None or not head.commit:
            return frozenset()
        if self._reverted[0] != head.commit:
            try:
                found = commits.reverts(self._root).undone
            except git.GitError as error:
                found = frozenset()
                if self._system.deny(error.__cause__):
                    return found
                # Else kept: without git, or in a repository that it rejects, which the scan says
            self._reverted = (head.commit, found)
        return self._reverted[1]
