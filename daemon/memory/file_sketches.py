"""Sketches of the files that experiences are about, which show whether the files have changed since."""

from __future__ import annotations

import os

from msgspec.structs import replace

from ..core.sized_cache import SizedCache
from ..core.system import Stamp, System, stamp_of
from ..project import commits, git
from ..project.content import decode
from .experience import SKETCHES_MAX, BadField, Draft, Experience, relative_files
from .recall import Sketch, Staleness, decoded, encoded, sketch_of, staleness_of

SKETCHED_BYTES = 262_144
"""Maximum bytes of a file that is sketched: decisions are seldom about larger files."""

KEPT_MAX = 4_096
"""Maximum number of cached sketches of files' current contents, half a kilobyte each."""


class FileSketches:
    """The sketches of one project's files. From any thread; blocks for stats and files that changed."""

    def __init__(self, root: str, system: System) -> None:
        self._root = root
        self._system = system
        self._kept = SizedCache[str, tuple[Stamp, Sketch]](KEPT_MAX)
        self._reverted: tuple[str, frozenset[str]] = ("", frozenset())

    def now(self, path: str) -> Sketch | None:
        """Return the sketch of a file's current content, by its relative path; None if it can't be read."""
        full = os.path.join(self._root, path)
        try:
            if os.path.realpath(full) != full:
                return None  # the target of a link is no file of the project
            stamp = stamp_of(self._system.stat(full))
            known = self._kept.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            data, _ = self._system.read(full, SKETCHED_BYTES)
        except (OSError, ValueError):
            return None
        sketch = sketch_of(decode(data, cut=True))
        self._kept.put(path, (stamp, sketch), 1)
        return sketch

    def sketched(self, draft: Draft) -> Draft:
        """Return a draft with the sketches of its files' current contents."""
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
        """Return the commits that git reverted; read again when another commit is checked out."""
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
