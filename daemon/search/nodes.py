"""Owns what GetNode says of a node: a file, a definition or a section, and what it is connected with."""

from __future__ import annotations

from typing import Any

from ..context.content import Content, ContentReader
from ..context.division import split_lines
from ..context.focus import split_node_id
from ..context.known_files import masked_symbols
from ..core.errors import PermissionDenied
from ..core.storage import DatabaseError
from ..index.store import Reader
from ..project.snapshot import ProjectSnapshot
from ..project.tree import FileRecord, Symbol

DEFINITION_BYTES = 64 * 1024
"""The text of a node is given up to this size; a larger one says `truncated`."""


def describe_node(snapshot: ProjectSnapshot, node_id: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a node, None if there is none, and the files that must be read again to answer rightly.

    A file that an editor holds unsaved is given as the editor has it, with `unsaved` and without symbols.
    Raises `PermissionDenied` for a file of which the snapshot's policy shows nothing. Blocks: it reads the
    file and the index.
    """
    policy = snapshot.policy
    path, name = split_node_id(snapshot.tree.files, node_id)
    # A definition's lines are known for what is on the disk, so an unsaved buffer stands in for files only.
    overlays = {} if name else snapshot.overlays
    limit = snapshot.config.scan.max_file_bytes
    contents = ContentReader(snapshot.tree.root, snapshot.system, limit, overlays, policy)
    content = contents.read(path)
    if content.hidden:
        # Without its name, which may be that of a symlink's target that nobody named.
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


def is_current(record: FileRecord | None, content: Content) -> bool:
    """Whether what the index knows of a file was read from the content that is on the disk."""
    if record is None or content.shown is None:
        return False
    return bool(record.skipped) or record.digest == content.shown.digest


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
    """Return who calls a node and what it calls, and of a class what it inherits from and what from it.

    What is called and isn't known has a `name` in place of a node id. `more` names the lists that were cut.
    """
    # Here and not above: its neighbours take longer to load than the daemon to start.
    from .neighbours import neighbours

    found = neighbours(snapshot.tree, reader, path, symbol)
    described: dict[str, Any] = {
        name: [
            {
                **({"node_id": one.node_id} if one.node_id else {"name": one.name}),
                "path": one.path,
                "line": one.line,
                "certainty": one.certainty,
                **({"via": one.via} if one.via else {}),
            }
            for one in each.shown
        ]
        for name, each in found.items()
    }
    more = [name for name, each in found.items() if each.more]
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
    """Return the imports of a file; a name that turned out to be no file of its own isn't one."""
    found = []
    for one in reader.imports(path):
        if one.target or one.imported.required:
            entry: dict[str, Any] = {"module": one.imported.module, "line": one.imported.line}
            if one.imported.name:
                entry["name"] = one.imported.name
            if one.target:
                entry["path"] = one.target
            if one.missing:
                entry["missing"] = True
            found.append(entry)
    return found
