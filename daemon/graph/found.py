"""A place in the code graph that answers a question, with its certainty and the path to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final, Literal

from msgspec import Struct

Certainty = Literal["", "resolved", "name"]
"""The certainty of an answer: resolved through imports, matched by name alone, or empty if neither
applies."""

FOUND_MAX: Final = 500
"""Maximum number of places of each certainty in an answer; beyond it the answer says that there are more."""


class FoundPlace(Struct, frozen=True):
    """A place that answers a question.

    `node` is the id of the definition that is the answer, or of the definition around the reference; 0 for
    the file itself. `line` is the line to show, in `path`. `reference` is the place of the reference if it is
    elsewhere. `steps` are the definitions from `node` to the subject, and `via` describes them in words.
    `distance` orders answers of the same certainty.
    """

    path: str
    line: int
    node: int = 0
    certainty: Certainty = "resolved"
    via: str = ""
    why: str = ""
    steps: tuple[int, ...] = ()
    reference: tuple[str, int] | None = None
    distance: int = 0


class Findings(Struct, frozen=True):
    """The places found, in order, and remarks about them. `more` says that there are more places."""

    found: Sequence[FoundPlace] = ()
    remarks: tuple[str, ...] = ()
    more: bool = False


def in_order(found: Iterable[FoundPlace], place: Callable[[str], int]) -> list[FoundPlace]:
    """Return places without duplicates: resolved ones first, then by distance, then by the `place` of their
    file, such as sources before tests."""
    place_of = cache(place)

    def key(item: FoundPlace) -> tuple[bool, int, int, str, int, str]:
        by_file = (place_of(item.path), item.path, item.line)
        return (item.certainty != "resolved", item.distance, *by_file, item.via)

    unique: dict[tuple[str, int, int], FoundPlace] = {}
    for item in sorted(found, key=key):
        # Several targets on a line are separate answers; several references on a line are shown once.
        unique.setdefault((item.path, item.line, item.node if item.reference else 0), item)
    return list(unique.values())


Handler = Callable[..., Findings]
