"""Twins: a definition and its asynchronous version, of which a context shows one and names the other."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from ..languages.shared.records import Symbol
from .excerpt import HASH_COMMENTS, FileSource, on_one_line
from .render import inline

ALIKE_MIN = 0.7
"""Minimum share of the lines of a definition that its twin has too, without the words that only one of them
needs. 39 of 49 such pairs in httpx reach it; the others have less than three lines, or differ."""

LINES_MIN = 3
"""Minimum lines of a twin: naming a shorter one takes as much room as showing it."""

MARKED_MAX = 1_000
"""Maximum number of asynchronous definitions of a file that are compared: each takes .2 milliseconds."""

SIGNATURE_CHARACTERS = 60
"""Maximum characters of the signature of a twin that is only named."""

FUNCTIONS = frozenset({"function", "method"})

_MARKS = re.compile(r"\b(?:async|await)\s+|Async|\basync_|_async\b|Sync\b|\bsync_|_sync\b")
_PREFIX = re.compile(r"\b(_*)a(?=(?:close|read|write|iter|next|enter|exit|send|get|set|put|open|flush)\w*)")


def plain_name(name: str) -> str:
    """Return a qualified name without what marks it as asynchronous: `Client.close` for
    `AsyncClient.aclose`."""
    return _PREFIX.sub(r"\1", _MARKS.sub("", name))


def twins(source: FileSource) -> Iterator[tuple[Symbol, Symbol]]:
    """Yield each asynchronous definition of a file with the synchronous one that is alike, of classes their
    heads without the members."""
    plain_names = ((symbol, plain_name(symbol.name)) for symbol in source.symbols)
    marked = list(islice((pair for pair in plain_names if pair[1] != pair[0].name), MARKED_MAX))
    if not marked:
        return
    by_name = {symbol.name: symbol for symbol in source.symbols}
    starts = sorted(symbol.start_line for symbol in source.symbols)
    for symbol, plain in marked:
        if (other := by_name.get(plain)) is None:
            continue
        one, like = _head(symbol, starts), _head(other, starts)
        if _are_alike(one, like, source.lines):
            yield one, like


def without_twins(source: FileSource, wanted: Collection[str]) -> tuple[FileSource, int, str]:
    """Return a file with one line for the second of two twins, how many lines fewer it has, and the names of
    the first two in words.

    The second is the asynchronous one, unless only that one is among the `wanted` names. The other lines keep
    their numbers.
    """
    lines, fewer, said = list(source.lines), 0, ""
    mark = "#" if source.tag in HASH_COMMENTS else "//"
    for symbol, other in twins(source):
        shown, folded = (
            (symbol, other) if symbol.name in wanted and other.name not in wanted else (other, symbol)
        )
        said = said or f"`{inline(folded.name)}` is like `{inline(shown.name)}`"
        first = lines[folded.start_line - 1]
        indent = first[: len(first) - len(first.lstrip())]
        fewer += sum(bool(line.strip()) for line in _lines_of(folded, lines)) - 1
        lines[folded.start_line - 1 : folded.end_line] = [
            f"{indent}{twin_line(folded, shown, mark)}",
            *[""] * (folded.end_line - folded.start_line),
        ]
    return (replace(source, text="\n".join(lines)), fewer, said) if fewer else (source, 0, "")


def twin_line(folded: Symbol, shown: Symbol, mark: str) -> str:
    """Return the line that names a twin and says which definition is like it."""
    signature = on_one_line(folded.signature).partition("\n")[0][:SIGNATURE_CHARACTERS]
    return f"{signature} {mark} like {shown.name}"


def _head(symbol: Symbol, starts: Sequence[int]) -> Symbol:
    """Return a class without its members, and anything else as it is. `starts` are the sorted first lines of
    all definitions."""
    if symbol.kind in FUNCTIONS:
        return symbol
    at = bisect_right(starts, symbol.start_line)
    inner = starts[at] if at < len(starts) else symbol.end_line + 1
    return replace(symbol, end_line=min(inner - 1, symbol.end_line))


def _are_alike(one: Symbol, other: Symbol, lines: Sequence[str]) -> bool:
    first, second = (
        Counter(filter(None, (plain_name(line.strip()) for line in _lines_of(symbol, lines))))
        for symbol in (one, other)
    )
    size = max(first.total(), second.total())
    return size >= LINES_MIN and (first & second).total() >= ALIKE_MIN * size


def _lines_of(symbol: Symbol, lines: Sequence[str]) -> Sequence[str]:
    return lines[symbol.start_line - 1 : symbol.end_line]
