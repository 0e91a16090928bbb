"""Filters: which files and chunks a question is asked of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from ..index.chunk_table import StoredChunk
from ..index.text_kind import PROSE_LANGUAGES
from ..languages.shared.language import LANGUAGES
from ..project.globs import anchored_globs, compile_glob
from ..project.tree import FileRecord, Tree


class Filter(Struct, frozen=True):
    """What results must be; every part that is given must hold.

    `path_prefix` is a folder, a file or the beginning of either, relative to the root. `languages` are names
    as in the records, `kinds` those of definitions (`function`, `class`, `section`). `symbol` is a qualified
    name: the results lie in it, are it, or hold it. `changed_ns` is a time in nanoseconds since the epoch,
    and the files were modified then or later.
    """

    path_prefix: str = ""
    glob: str = ""
    languages: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    symbol: str = ""
    changed_ns: int = 0

    def chooses_files(self) -> bool:
        """Whether it leaves out any file by what it is."""
        return bool(self.path_prefix or self.glob or self.languages or self.changed_ns)

    def files(self, tree: Tree) -> list[str] | None:
        """Return the files that it leaves, None for all. 100,000 files with a glob take 50 ms.

        Raises `ValueError` for a glob that can't be used.
        """
        if not self.chooses_files():
            return None
        if self.path_prefix in tree.files:
            # Somebody who names a file means that one, and not also those whose names go on.
            record = tree.files[self.path_prefix]
            return [self.path_prefix] if self._holds(self.path_prefix, record) else []
        glob = compile_glob(self.glob) if self.glob else None
        return [
            path
            for path, record in tree.files.items()
            if self._holds(path, record) and (glob is None or glob.matches(path))
        ]

    def holds_chunk(self, chunk: StoredChunk, lines: Iterable[int] = ()) -> bool:
        """Whether it leaves a chunk of a file that it leaves.

        `lines` are those at which definitions of its kinds begin: a chunk may hold several small ones.
        """
        is_kind = chunk.kind in self.kinds or any(
            chunk.start_line <= line <= chunk.end_line for line in lines
        )
        if self.kinds and not is_kind:
            return False
        if not self.symbol:
            return True
        inside = f"{self.symbol}."
        return any(name == self.symbol or name.startswith(inside) for name in chunk.names) or (
            chunk.symbol == self.symbol or chunk.symbol.startswith((inside, f"{self.symbol}/"))
        )

    def _holds(self, path: str, record: FileRecord) -> bool:
        return (
            path.startswith(self.path_prefix)
            and (not self.languages or record.language in self.languages)
            and (not self.changed_ns or record.stamp.mtime_ns >= self.changed_ns)
        )


EVERYTHING = Filter()


@cache
def kinds_of(language: str) -> frozenset[str]:
    """Return the kinds that places in files of a language may have; "" is a file of no known language."""
    row = LANGUAGES.get(language)
    written = set(_KIND.findall(row.definitions)) if row is not None else set()
    # Of what a query says some is refined by what stands around it, and some never shown.
    shown = {kind for one in written for kind in _REFINED.get(one, (one,))}
    headings = ("section",) if not language or language in PROSE_LANGUAGES else ()
    return frozenset({*shown, *headings, *_PLAIN})


def kinds_in(tree: Tree) -> list[str]:
    """Return the kinds that places of a project may have, by name. 100,000 files take 10 ms."""
    languages = {record.language for record in tree.files.values()}
    return sorted(frozenset().union(*map(kinds_of, languages or {""})))


def all_kinds() -> frozenset[str]:
    """Return the kinds that any place in any file may have."""
    return frozenset().union(*map(kinds_of, ("", *LANGUAGES)))


def check_glob(pattern: str) -> None:
    """Raise `ValueError`, fit for a person to read, for a glob that can't be used or was hardly meant so.

    Where rules and focus paths name files, a bracket or brace that nothing closes is that character, as in
    `app/[slug`; in a filter it is a pattern that was cut off, and would leave nothing without a word.
    """
    compile_glob(pattern)
    for alternative in anchored_globs(pattern):
        for name in alternative.split("/"):
            opened = _OPENED.search(_CLOSED.sub("", name))
            if opened:
                raise ValueError(
                    f"nothing closes the {opened[0]!r} in {pattern!r}; for the character write \\{opened[0]}"
                )


_KIND = re.compile(r'#set! kind "(\w+)"')
_REFINED = {
    "function": ("function", "method"),
    "constant": ("constant", "variable"),
    "variable": ("constant", "variable"),
    "field": ("prototype",),
    "forward": ("type",),
    "scope": (),
}
_PLAIN = ("code", "text", "data")

_CLOSED = re.compile(r"\\.|\[[!^]?+.[^\]]*\]")
"""A character without its meaning, or a class, in which a bracket in first place is a member."""

_OPENED = re.compile(r"[\[{]")
