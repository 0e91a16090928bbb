"""Filters that limit a question to some of the files and chunks of a project."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from ..core.globs import anchored_globs, compile_glob
from ..index.records import StoredChunk
from ..languages.shared.language import LANGUAGES
from ..project.records import PROSE_LANGUAGES, FileRecord
from ..project.service import Tree


class Filter(Struct, frozen=True):
    """The conditions that all results must meet; an empty field is no condition.

    - `path_prefix`: a folder, a file or the beginning of either, relative to the root.
    - `glob`: a pattern for paths relative to the root.
    - `languages`: the languages of files, by the names in their records.
    - `kinds`: the kinds of definitions (`function`, `class`, `section`).
    - `symbol`: the qualified name of a definition; results are this definition, lie in it, or contain it.
    - `changed_ns`: nanoseconds since the epoch; the files were modified at this time or later.
    """

    path_prefix: str = ""
    glob: str = ""
    languages: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    symbol: str = ""
    changed_ns: int = 0

    def chooses_files(self) -> bool:
        """Whether the filter has a condition on files."""
        return bool(self.path_prefix or self.glob or self.languages or self.changed_ns)

    def files(self, tree: Tree) -> list[str] | None:
        """Return the files that pass the filter, None for all. 100,000 files with a glob take 50 ms.

        Raises `ValueError` for a glob that can't be used.
        """
        if not self.chooses_files():
            return None
        if self.path_prefix in tree.files:
            # The name of a file means this file only, and not other files whose names begin with it.
            record = tree.files[self.path_prefix]
            return [self.path_prefix] if self._holds(self.path_prefix, record) else []
        glob = compile_glob(self.glob) if self.glob else None
        return [
            path
            for path, record in tree.files.items()
            if self._holds(path, record) and (glob is None or glob.matches(path))
        ]

    def holds_chunk(self, chunk: StoredChunk, lines: Iterable[int] = ()) -> bool:
        """Whether a chunk passes the filter, if its file does.

        `lines` are the first lines of the file's definitions of the wanted kinds. They are needed because a
        chunk may contain several small definitions.
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
    """Return the kinds of places in files of a language; "" stands for files without a known language."""
    row = LANGUAGES.get(language)
    found = _KIND.findall(row.definitions) if row is not None else ()
    written = {kind for kinds in found for kind in kinds.split("|")}
    # `_REFINED` replaces a kind of the query by the kinds that are shown for it, which may be none.
    shown = {kind for one in written for kind in _REFINED.get(one, (one,))}
    headings = ("section",) if not language or language in PROSE_LANGUAGES else ()
    return frozenset({*shown, *headings, *_PLAIN})


def kinds_in(tree: Tree) -> list[str]:
    """Return the kinds of places in a project, sorted by name. 100,000 files take 10 ms."""
    languages = {record.language for record in tree.files.values()}
    return sorted(frozenset().union(*map(kinds_of, languages or {""})))


def all_kinds() -> frozenset[str]:
    """Return the kinds of places in all languages."""
    return frozenset().union(*map(kinds_of, ("", *LANGUAGES)))


def check_glob(pattern: str) -> None:
    """Raise `ValueError` with a message for people if a glob is invalid or incomplete.

    In rules and focus paths an unclosed bracket or brace stands for itself, as in `app/[slug`. In a filter it
    is more likely an incomplete pattern, which would silently match no file.
    """
    compile_glob(pattern)
    for alternative in anchored_globs(pattern):
        for name in alternative.split("/"):
            opened = _OPENED.search(_CLOSED.sub("", name))
            if opened:
                raise ValueError(
                    f"nothing closes the {opened[0]!r} in {pattern!r}; for the character write \\{opened[0]}"
                )


_KIND = re.compile(r'#set! kind "([\w|]+)"')
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
"""An escaped character, or a character class; a closing bracket that comes first in a class belongs to it."""

_OPENED = re.compile(r"[\[{]")
