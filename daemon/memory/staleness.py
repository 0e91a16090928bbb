"""Owns whether an experience still holds: what became of its files and of its commit. Knows no disk."""

from __future__ import annotations

import base64
import binascii
import hashlib
from array import array
from collections.abc import Callable, Collection

from msgspec import Struct

from .experience import Experience

CHANGED_MUCH = 0.5
"""Below this share of lines in common a file is another one than the decision was about: more than half of
all lines of both are new or gone."""

STALE_WEIGHT = 0.4
"""What a stale experience weighs of what it would: behind a fresh one that is half as near."""

FILES_NAMED = 2


class Staleness(Struct, frozen=True):
    """Why an experience may not hold any more, in words; "" for one that is fresh."""

    reason: str = ""

    @property
    def weight(self) -> float:
        """What it weighs of what it would if it were fresh, 0 to 1."""
        return STALE_WEIGHT if self.reason else 1.0


FRESH = Staleness()


def staleness_of(
    experience: Experience,
    sketches: dict[str, Sketch],
    now: Callable[[str], Sketch | None],
    reverted: Collection[str],
) -> Staleness:
    """Return how fresh an experience is.

    `sketches` are those of its files when it was made, `now(path)` that of a file as it is, None where there
    is none any more. `reverted` are ids of commits that git reverted, in full. It says nothing about files
    outside of the project or without a sketch. When the code returns to what it was it is fresh again.
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
"""The estimate's standard error is at most .06 then; a sketch takes 344 characters in the pool."""

_BYTES = 4


class Sketch(Struct, frozen=True):
    """The smallest hashes of a text's lines, ascending; blank lines and indentation don't count."""

    hashes: tuple[int, ...] = ()

    def similarity(self, other: Sketch) -> float:
        """Estimate which share of all lines both texts have, 0 to 1; two texts without lines are equal."""
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
    """Read a sketch back; None for a text that is none."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) % _BYTES or len(data) > LINES_KEPT * _BYTES:
        return None
    hashes = array("Q", (int.from_bytes(data[at : at + _BYTES], "big") for at in range(0, len(data), _BYTES)))
    return Sketch(tuple(hashes)) if list(hashes) == sorted(set(hashes)) else None
