"""Owns what a question's answer is for an agent: one clearly best place whole, or a few that may be it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ..context.content import ContentReader
from ..context.numbered_lines import split_lines
from ..index.store import Reader
from ..project.snapshot import ProjectSnapshot
from ..project.tree import Symbol
from .code_graph import CLASSES
from .hits import Hit
from .needed_by import needed_by
from .nodes import is_current
from .path_roles import role_of
from .results import describe_from

CLEARLY, AHEAD = 0.25, 2.0
"""The probability of a clearly best place, and how many times that of the second it must be."""

NOISE, NOISE_SHARE = 0.01, 0.08
"""A place that is less probable than this, and than this share of the best, is left out."""

OF_FILE_MAX: Final = 3
"""Maximum number of definitions of one file that are compared."""

WHOLE_LINES: Final = 120
"""Maximum number of lines of a definition that is shown whole; of a longer one the first of them."""

NEEDED_CHARACTERS: Final = 200
"""Characters of a line of what a definition needs."""


def describe_for_agents(
    snapshot: ProjectSnapshot, text: str, hits: Sequence[Hit], limit: int, *, asks_for_all: bool = False
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the places that an agent should see, and the files that must be read again.

    Of what words and meaning find they are at most `limit`; a reference of the graph takes a line.
    Where one is clearly the best it is the only one, with its whole text in `definition` and what it needs in
    `needs`: the values of constants that it names, heads of what it calls and of the class around it. Else
    those that are no noise, each with the lines that match. Every place that was found by words or meaning
    has its `probability`. With `asks_for_all`, of a question for usages that the graph can't answer, there is
    no single best one. Blocks. Raises `DatabaseError`.
    """
    if not hits:
        return [], []
    with snapshot.reader() as reader, reader.snapshot():
        placed = [one for hit in hits for one in _placed(hit, reader)]
        answered = [one for one in placed if one[0].certainty]
        found = sorted((one for one in placed if not one[0].certainty), key=lambda one: -one[1])
        best = None if asks_for_all and not answered else _best(answered, found)
        if best is not None:
            shown = [best]
        else:
            floor = max(NOISE, NOISE_SHARE * found[0][1]) if found else 0.0
            likely = [one for one in found if one[1] >= floor or one is found[0]]
            shown = _together(answered, likely, limit)
        results, stale = describe_from(snapshot, text, [hit for hit, _ in shown], reader)
        probabilities = {hit.node_id: each for hit, each in shown if not hit.certainty}
        for result in results:
            if result["node_id"] in probabilities:
                result["probability"] = probabilities[result["node_id"]]
        if best is not None and results and not stale:
            results[0] |= _whole(snapshot, reader, best[0])
    return results, stale


Placed = tuple[Hit, float]
"""A hit at the definition that is probably meant, and how probable that is."""


def _placed(hit: Hit, reader: Reader) -> Iterator[Placed]:
    """Yield a hit at each of the definitions of its file that may be meant, with the chunk that shows it."""
    if hit.certainty or not hit.definitions:
        yield hit, 0.0
        return
    for meant in hit.definitions[:OF_FILE_MAX]:
        chunk = hit.chunk
        if not (chunk.start_line <= meant.last and meant.first <= chunk.end_line):
            found = reader.chunks.at([(hit.path, meant.first)]).get((hit.path, meant.first))
            if found is None:
                continue
            chunk = found
        line = hit.line if meant.first <= hit.line <= meant.last else 0
        yield replace(hit, chunk=chunk, node=meant.symbol, line=line, more=()), meant.probability


def _best(answered: Sequence[Placed], found: Sequence[Placed]) -> Placed | None:
    """Return the place that is clearly the best: the one definition that the graph answers, or a definition
    that is probable and far ahead of all others."""
    if answered:
        alone = len(answered) == 1 and not found and "defined here" in answered[0][0].why
        return answered[0] if alone and answered[0][0].node is not None else None
    if not found or found[0][0].node is None or found[0][1] < CLEARLY:
        return None
    second = found[1][1] if len(found) > 1 else 0.0
    return found[0] if found[0][1] >= AHEAD * second else None


def _together(answered: Sequence[Placed], found: Sequence[Placed], limit: int) -> list[Placed]:
    """Return what the graph answers and what else was found, the graph first unless only tests answer it."""
    if not found:
        return list(answered)
    sources = [one for one in answered if role_of(one[0].path, one[0].chunk.language) != "test"]
    tests = [one for one in answered if one not in sources]
    return [*sources[:limit], *found[:limit], *tests[: max(limit - len(sources), 0)]]


def _whole(snapshot: ProjectSnapshot, reader: Reader, hit: Hit) -> dict[str, Any]:
    """Return the text of a hit's definition and what it needs; nothing if the file isn't what was indexed."""
    contents = ContentReader(
        snapshot.tree.root, snapshot.system, snapshot.config.scan.max_file_bytes, {}, snapshot.policy
    )
    lines = _lines(contents, reader, hit.path)
    symbol = hit.node
    if symbol is None or not lines:
        return {}
    last = min(symbol.end_line, symbol.start_line + WHOLE_LINES - 1)
    whole: dict[str, Any] = {
        "definition": "\n".join(lines[symbol.start_line - 1 : last]),
        "truncated": last < symbol.end_line,
    }
    needs = list(_needs(contents, reader, hit.path, symbol))
    return whole | ({"needs": needs} if needs else {})


def _needs(contents: ContentReader, reader: Reader, path: str, symbol: Symbol) -> Iterator[dict[str, Any]]:
    if symbol.kind in CLASSES:
        return  # all of it is shown
    for one in needed_by(reader, path, symbol):
        lines = _lines(contents, reader, one.path)
        text = "\n".join(line[:NEEDED_CHARACTERS] for line in lines[one.first - 1 : one.last])
        if text.strip():
            yield {
                "node_id": f"{one.path}#{one.symbol.name}",
                "role": one.role,
                "start_line": one.first,
                "text": text,
            }


def _lines(contents: ContentReader, reader: Reader, path: str) -> list[str]:
    """Return the lines of a file as it was indexed, nothing where it changed or is hidden."""
    content = contents.read(path)
    return split_lines(content.text) if is_current(reader.record(path), content) else []
