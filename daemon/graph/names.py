"""Lookup of defined names: completion of a partial name, and correction of a misspelt name.

Only this file imports rapidfuzz.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from ..index.store import Reader
from ..project.tree import Tree
from .generation_cache import GenerationCache

NAMES_MAX: Final = 500_000
"""Maximum number of distinct names searched: with that many a misspelt name takes 150 ms. 20,000 take 2 ms
for a prefix or a misspelt name, and 15 ms for all kinds of matches."""

PART_MAX: Final = 200
"""Maximum characters of a partial name."""

SCATTERED_LEAST: Final = 3
"""Minimum letters of a partial name that may match scattered letters; nearly every name has any two letters
in order."""


class Name(NamedTuple):
    """The last part of definitions' names: as written, and in lower case."""

    written: str
    plain: str

    def starts(self) -> frozenset[int]:
        """Return the positions at which words begin: in `getHTTPServer_v2` at `g`, `H`, `S`, `v` and `2`."""
        return frozenset(match.start() for match in _WORD.finditer(self.written))


def fitting(part: str, tree: Tree, reader: Reader) -> Iterator[tuple[int, str]]:
    """Yield the definitions that match a partial name, best first, each with its rank, 0 the best.

    The ranks: 0, `part` equals the name; 1, it equals the name except for case; 2, the name begins with it;
    3, it consists of beginnings of the name's words in order (`goc` or `getcr` for `get_or_create`, `QS` for
    `QuerySet`); 4, the name contains it; 5, the name contains its letters in order. Within a rank the
    shortest name comes first. Worse ranks are only searched when the caller asks for more.
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
    """Whether a partial name consists of beginnings of words: each letter begins a word, or follows the last
    letter."""
    starts = name.starts()
    at = {start for start in starts if name.plain[start] == plain[0]}
    for char in plain[1:]:
        if not at:
            return False
        first = min(at)
        at = {
            position
            for position in {*(last + 1 for last in at), *(start for start in starts if start > first)}
            if position < len(name.plain) and name.plain[position] == char
        }
    return bool(at)


def _within(plain: str, name: Name) -> bool:
    return plain in name.plain


def _scattered(plain: str, name: Name) -> bool:
    return len(plain) >= SCATTERED_LEAST  # the letters are known to be there in order


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
    """Return a text in lower case at its original length: a few capitals have two lower-case letters."""
    small = text.lower()
    return small if len(small) == len(text) else text


def _read_names(reader: Reader) -> list[Name]:
    return [Name(written, _folded(written)) for written in reader.graph.base_names(NAMES_MAX)]


_names = GenerationCache(_read_names)


NEAREST_MAX: Final = 5
"""Maximum number of suggestions for an unknown name."""

SHORTEST: Final = 3
"""Minimum characters of a name to correct; a shorter name is similar to too many others."""

CANDIDATES_MAX: Final = 40
"""Maximum number of similar names that are ranked."""


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
    found = dict.fromkeys((*(private + style for style in written), *written))
    return tuple(item for item in found if item != name)


def nearest(name: str, tree: Tree, reader: Reader) -> tuple[list[str], bool]:
    """Return the defined names most similar to an unknown name, best first, and whether the first is similar
    enough to replace it.

    Similar means a small edit distance (insertions, deletions, replacements, swaps): at most one edit for
    every five letters of the longer name, at most three; suggestions may have one edit more. Only names with
    the same first letter count, since that letter is hardly ever wrong, while most short words are similar to
    some other. Case and underscores are ignored.
    """
    plain = _bare(name)
    if len(plain) < SHORTEST:
        return [], False
    from rapidfuzz import process  # imported here: it takes 20 ms and only unknown names need it
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
    """Return names as written, and the same without case and underscores."""
    written = reader.graph.base_names(NAMES_MAX)
    return written, [_bare(each) for each in written]


_bare_names = GenerationCache(_read_bare)
