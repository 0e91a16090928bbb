"""The command `foveal node`: the text of a file or definition, and what is around it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator

from . import terminal
from .command import Reply, Run, degraded, show_command
from .options import CWD, argument, flag
from .query import numbered
from .text import clean, clean_lines, lines_of

NEIGHBOURS = {
    "superclasses": "inherits",
    "subclasses": "inherited by",
    "callers": "called by",
    "callees": "calls",
}
"""The labels of a node's lists of neighbours."""

LISTS = {**NEIGHBOURS, "symbols": "defines", "imports": "imports", "importers": "imported by"}
"""The labels of all lists around a node, in order."""


@show_command(
    "GetNode",
    "Show a file or definition, and what is around it.",
    argument("node_id"),
    flag("--all everything", "List what it imports, who imports it, its callers and what it calls."),
    CWD,
    sends=lambda run: {"cwd": run.folder, "node_id": run.locate(run.node_id)},
)
def node_command(node: Reply, run: Run) -> Iterator[str]:
    """Show a node: a file (src/auth.py), a definition (src/auth.py#Session.login) or a section.

    Its text comes first, with the numbers of its lines. Behind it stands how much there is around it: what it
    imports and who imports it, who calls it and what it calls. --all lists them.

    For example:

        foveal node src/auth.py
        foveal node 'src/auth.py#Session.login' --all
    """
    first, last = node["start_line"], node["end_line"]
    place = f"{node['kind']}, line{'' if first == last else 's'} {lines_of(first, last)}"
    yield f"{terminal.styled(clean(node['node_id']), bold=True)} ({clean(place)})"
    text = clean_lines(node["definition"]) if terminal.is_terminal(sys.stdout) else node["definition"]
    is_notebook = node["path"].endswith(".ipynb")  # most lines of its file are outputs, and come as blank
    yield from (row for row in numbered(text, first) if not (is_notebook and row.strip().isdigit()))
    if node["truncated"]:
        yield "…"
    if node.get("remark"):
        yield ""
        yield clean(f"It {node['remark']}.")
    counts = [f"{label} {_count(node, name)}" for name, label in LISTS.items() if node.get(name)]
    if run.everything:
        yield ""
        yield from _around(node)
    elif counts:
        yield ""
        yield f"{', '.join(counts)}; to list them: foveal node --all {shlex.quote(clean(node['node_id']))}"
    yield from degraded(node)


def _count(node: Reply, name: str) -> str:
    return f"{len(node[name])}{'+' if name in node.get('more', ()) else ''}"


def _around(node: Reply) -> Iterator[str]:
    """Yield the lines about the neighbours of a node, the definitions inside it and its file's imports."""
    for name, label in NEIGHBOURS.items():
        for neighbour in node.get(name, ()):
            yield clean(f"{label:<13}{_neighbour(neighbour)}")
        if name in node.get("more", ()):
            yield f"{label:<13}…"
    for symbol in node["symbols"]:
        yield clean(f"defines      {symbol['node_id']} ({symbol['kind']}, line {symbol['start_line']})")
    for imported in node["imports"]:
        name = f" {imported['name']}" if imported.get("name") else ""
        missing = " (missing)" if imported.get("missing") else ""
        path = f" -> {imported['path']}" if imported.get("path") else missing
        yield clean(f"imports      {imported['module']}{name}{path}")
    for importer in node["importers"]:
        yield clean(f"imported by  {importer['path']}:{importer['line']}")


def _neighbour(neighbour: Reply) -> str:
    """Return a neighbour with the place of the reference, and a remark if only the name is known."""
    by_name = "  (by name)" if neighbour["certainty"] == "name" else ""
    name = neighbour.get("node_id") or neighbour["name"]
    return f"{name}  at {neighbour['path']}:{neighbour['line']}{by_name}"
