"""A place in the graph that answers a question: how sure it is, and what leads there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from .code_graph import CodeGraph

Certainty = Literal["", "resolved", "name"]
"""How sure an answer of the graph is: through imports, or by the name alone; empty for what isn't one."""

FOUND_MAX: Final = 500
"""Maximum number of places of one certainty looked at for an answer; that there are more is said."""


class FoundPlace(Struct, frozen=True):
    """A place that answers a question.

    `node` is the id of the definition that is the answer, or in which the reference stands; 0 for the file
    itself. `line` is the line to show, in `path`. `reference` is where the reference stands if that is
    elsewhere. `steps` are the definitions that lead from `node` to what was asked about, and `via` says in
    words what leads there. `distance` orders answers of the same certainty.
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
    """All that was found, in order, and what is to be said about it. `more` says that there is more still."""

    found: Sequence[FoundPlace] = ()
    remarks: tuple[str, ...] = ()
    more: bool = False


def in_order(found: Iterable[FoundPlace], graph: CodeGraph) -> list[FoundPlace]:
    """Return places once each: the resolved ones first, then the near, then sources before tests."""
    places: dict[str, int] = {}

    def place(path: str) -> int:
        if path not in places:
            places[path] = graph.place(path)
        return places[path]

    def key(item: FoundPlace) -> tuple[bool, int, int, str, int, str]:
        return (item.certainty != "resolved", item.distance, place(item.path), item.path, item.line, item.via)

    unique: dict[tuple[str, int, int], FoundPlace] = {}
    for item in sorted(found, key=key):
        # What a reference leads to is an answer of its own; where it stands is one answer a line.
        unique.setdefault((item.path, item.line, item.node if item.reference else 0), item)
    return list(unique.values())


Handler = Callable[..., Findings]
