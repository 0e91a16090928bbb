"""The files of a project that a path or a name without its extension means, and the ids of nodes in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping, Sequence

from .tree import Layout, Tree

PROJECTS_MAX = 4
"""Maximum number of projects whose names are cached; the least recently used go first."""

_stems: deque[tuple[Layout, Mapping[str, Sequence[str]]]] = deque(maxlen=PROJECTS_MAX)
"""Names of the most recently queried projects."""


def files_named(written: str, tree: Tree) -> list[str]:
    """Return the files that share the most trailing parts with a path."""
    name = written.rstrip("/").rpartition("/")[2]
    return best_suffix(written, [path for path in tree.files if path.rpartition("/")[2] == name])


def has_module(word: str, tree: Tree) -> bool:
    """Whether a file, without its extension, or a folder has a name; one in capitals in lower case too."""
    names = {word, word.lower()} if word.isupper() else {word}
    folders = {path.rpartition("/")[2] for path in tree.layout.folders}
    return not names.isdisjoint(folders) or any(name in by_stem(tree.layout) for name in names)


def best_suffix(written: str, paths: Sequence[str]) -> list[str]:
    """Return the paths that share the most trailing parts with a given path, up to all of its parts."""
    parts = written.strip("/").split("/")[::-1]

    def shared(path: str) -> int:
        count = 0
        for mine, theirs in zip(parts, path.split("/")[::-1], strict=False):
            if mine != theirs:
                break
            count += 1
        return count

    counts = {path: shared(path) for path in paths}
    most = max(counts.values(), default=0)
    return [path for path, count in counts.items() if count == most and count]


def _stem(path: str) -> str:
    return path.rpartition(".")[0]


def by_stem(layout: Layout) -> Mapping[str, Sequence[str]]:
    """Return a project's paths by their file names without extension, sorted; cached per set of paths."""
    for known, paths in _stems:
        if known is layout:
            return paths
    found: dict[str, list[str]] = {}
    for folder, content in sorted(layout.folders.items()):
        for name in content.files:
            found.setdefault(_stem(name), []).append(f"{folder}/{name}" if folder else name)
    _stems.append((layout, found))
    return found


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
