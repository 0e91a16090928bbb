"""The command `foveal node`: a file or definition, its neighbours, its text."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from . import terminal
from .command import Reply, Run, degraded, show_command
from .options import CWD, argument
from .text import clean, clean_lines, lines_of

NEIGHBOURS = {
    "superclasses": "inherits",
    "subclasses": "inherited by",
    "callers": "called by",
    "callees": "calls",
}
"""The labels of a node's lists of neighbours."""


@show_command(
    "GetNode",
    "Show a file or definition and its neighbours.",
    argument("node_id"),
    CWD,
    sends=lambda run: {"cwd": run.folder, "node_id": run.locate(run.node_id)},
)
def node_command(node: Reply, run: Run) -> Iterator[str]:
    """Show a node: a file (src/auth.py), a definition (src/auth.py#Session.login) or a section.

    Its text is printed, and before it what it imports and who imports it, who calls it and what it calls.
    """
    first, last = node["start_line"], node["end_line"]
    place = f"{node['kind']}, line{'' if first == last else 's'} {lines_of(first, last)}"
    yield f"{terminal.styled(clean(node['node_id']), bold=True)} ({clean(place)})"
    if node.get("doc"):
        yield clean(node["doc"])
    for imported in node["imports"]:
        name = f" {imported['name']}" if imported.get("name") else ""
        missing = " (missing)" if imported.get("missing") else ""
        path = f" -> {imported['path']}" if imported.get("path") else missing
        yield clean(f"imports      {imported['module']}{name}{path}")
    for importer in node["importers"]:
        yield clean(f"imported by  {importer['path']}:{importer['line']}")
    for symbol in node["symbols"]:
        yield clean(f"defines      {symbol['node_id']} ({symbol['kind']}, line {symbol['start_line']})")
    for name, label in NEIGHBOURS.items():
        for neighbour in node.get(name, ()):
            yield clean(f"{label:<13}{_neighbour(neighbour)}")
        if name in node.get("more", ()):
            yield f"{label:<13}…"
    yield ""
    text = node["definition"]
    yield clean_lines(text) if terminal.is_terminal(sys.stdout) else text
    if node["truncated"]:
        yield "…"
    yield from degraded(node)


def _neighbour(neighbour: Reply) -> str:
    """Return a neighbour with the place of the reference, and a remark if only the name is known."""
    by_name = "  (by name)" if neighbour["certainty"] == "name" else ""
    name = neighbour.get("node_id") or neighbour["name"]
    return f"{name}  at {neighbour['path']}:{neighbour['line']}{by_name}"
