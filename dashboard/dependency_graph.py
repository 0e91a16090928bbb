"""Draws a file between the files that depend on it and those that it depends on, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from markupsafe import Markup

NODE_WIDTH: Final = 232.0
NODE_HEIGHT: Final = 40.0
ROW: Final = 50.0
COLUMN: Final = 330.0
MARGIN: Final = 18.0
HEAD: Final = 30.0

BEND: Final = 30.0
"""Pixels by which an edge between two files of a column bends out of it."""

SHOWN: Final = 14
"""Maximum files drawn in a column; the list next to the drawing has all."""

NAME_LENGTH: Final = 30
"""Maximum characters of a node's label."""


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of files: their relation to the middle file, and how many are not drawn."""

    title: str
    paths: Sequence[str]
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class DependencyGraph:
    """Columns from the importers of the middle file, at the left, to its imports. `edges` go from a file
    to a file that it imports. Each file is in one column only."""

    columns: Sequence[FileColumn]
    middle: str
    edges: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def draw(self, address: Callable[[str], str]) -> Markup:
        """Return the SVG; each file leads to `address(path)`."""
        rows = max(len(column.paths) for column in self.columns)
        width = MARGIN * 2 + COLUMN * (len(self.columns) - 1) + NODE_WIDTH + BEND
        height = HEAD + MARGIN + rows * ROW
        places = self._places(rows)
        edges = sorted(self.edges, key=lambda edge: (self.middle in edge, edge))  # its own are on top
        parts = [_edge(places[file], places[other], self.middle in (file, other)) for file, other in edges]
        for number, column in enumerate(self.columns):
            parts.append(
                Markup('<text class="column" x="{:.0f}" y="20">{}</text>').format(
                    MARGIN + number * COLUMN,
                    f"{column.title} ({column.hidden} more)" if column.hidden else column.title,
                )
            )
        parts += [_node(path, place, path == self.middle, address(path)) for path, place in places.items()]
        return Markup(
            '<svg viewBox="0 0 {:.0f} {:.0f}" role="group" aria-label="Imports around {}">{}</svg>'
        ).format(width, height, self.middle, Markup("").join(parts))

    def _places(self, rows: int) -> Mapping[str, tuple[float, float]]:
        """Return the upper left corner of each node; columns are centred."""
        places = {}
        for number, column in enumerate(self.columns):
            top = HEAD + (rows - len(column.paths)) * ROW / 2
            for row, path in enumerate(column.paths):
                places[path] = (MARGIN + number * COLUMN, top + row * ROW)
        return places


def arranged(
    middle: str,
    importers: Sequence[str],
    imports: Sequence[str],
    around: Mapping[str, Sequence[str]],
) -> DependencyGraph:
    """Return the graph of a file and its neighbours. `around` has the imports of some of them, by path. A
    file that both imports the middle file and is imported by it stands at the left, with edges both ways."""
    left = sorted(set(importers) - {middle})
    right = sorted(set(imports) - {middle} - set(left))
    columns = (
        FileColumn("Depend on it", left[:SHOWN], max(len(left) - SHOWN, 0)),
        FileColumn("This file", (middle,)),
        FileColumn("It depends on", right[:SHOWN], max(len(right) - SHOWN, 0)),
    )
    shown = {path for column in columns for path in column.paths}
    wanted = {(importer, middle) for importer in importers} | {(middle, imported) for imported in imports}
    wanted |= {(file, other) for file, others in around.items() for other in others}
    return DependencyGraph(
        columns, middle, frozenset((a, b) for a, b in wanted if a != b and a in shown and b in shown)
    )


def _node(path: str, place: tuple[float, float], is_middle: bool, address: str) -> Markup:
    folder, _, name = path.rpartition("/")
    if len(folder) > NAME_LENGTH:
        folder = f"…{folder[1 - NAME_LENGTH :]}"
    if len(name) > NAME_LENGTH:
        name = f"{name[: NAME_LENGTH - 1]}…"
    mark = Markup(' aria-current="true"') if is_middle else ""
    return Markup(
        '<a class="node{}" href="{}" data-stop=""{}><title>{}</title><g transform="translate({:.0f},{:.0f})">'
        '<rect width="{:.0f}" height="{:.0f}" rx="6"/><text class="folder" x="10" y="15">{}</text>'
        '<text x="10" y="31">{}</text></g></a>'
    ).format(
        " middle" if is_middle else "", address, mark, path, *place, NODE_WIDTH, NODE_HEIGHT, folder, name
    )


def _edge(start: tuple[float, float], end: tuple[float, float], is_own: bool) -> Markup:
    """Return a curve from the side of one node to that of another; within a column it goes around.

    `is_own` marks an edge of the middle file.
    """
    (x, y), (to_x, to_y) = start, end
    y, to_y = y + NODE_HEIGHT / 2, to_y + NODE_HEIGHT / 2
    if x == to_x:
        x = to_x = x + NODE_WIDTH
        bend = x + BEND * 1.3
    else:
        x, to_x = (x + NODE_WIDTH, to_x) if x < to_x else (x, to_x + NODE_WIDTH)
        bend = (x + to_x) / 2
    return Markup('<path class="{}" d="M{:.0f},{:.0f} C{:.0f},{:.0f} {:.0f},{:.0f} {:.0f},{:.0f}"/>').format(
        "edge own" if is_own else "edge", x, y, bend, y, bend, to_y, to_x, to_y
    )
