"""Answers GetNode (a file or definition with its neighbours in the graph), FindSymbols and FindFiles."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import to_builtins
from msgspec.structs import replace

from ..core.errors import PermissionDenied
from ..core.storage import DatabaseError
from ..graph.records import UNCALLED
from ..graph.service import fitting
from ..index.service import Reader, masked_symbols
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Symbol
from ..privacy.policy import Policy
from ..privacy.secret_values import mask_piece
from ..project.service import ContentReader, is_current, role_of, split_lines, split_node_id
from ..workspace.records import ProjectSnapshot

DEFINITION_BYTES = 64 * 1024
"""Maximum bytes of a node's text; a longer one is cut and marked `truncated`."""


def describe_node(snapshot: ProjectSnapshot, node_id: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a node, or None if there is none, and the stale files, which must be indexed again first.

    An unsaved editor buffer replaces its file: the node has `unsaved` and no symbols. Raises
    `PermissionDenied` for a file that the snapshot's policy hides. Blocks: it reads the file and the index.
    """
    policy = snapshot.policy
    path, name = split_node_id(snapshot.tree.files, node_id)
    # The index knows the lines of definitions on disk only, so unsaved buffers replace only whole files.
    overlays = {} if name else snapshot.overlays
    limit = snapshot.config.scan.max_file_bytes
    contents = ContentReader(snapshot.tree.root, snapshot.system, limit, overlays, policy)
    content = contents.read(path)
    if content.hidden:
        # The message omits the path, which may be the target of a symlink that the caller doesn't know.
        raise PermissionDenied(f"nothing of this node is shown: {content.problem}")
    unsaved = contents.unsaved(path)
    if content.shown is None and not unsaved:
        return None, [path] if path in snapshot.tree.files else []
    try:
        with snapshot.reader() as reader, reader.snapshot():
            stale = not unsaved and not is_current(reader.record(path), content)
            symbols = () if stale or unsaved else reader.symbols(path)
            if content.masked:
                symbols = masked_symbols(symbols, content.text)
            symbol = next((symbol for symbol in symbols if symbol.name == name), None)
            if name and symbol is None:
                return None, [path] if stale else []
            node = _describe(reader, path, content.text, symbol, symbols)
            if not stale and not unsaved:
                node |= _neighbours(snapshot, reader, path, symbol)
    except DatabaseError:
        return None, [path]
    if unsaved:
        node["unsaved"] = True
    return node, [path] if stale else []


def _describe(
    reader: Reader, path: str, text: str, symbol: Symbol | None, symbols: tuple[Symbol, ...]
) -> dict[str, Any]:
    lines = split_lines(text)
    start, end = (symbol.start_line, symbol.end_line) if symbol else (1, len(lines))
    definition = "\n".join(lines[start - 1 : end])
    cut = definition.encode("utf-8", "replace")[:DEFINITION_BYTES].decode("utf-8", "ignore")
    inside = [one for one in symbols if one is not symbol and start <= one.start_line and one.end_line <= end]
    node: dict[str, Any] = {
        "node_id": f"{path}#{symbol.name}" if symbol else path,
        "path": path,
        "kind": symbol.kind if symbol else "file",
        "start_line": start,
        "end_line": end,
        "definition": cut,
        "truncated": len(cut) < len(definition),
        "symbols": [_summary(path, one) for one in inside],
        "imports": _imports(reader, path),
        "importers": [{"path": importer, "line": line} for importer, line in reader.importers(path)],
    }
    if symbol:
        node |= {"symbol": symbol.name, "signature": symbol.signature, "doc": symbol.doc}
    return node


def _neighbours(
    snapshot: ProjectSnapshot, reader: Reader, path: str, symbol: Symbol | None
) -> dict[str, Any]:
    """Return the callers and callees of a node, and the superclasses and subclasses of a class.

    An unknown callee has a `name` instead of a node id. `more` names the lists that were cut. `remark` says
    that only tests and examples call it.
    """
    # Imported here because loading this module takes longer than starting the daemon.
    from ..graph.service import CodeGraph, is_uncalled, neighbours

    graph = CodeGraph(snapshot.tree, reader)
    neighbourhood, more = neighbours(graph, path, symbol)
    described: dict[str, Any] = to_builtins(neighbourhood)
    if symbol is not None and is_uncalled(path, symbol, graph):
        described["remark"] = UNCALLED
    return {**described, "more": more} if more else described


def _summary(path: str, symbol: Symbol) -> dict[str, Any]:
    return {
        "node_id": f"{path}#{symbol.name}",
        "kind": symbol.kind,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "signature": symbol.signature,
        "doc": symbol.doc,
    }


def _imports(reader: Reader, path: str) -> list[dict[str, Any]]:
    """Return the imports of a file. Imported names that are no modules are left out."""
    entries = []
    for resolved in reader.imports(path):
        if resolved.target or resolved.imported.required:
            entry: dict[str, Any] = {"module": resolved.imported.module, "line": resolved.imported.line}
            if resolved.imported.name:
                entry["name"] = resolved.imported.name
            if resolved.target:
                entry["path"] = resolved.target
            if resolved.missing:
                entry["missing"] = True
            entries.append(entry)
    return entries


FILES_SHOWN, FILES_MAX = 20, 500
"""Default and maximum number of files in an answer."""


def find_files(paths: Iterable[str], query: str, limit: int) -> tuple[list[str], int]:
    """Return the paths that contain a text in any case, at most `limit`, and the number of all such paths.

    Paths that begin with the text come first, then file names that begin with it, then file names that
    contain it, then the rest; shorter paths come first in each group. 100,000 paths take 20 ms.
    """
    wanted = query.casefold()
    matching = list(_matching(paths, wanted))
    return [path for _, _, path in heapq.nsmallest(limit, matching)], len(matching)


def _matching(paths: Iterable[str], wanted: str) -> Iterator[tuple[int, int, str]]:
    for path in paths:
        folded = path.casefold()
        at = folded.find(wanted)
        if at < 0:
            continue
        name = folded[folded.rfind("/") + 1 :]
        if not at:
            rank = 0
        elif name.startswith(wanted):
            rank = 1
        else:
            rank = 2 if wanted in name else 3
        yield rank, len(path), path


NAMES_LOOKED: Final = 2_000
"""Maximum number of names whose definitions are looked up to find enough definitions inside the qualifier of
a query (the part before the last point); each takes 20 µs."""

LINE_MAX: Final = 1_000
"""Maximum characters of a shown line; longer lines are generated code and are left out."""

HEAD_LINES: Final = 20
"""Maximum number of lines of a definition in which its name is searched."""

RankedSymbol = tuple[int, str, Symbol]
"""The rank of a match (as in `partial_names`, lower is better), the file, and the definition."""


def describe_symbols(
    snapshot: ProjectSnapshot, query: str, limit: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return at most `limit` definitions, and the stale files, which must be indexed again first.

    `touch`, `Session.tou`, `ses::to` and `sT` find the method `Session.touch`: the last part of the query
    matches the name of the definition, the parts before it match the beginnings of the enclosing names.
    Definitions in unsaved buffers aren't found. Blocks: it reads the index and the shown files. Raises
    `DatabaseError`.
    """
    *around, part = _SEPARATOR.split("".join(query.split()))
    with snapshot.reader() as reader, reader.snapshot():
        ranked = _found(snapshot, reader, part, around, limit)
        contents = _contents(snapshot)
        described, stale = [], []
        for _, path, symbol in ranked:
            content = contents.read(path)
            if content.hidden:
                continue
            if is_current(reader.record(path), content):
                described.append(_described(path, symbol, split_lines(content.text), snapshot.policy))
            else:
                stale.append(path)
    return described, list(dict.fromkeys(stale))


def _contents(snapshot: ProjectSnapshot) -> ContentReader:
    """Return a reader that doesn't mask secrets, since masking whole files to show one line takes too
    long."""
    whole = replace(snapshot.policy, mask_values=False)
    return ContentReader(snapshot.tree.root, snapshot.system, snapshot.config.scan.max_file_bytes, {}, whole)


def _found(
    snapshot: ProjectSnapshot, reader: Reader, part: str, around: list[str], limit: int
) -> list[RankedSymbol]:
    """Return definitions, best match first; among equal matches tests and documents come last."""
    ranked: list[RankedSymbol] = []
    for looked, (fit, name) in enumerate(fitting(part, snapshot.tree, reader)):
        if len(ranked) >= limit or looked == NAMES_LOOKED:
            break
        ranked += [
            (fit, path, symbol)
            for path, symbol in reader.definitions_named(name, limit if not around else NAMES_LOOKED)
            if symbol.kind != "section" and base_name(symbol.name) == name and _lies_in(symbol.name, around)
        ]
    files = snapshot.tree.files
    aside = {path: path in files and role_of(path, files[path].language) != "source" for _, path, _ in ranked}
    return sorted(ranked, key=lambda each: (each[0], aside[each[1]]))[:limit]


def _lies_in(name: str, around: list[str]) -> bool:
    """Whether the names of a definition's enclosing definitions begin with some prefixes, in order."""
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
    """Return the line with the name of a definition, which may follow decorators and annotations."""
    name = re.compile(rf"(?<![\w$]){re.escape(base_name(symbol.name))}(?![\w$])")
    end = min(symbol.end_line, symbol.start_line + HEAD_LINES - 1)
    heads = range(symbol.start_line, min(end, len(lines)) + 1)
    named = [at for at in heads if name.search(lines[at - 1])]
    plain = [at for at in named if not lines[at - 1].lstrip().startswith(_DECORATING)]
    return next(iter((*plain, *named)), symbol.start_line)


_DECORATING: Final = ("@", "#[", "[")
"""How lines with decorators or attributes begin; they may contain the definition's name by chance."""

_SEPARATOR: Final = re.compile(r"::|->|[.#]")
