"""Owns what FindSymbols says: the definitions that a part of a name finds, and the line of each."""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec.structs import replace

from ..context.content import ContentReader
from ..context.numbered_lines import split_lines
from ..index.store import Reader
from ..privacy.policy import Policy
from ..privacy.secret_values import mask_piece
from ..project.qualified_names import base_name
from ..project.snapshot import ProjectSnapshot
from ..project.tree import Symbol
from .nodes import is_current
from .partial_names import fitting
from .path_roles import role_of

NAMES_LOOKED: Final = 2_000
"""Maximum number of names whose definitions are looked up, until there are enough in what a query names
before the last point; each takes 20 µs."""

LINE_MAX: Final = 1_000
"""Characters of a definition's line that is shown; longer ones are generated."""

HEAD_LINES: Final = 20
"""On so many of a definition's lines its name is looked for."""

Found = tuple[int, str, Symbol]
"""How well a definition's name fits, as in `partial_names`, its file, and the definition."""


def describe_symbols(
    snapshot: ProjectSnapshot, query: str, limit: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return at most `limit` definitions, and the files that must be read again to answer rightly.

    `touch`, `Session.tou`, `ses::to` and `sT` find the method `Session.touch`: what stands before the last
    name begins the names of what the definition lies in. What an unsaved buffer defines is not known. Blocks:
    it reads the index and the files that are shown. Raises `DatabaseError`.
    """
    *around, part = _SEPARATOR.split("".join(query.split()))
    with snapshot.reader() as reader, reader.snapshot():
        found = _found(snapshot, reader, part, around, limit)
        contents = _contents(snapshot)
        described, stale = [], []
        for _, path, symbol in found:
            content = contents.read(path)
            if content.hidden:
                continue
            if is_current(reader.record(path), content):
                described.append(_described(path, symbol, split_lines(content.text), snapshot.policy))
            else:
                stale.append(path)
    return described, list(dict.fromkeys(stale))


def _contents(snapshot: ProjectSnapshot) -> ContentReader:
    """Return a reader that masks nothing, which would take most of the time: one line of a file is shown."""
    whole = replace(snapshot.policy, mask_values=False)
    return ContentReader(snapshot.tree.root, snapshot.system, snapshot.config.scan.max_file_bytes, {}, whole)


def _found(
    snapshot: ProjectSnapshot, reader: Reader, part: str, around: list[str], limit: int
) -> list[Found]:
    """Return definitions, best first: of names that fit alike those in tests and documents come last."""
    found: list[Found] = []
    for looked, (fit, name) in enumerate(fitting(part, snapshot.tree, reader)):
        if len(found) >= limit or looked == NAMES_LOOKED:
            break
        found += [
            (fit, path, symbol)
            for path, symbol in reader.definitions_named(name, limit if not around else NAMES_LOOKED)
            if symbol.kind != "section" and base_name(symbol.name) == name and _lies_in(symbol.name, around)
        ]
    files = snapshot.tree.files
    aside = {path: path in files and role_of(path, files[path].language) != "source" for _, path, _ in found}
    return sorted(found, key=lambda each: (each[0], aside[each[1]]))[:limit]


def _lies_in(name: str, around: list[str]) -> bool:
    """Whether the names of what a definition lies in begin with these, in their order."""
    owners = iter(name.lower().split(".")[:-1])
    return all(any(owner.startswith(one.lower()) for owner in owners) for one in around if one)


def _described(path: str, symbol: Symbol, lines: list[str], policy: Policy) -> dict[str, Any]:
    line = _line_of(symbol, lines)
    text = lines[line - 1] if line <= len(lines) else ""
    return {
        "node_id": f"{path}#{symbol.name}",
        "path": path,
        "symbol": symbol.name,
        "kind": symbol.kind,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "line": line,
        "text": _shown(text, policy),
    }


def _shown(line: str, policy: Policy) -> str:
    if len(line) > LINE_MAX:
        return ""
    return mask_piece(line).text if policy.mask_values else line


def _line_of(symbol: Symbol, lines: list[str]) -> int:
    """Return the line on which the name stands: decorators and annotations may stand before it."""
    name = re.compile(rf"(?<![\w$]){re.escape(base_name(symbol.name))}(?![\w$])")
    end = min(symbol.end_line, symbol.start_line + HEAD_LINES - 1)
    heads = range(symbol.start_line, min(end, len(lines)) + 1)
    named = [at for at in heads if name.search(lines[at - 1])]
    plain = [at for at in named if not lines[at - 1].lstrip().startswith(_DECORATING)]
    return next(iter((*plain, *named)), symbol.start_line)


_DECORATING: Final = ("@", "#[", "[")
"""What a line begins with that says something of the definition, and may hold its name by chance."""

_SEPARATOR: Final = re.compile(r"::|->|[.#]")
