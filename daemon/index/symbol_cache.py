"""Cached definitions of files, by content; and definitions with their secrets masked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from ..core.sized_cache import SizedCache
from ..languages.shared.records import Symbol
from ..privacy.secret_values import MASK, mask_piece, may_hold_secrets
from ..project.records import FileRecord

SYMBOLS_MAX = 30_000
"""Maximum number of cached definitions, about 350 bytes each. A prompt needs about 1,200; reading them took
an eighth of the build time."""

SymbolsKey = tuple[bytes, str, int]
"""The digest of a file's content, its language, and its number of definitions. They identify the definitions,
because a parser uses nothing else."""


class KeptSymbols:
    """A cache of the definitions of files, by content. Thread-safe."""

    def __init__(self, most: int = SYMBOLS_MAX) -> None:
        self._most = most
        self._kept = SizedCache[SymbolsKey, tuple[Symbol, ...]](most)

    @property
    def count(self) -> int:
        """The number of cached definitions."""
        return self._kept.size

    def of(self, record: FileRecord, read: Callable[[str], tuple[Symbol, ...]]) -> tuple[Symbol, ...]:
        """Return the definitions of a file from the cache, or else by calling `read`."""
        key = _key_of(record)
        known = self._kept.get(key)
        if known is not None:
            return known
        found = read(record.path)
        if len(found) != record.symbols or not record.digest:
            return found  # the index changed after the record was read
        if len(found) <= self._most:
            self._kept.put(key, found, len(found) or 1)
        return found

    def forget(self, record: FileRecord) -> None:
        """Forget the definitions of a file's former content, which usually no other file has."""
        self._kept.discard(_key_of(record))


def _key_of(record: FileRecord) -> SymbolsKey:
    return record.digest, record.language, record.symbols


KEPT_SYMBOLS = KeptSymbols()
"""The cache of this process; projects may share it, since definitions depend on the content alone."""

MASKED_SYMBOLS = KeptSymbols()
"""The same for files with secrets, which are masked in the definitions."""


SIGNATURE_MAX = 400
"""Maximum characters of a signature, as in the index."""


def masked_symbols(symbols: Iterable[Symbol], text: str) -> tuple[Symbol, ...]:
    """Return the definitions of a file with its secrets masked; `text` is the file's masked text.

    A signature in the index may be cut inside a secret, which then isn't recognizable. So a signature whose
    lines have a masked secret is replaced by its first line in `text`, and documentation from such lines is
    dropped.
    """
    known = tuple(symbols)
    lines = text.split("\n")
    masked = [number for number, line in enumerate(lines) if MASK in line]
    clean = not may_hold_secrets(part for symbol in known for part in (symbol.signature, symbol.doc))
    return tuple(_masked(symbol, lines, masked, clean=clean) for symbol in known)


def _masked(symbol: Symbol, lines: list[str], masked: list[int], *, clean: bool) -> Symbol:
    """Return a definition without secrets; `masked` are the sorted indexes of lines with one.

    With `clean` the signatures and documentation in the index have none.
    """
    first = symbol.start_line - 1
    head = first + symbol.signature.count("\n") + 1
    signature, doc = symbol.signature, symbol.doc
    if not clean:
        signature, doc = mask_piece(signature).text, mask_piece(doc).text
    if _any_between(masked, first, head):
        signature = lines[first].strip()[:SIGNATURE_MAX]
    if doc and _any_between(masked, first - 1, symbol.end_line):
        doc = doc if doc == symbol.doc and any(doc in line for line in lines) else ""
    if signature == symbol.signature and doc == symbol.doc:
        return symbol
    return replace(symbol, signature=signature, doc=doc)


def _any_between(masked: list[int], start: int, end: int) -> bool:
    """Whether any line from `start` up to before `end` is masked."""
    place = bisect_left(masked, start)
    return place < len(masked) and masked[place] < end
