"""Owns whether an experience still holds: what became of its files and of its commit. Knows no disk."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec import Struct

from .experience import Experience
from .sketch import Sketch

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
    if experience.commit and any(one.startswith(experience.commit) for one in reverted):
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
