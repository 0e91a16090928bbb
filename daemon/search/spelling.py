"""Owns names in other case styles, and the nearest to a misspelt one; the only file that knows rapidfuzz."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..index.store import Reader
from ..project.tree import Tree
from .generation_cache import GenerationCache

NAMES_MAX: Final = 500_000
"""Maximum number of distinct names looked at: with that many a misspelt one takes 150 ms, with 20,000 some
2 ms."""

NEAREST_MAX: Final = 5
"""Maximum number of names offered for one that doesn't exist."""

SHORTEST: Final = 3
"""A shorter name is near to too many others."""

CANDIDATES_MAX: Final = 40
"""Maximum number of names of the least distance put into order by what else they share."""


def styles(name: str) -> tuple[str, ...]:
    """Return a name in the other case styles: `getUser` as `get_user`, `GetUser`, `GET_USER`, `getuser`."""
    parts = [part.lower() for part in _WORD.findall(name)]
    if not parts:
        return ()
    capitals = [part.capitalize() for part in parts]
    private = name[: len(name) - len(name.lstrip("_"))]
    written = (
        "_".join(parts),
        parts[0] + "".join(capitals[1:]),
        "".join(capitals),
        "_".join(parts).upper(),
        "".join(parts),
        "-".join(parts),
    )
    found = dict.fromkeys((*(private + one for one in written), *written))
    return tuple(one for one in found if one != name)


def nearest(name: str, tree: Tree, reader: Reader) -> tuple[list[str], bool]:
    """Return the last names of definitions that are nearest to one that doesn't exist, best first, and
    whether the first of them is near enough to be taken for it.

    Near is what takes few letters to be inserted, left out, replaced or swapped: one for each five letters
    of the longer name, at most three, and one more to be offered. Only what begins with the same letter is
    taken, since that is hardly ever the wrong one, while most short words are near to another. Case and
    underscores count for nothing.
    """
    plain = _plain(name)
    if len(plain) < SHORTEST:
        return [], False
    from rapidfuzz import process  # here, since it takes 20 ms and only a name that doesn't exist needs it
    from rapidfuzz.distance import OSA

    written, plains = _names.get(tree, reader)
    most = _allowed(f"{plain}.") + 1
    found = process.extract(plain, plains, scorer=OSA.distance, score_cutoff=most, limit=CANDIDATES_MAX)
    ordered = sorted(
        (distance > _allowed(max(plain, each, key=len)) or each[:1] != plain[:1], distance, written[at])
        for each, distance, at in found
    )
    taken = bool(ordered) and not ordered[0][0]
    return [each for _, _, each in ordered[:NEAREST_MAX]], taken


_WORD = re.compile(r"[^\W\d_]?[^\W\dA-Z_]+\d*|[A-Z]+(?![a-z])\d*|\d+")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _allowed(plain: str) -> int:
    return min(len(plain) // 5, 3)


def _read(reader: Reader) -> tuple[Sequence[str], Sequence[str]]:
    """Return names as written, and the same without what counts for nothing."""
    written = reader.graph.base_names(NAMES_MAX)
    return written, [_plain(each) for each in written]


_names = GenerationCache(_read)
