"""Owns filters: which files and chunks a question is asked of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..index.chunk_table import StoredChunk
from ..project.globs import compile_glob
from ..project.tree import FileRecord, Tree


@dataclass(frozen=True, slots=True)
class Filter:
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
        is_kind = chunk.kind in self.kinds or any(chunk.start_line <= one <= chunk.end_line for one in lines)
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
