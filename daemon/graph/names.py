"""The names that a project defines: which a part of one stands for, which is nearest to a misspelt one.

The only file that knows rapidfuzz.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from ..index.store import Reader
from ..project.tree import Tree
from .generation_cache import GenerationCache

NAMES_MAX: Final = 500_000
"""Maximum number of distinct names looked at: with that many a misspelt one takes 150 ms. 20,000 take 2 ms by
their beginnings or for a misspelt one, and 15 ms by all ways."""

PART_MAX: Final = 200
"""A longer text, in characters, is no part of a name."""

SCATTERED_LEAST: Final = 3
"""Fewer letters, one after the other with others between them, are in nearly every name."""


class Name(NamedTuple):
    """The last name of definitions: as written, and in small letters."""

    written: str
    plain: str

    def starts(self) -> frozenset[int]:
        """Return where words begin: in `getHTTPServer_v2` at `g`, `H`, `S`, `v` and `2`."""
        return frozenset(match.start() for match in _WORD.finditer(self.written))


def fitting(part: str, tree: Tree, reader: Reader) -> Iterator[tuple[int, str]]:
    """Yield the names that a part may stand for, best first, each with how well it fits, 0 the best.

    0: it is the name, or 1: but for case; 2: the name begins with it; 3: it is made of beginnings of the
    name's words, in order (`goc`, `getcr` for `get_or_create`, `QS` for `QuerySet`); 4: it is in the name;
    5: its letters are, in order. Of those that fit alike the shortest comes first. What fits worse is only
    looked for when it is asked for.
    """
    if not part or len(part) > PART_MAX:
        return
    names = _names.get(tree, reader)
    plain = _folded(part)
    yield from _ordered(_beginning(part, plain, names))
    in_order = re.compile("".join(f"[^{re.escape(char)}]*+{re.escape(char)}" for char in plain), re.DOTALL)
    left = [name for name in names if not name.plain.startswith(plain) and in_order.match(name.plain)]
    for fit, fits in _WAYS:
        found = [name for name in left if fits(plain, name)]
        yield from _ordered([(fit, name) for name in found])
        gone = set(found)
        left = [name for name in left if name not in gone]


def _beginning(part: str, plain: str, names: Sequence[Name]) -> list[tuple[int, Name]]:
    return [
        (0 if name.written == part else 1 if name.plain == plain else 2, name)
        for name in names
        if name.plain.startswith(plain)
    ]


def _by_words(plain: str, name: Name) -> bool:
    """Whether a part is made of beginnings of words: each letter begins one, or follows the last letter."""
    starts = name.starts()
    at = {start for start in starts if name.plain[start] == plain[0]}
    for char in plain[1:]:
        if not at:
            return False
        first = min(at)
        at = {
            here
            for here in {*(one + 1 for one in at), *(start for start in starts if start > first)}
            if here < len(name.plain) and name.plain[here] == char
        }
    return bool(at)


def _within(plain: str, name: Name) -> bool:
    return plain in name.plain


def _scattered(plain: str, name: Name) -> bool:
    return len(plain) >= SCATTERED_LEAST  # that the letters are there in order is known


_WAYS: Final[tuple[tuple[int, Callable[[str, Name], bool]], ...]] = (
    (3, _by_words),
    (4, _within),
    (5, _scattered),
)

_WORD: Final = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])|\d+")


def _ordered(found: Sequence[tuple[int, Name]]) -> Iterator[tuple[int, str]]:
    for fit, name in sorted(found, key=lambda each: (each[0], len(each[1].written), each[1].written)):
        yield fit, name.written


def _folded(text: str) -> str:
    """Return a text in small letters, as long as it was: a few capitals have two of them."""
    small = text.lower()
    return small if len(small) == len(text) else text


def _read_names(reader: Reader) -> list[Name]:
    return [Name(written, _folded(written)) for written in reader.graph.base_names(NAMES_MAX)]


_names = GenerationCache(_read_names)


NEAREST_MAX: Final = 5
"""Maximum number of names offered for one that doesn't exist."""

SHORTEST: Final = 3
"""A shorter name is near to too many others."""

CANDIDATES_MAX: Final = 40
"""Maximum number of names of the least distance put into order by what else they share."""


def styles(name: str) -> tuple[str, ...]:
    """Return a name in the other case styles: `getUser` as `get_user`, `GetUser`, `GET_USER`, `getuser`."""
    parts = [part.lower() for part in _STYLED_WORD.findall(name)]
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
    return tuple(item for item in found if item != name)


def nearest(name: str, tree: Tree, reader: Reader) -> tuple[list[str], bool]:
    """Return the last names of definitions that are nearest to one that doesn't exist, best first, and
    whether the first of them is near enough to be taken for it.

    Near is what takes few letters to be inserted, left out, replaced or swapped: one for each five letters
    of the longer name, at most three, and one more to be offered. Only what begins with the same letter is
    taken, since that is hardly ever the wrong one, while most short words are near to another. Case and
    underscores count for nothing.
    """
    plain = _bare(name)
    if len(plain) < SHORTEST:
        return [], False
    from rapidfuzz import process  # here, since it takes 20 ms and only a name that doesn't exist needs it
    from rapidfuzz.distance import OSA

    written, plains = _bare_names.get(tree, reader)
    most = _allowed(f"{plain}.") + 1
    found = process.extract(plain, plains, scorer=OSA.distance, score_cutoff=most, limit=CANDIDATES_MAX)
    ordered = sorted(
        (distance > _allowed(max(plain, each, key=len)) or each[:1] != plain[:1], distance, written[at])
        for each, distance, at in found
    )
    taken = bool(ordered) and not ordered[0][0]
    return [each for _, _, each in ordered[:NEAREST_MAX]], taken


_STYLED_WORD = re.compile(r"[^\W\d_]?[^\W\dA-Z_]+\d*|[A-Z]+(?![a-z])\d*|\d+")


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _allowed(plain: str) -> int:
    return min(len(plain) // 5, 3)


def _read_bare(reader: Reader) -> tuple[Sequence[str], Sequence[str]]:
    """Return names as written, and the same without what counts for nothing."""
    written = reader.graph.base_names(NAMES_MAX)
    return written, [_bare(each) for each in written]


_bare_names = GenerationCache(_read_bare)
