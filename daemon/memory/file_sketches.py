"""Whether an experience still holds, by sketches of its files.

A sketch is the smallest hashes of a text's lines: for two texts the smallest of all lines are a fair sample
of both, so the common share estimates their Jaccard similarity (Broder 1997, bottom-k sketches).
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from ..core.errors import InvalidRequest
from ..core.sized_cache import SizedCache
from ..core.system import Stamp, System, stamp_of
from ..project.service import decode
from .experience import SKETCHES_MAX, Draft, Experience, relative_files

SKETCHED_BYTES = 262_144
"""Maximum bytes of a file that is sketched: decisions are seldom about larger files."""

KEPT_MAX = 4_096
"""Maximum number of cached sketches of files' current contents, half a kilobyte each."""

CHANGED_MUCH = 0.5
"""Minimum share of common lines for a file to count as the same: below it more than half of all lines are new
or gone."""

LINES_KEPT = 64
"""Number of hashes: the estimate's standard error is at most .06; a sketch takes 344 characters in the
pool."""

FILES_NAMED = 2

_BYTES = 4

Sketch = frozenset[bytes]
"""The smallest hashes of a text's lines; blank lines and indentation don't count."""


class FileSketches:
    """The sketches of one project's files. From any thread; blocks for stats and files that changed."""

    def __init__(self, root: str, system: System) -> None:
        self._root = root
        self._system = system
        self._kept = SizedCache[str, tuple[Stamp, Sketch]](KEPT_MAX)

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
        except InvalidRequest:
            return draft  # the pool says what is wrong when it is stored
        found = ((path, self.now(path)) for path in files[:SKETCHES_MAX])
        return replace(
            draft, sketches=tuple((path, encoded(sketch)) for path, sketch in found if sketch is not None)
        )

    def staleness(self, experience: Experience) -> str:
        """Return why an experience may not hold any more, in words; empty for a fresh one."""
        then = {path: sketch for path, text in experience.sketches if (sketch := decoded(text)) is not None}
        return staleness_of(then, self.now)


def staleness_of(sketches: Mapping[str, Sketch], now: Callable[[str], Sketch | None]) -> str:
    """Return why an experience may not hold any more.

    `sketches` are of its files when it was made, `now(path)` of a file now, None if it is gone. Files outside
    the project or without a sketch don't count. If the code returns to its former state, the experience is
    fresh again.
    """
    current = {path: now(path) for path in sketches}
    gone = [path for path, sketch in current.items() if sketch is None]
    changed = [
        path
        for path, sketch in current.items()
        if sketch is not None and similarity(sketch, sketches[path]) < CHANGED_MUCH
    ]
    if changed:
        return f"{_named(changed)} changed much since"
    return f"{_named(gone)} {'is' if len(gone) == 1 else 'are'} gone" if gone else ""


def _named(paths: list[str]) -> str:
    more = f" and {len(paths) - FILES_NAMED} more" if len(paths) > FILES_NAMED else ""
    return ", ".join(paths[:FILES_NAMED]) + more


def similarity(one: Sketch, other: Sketch) -> float:
    """Estimate the share of common lines, 0 to 1; two texts without lines are equal."""
    smallest = sorted(one | other)[:LINES_KEPT]
    return len(one & other & set(smallest)) / len(smallest) if smallest else 1.0


def sketch_of(text: str) -> Sketch:
    """Return the sketch of a text. Takes about a microsecond a line."""
    lines = {line.strip() for line in text.splitlines()} - {""}
    hashes = {
        hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest() for line in lines
    }
    return frozenset(sorted(hashes)[:LINES_KEPT])


def encoded(sketch: Sketch) -> str:
    """Return a sketch as text, in base64."""
    return base64.b64encode(b"".join(sorted(sketch))).decode()


def decoded(text: str) -> Sketch | None:
    """Decode a sketch; None for an invalid text."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    hashes = [data[at : at + _BYTES] for at in range(0, len(data), _BYTES)]
    is_valid = len(data) % _BYTES == 0 and len(hashes) <= LINES_KEPT and hashes == sorted(set(hashes))
    return frozenset(hashes) if is_valid else None
