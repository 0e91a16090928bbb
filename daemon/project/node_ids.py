"""Node ids, which name a definition or section of a file: `path#name`."""

from __future__ import annotations

from collections.abc import Container


def split_node_id(files: Container[str], node_id: str) -> tuple[str, str]:
    """Split a node id at the `#` that follows the path of a file; at the first `#` if none does.

    Names of files and sections may hold a `#` too: `c#/a.md#C# in short`.
    """
    if node_id in files:
        return node_id, ""
    mark = node_id.find("#")
    while mark >= 0:
        if node_id[:mark] in files:
            return node_id[:mark], node_id[mark + 1 :]
        mark = node_id.find("#", mark + 1)
    path, _, name = node_id.partition("#")
    return path, name
