"""Whether an experience still holds: by its commit, and by sketches of its files.

A sketch is the smallest hashes of a text's lines: for two texts the smallest of all lines are a fair sample
of both, so the common share estimates their Jaccard similarity (Broder 1997, bottom-k sketches).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from array import array
from collections.abc import Callable, Collection

from msgspec import Struct
from msgspec.structs import replace

from ..core.sized_cache import SizedCache
from ..core.system import Stamp, System, stamp_of
from ..project import commits, git
from ..project.content import decode
from .experience import SKETCHES_MAX, BadField, Draft, Experience, relative_files

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


CHANGED_MUCH = 0.5
"""Minimum share of common lines for a file to count as the same: below it more than half of all lines are new
or gone."""

STALE_WEIGHT = 0.4
"""Weight of a stale experience: it ranks below a fresh one that is half as near."""

FILES_NAMED = 2


class Staleness(Struct, frozen=True):
    """Why an experience may not hold any more, in words; empty for a fresh one."""

    reason: str = ""

    @property
    def weight(self) -> float:
        """The factor of its score, 0 to 1."""
        return STALE_WEIGHT if self.reason else 1.0


FRESH = Staleness()


def staleness_of(
    experience: Experience,
    sketches: dict[str, Sketch],
    now: Callable[[str], Sketch | None],
    reverted: Collection[str],
) -> Staleness:
    """Return the staleness of an experience.

    `sketches` are of its files when it was made, `now(path)` of a file now, None if it is gone. `reverted`
    are full ids of commits that git reverted. Files outside the project or without a sketch don't count. If
    the code returns to its former state, the experience is fresh again.
    """
    if experience.commit and any(commit.startswith(experience.commit) for commit in reverted):
        return Staleness(f"its commit {experience.commit[:8]} was reverted")
    gone = [path for path in sketches if now(path) is None]
    if gone and len(gone) == len(sketches):
        return Staleness(f"{_named(gone)} {'is' if len(gone) == 1 else 'are'} gone")
    changed = [
        path
        for path, sketch in sketches.items()
        if (today := now(path)) is not None and sketch.similarity(today) < CHANGED_MUCH
    ]
    if changed:
        return Staleness(f"{_named(changed)} changed much since")
    return Staleness(f"{_named(gone)} {'is' if len(gone) == 1 else 'are'} gone") if gone else FRESH


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - FILES_NAMED} more" if len(paths) > FILES_NAMED else ""
    return ", ".join(paths[:FILES_NAMED]) + more


LINES_KEPT = 64
"""Number of hashes: the estimate's standard error is at most .06; a sketch takes 344 characters in the
pool."""

_BYTES = 4


class Sketch(Struct, frozen=True):
    """The smallest hashes of a text's lines, ascending; blank lines and indentation don't count."""

    hashes: tuple[int, ...] = ()

    def similarity(self, other: Sketch) -> float:
        """Estimate the share of common lines, 0 to 1; two texts without lines are equal."""
        smallest = sorted({*self.hashes, *other.hashes})[:LINES_KEPT]
        if not smallest:
            return 1.0
        mine, theirs = set(self.hashes), set(other.hashes)
        return sum(line_hash in mine and line_hash in theirs for line_hash in smallest) / len(smallest)


def sketch_of(text: str) -> Sketch:
    """Return the sketch of a text. Takes about a microsecond a line."""
    lines = {line.strip() for line in text.splitlines()} - {""}
    hashes = {
        int.from_bytes(
            hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest(), "big"
        )
        for line in lines
    }
    return Sketch(tuple(sorted(hashes)[:LINES_KEPT]))


def encoded(sketch: Sketch) -> str:
    """Return a sketch as text, in base64."""
    return base64.b64encode(
        b"".join(line_hash.to_bytes(_BYTES, "big") for line_hash in sketch.hashes)
    ).decode()


def decoded(text: str) -> Sketch | None:
    """Decode a sketch; None for an invalid text."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) % _BYTES or len(data) > LINES_KEPT * _BYTES:
        return None
    hashes = array("Q", (int.from_bytes(data[at : at + _BYTES], "big") for at in range(0, len(data), _BYTES)))
    return Sketch(tuple(hashes)) if list(hashes) == sorted(set(hashes)) else None
