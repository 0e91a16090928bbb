"""Owns split points: the lines at which the parts of a large piece of code begin; it only walks a tree."""

from __future__ import annotations

from typing import Protocol

from .records import SplitPoint

LARGE_BYTES = 1_400
"""A node of more bytes is entered; a smaller one stays whole. A little less than a chunk holds, since blank
lines and brackets around a node count there too; bytes, not characters, since those need no decoding."""

MAX_DEPTH = 48
"""Levels of a tree that are entered. In the Python of Django 5.2 large nodes go down to level 20; sources
made to be nested have a million."""

MAX_STEPS = 50_000
"""Nodes that are visited in one file, 0.07 s. No Python file of Django 5.2 needs more than 3,100; an array
literal of a megabyte has a million elements."""


class SplitNode(Protocol):
    """What is asked of a node of the syntax tree; rows count from 0."""

    @property
    def type(self) -> str: ...  # noqa: D102 - the parser's own names
    @property
    def is_named(self) -> bool: ...  # noqa: D102
    @property
    def start_byte(self) -> int: ...  # noqa: D102
    @property
    def end_byte(self) -> int: ...  # noqa: D102
    @property
    def start_point(self) -> tuple[int, int]: ...  # noqa: D102
    @property
    def end_point(self) -> tuple[int, int]: ...  # noqa: D102


class Cursor(Protocol):
    """What is asked of a cursor, which stands at the root."""

    @property
    def node(self) -> SplitNode | None: ...  # noqa: D102 - the parser's own names
    def goto_first_child(self) -> bool: ...  # noqa: D102
    def goto_next_sibling(self) -> bool: ...  # noqa: D102
    def goto_parent(self) -> bool: ...  # noqa: D102


def split_points(cursor: Cursor, source: bytes) -> tuple[SplitPoint, ...]:
    """Return where the parts of the root, and of every node too large for a chunk, begin: by line.

    A part is a node that is the first of its line; `depth` counts the nodes around it. Comments, decorators
    and attributes belong to what stands right below them, so that no point parts the two; `/**` comments of
    the older style leave one line empty. The lines rise. `source` is what the tree was made of.
    """
    points: list[SplitPoint] = []
    depth = 0
    busy = attached = -1
    part_start = 0
    entered = cursor.goto_first_child()
    for _ in range(MAX_STEPS):
        if entered:
            depth += 1
        elif not cursor.goto_next_sibling():
            # All children of the node were seen.
            depth -= 1
            if depth <= 0 or not cursor.goto_parent():
                break
            continue
        node = cursor.node
        if node is None:
            break
        row = node.start_point[0]
        is_first_of_line = row > busy
        if is_first_of_line:
            busy = row
            if row > attached:
                part_start = node.start_byte
                if node.is_named:
                    points.append(SplitPoint(row + 1, depth))
        # Measured from where its part begins: a body has to fit into a chunk with its head and comment.
        is_large = node.end_byte - part_start > LARGE_BYTES
        entered = is_large and depth < MAX_DEPTH and cursor.goto_first_child()
        if not entered:
            end_row, end_column = node.end_point
            # Some nodes, such as a directive of the C preprocessor, span their line's end.
            busy = max(busy, end_row - (end_column == 0))
            if is_first_of_line and _belongs_below(node.type):
                attached = busy + 1 + source.startswith(b"/**", node.start_byte)
    return tuple(points)


_ATTACHED = frozenset(
    {"decorator", "attribute", "attribute_item", "attribute_list", "annotation", "access_specifier"}
)


def _belongs_below(kind: str) -> bool:
    """Whether a node of this kind belongs to the one that begins on the next line."""
    return "comment" in kind or kind in _ATTACHED
