"""The map of a project: folders and file names, folded by size until it fits."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from ..project.records import Folder
from ..project.service import Layout

NAMES_MAX = 40
"""Maximum number of files, and of folders, listed below one folder; the rest is counted."""

FEWER = (NAMES_MAX, 10, 3)
"""Numbers of names tried for the root and for folders above the focus before they are folded."""

LEAST_FOLDER_LINE = len("a/ (1 file)\n")
"""Minimum characters of a folder's line, without indentation."""

_SIDE = frozenset(
    {"test", "tests", "testing", "__tests__", "spec", "specs", "e2e", "fixtures", "benchmarks"}
    | {"doc", "docs", "example", "examples", "static", "assets", "migrations"}
    | {"locale", "locales", "i18n", "vendor", "third_party"}
)
"""Folders that are unfolded last, with everything in them: they are large and say little about the design."""


def draw_skeleton(
    layout: Layout, hidden: Collection[str], near: Iterable[str], characters: int
) -> tuple[str, bool]:
    """Draw a project's folders within a number of characters; return the text and whether it is incomplete.

    `hidden` paths are left out, since they are shown elsewhere. Folders above the paths in `near` unfold
    first, then all others level by level, larger ones first. The time depends on what is drawn, not on the
    size of the project.
    """
    return _Map(layout, hidden, near, characters).draw()


def printable(name: str) -> str:
    """Return a name with control characters and backticks escaped."""
    if name.isprintable() and "`" not in name:
        return name
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return escaped.replace("`", "\\x60")


class _Unfolded(Struct):
    """The entries drawn below a folder: a line of file names, folder names, and a line counting the rest."""

    names: str
    folders: Sequence[str]
    more: str = ""
    cost: int = 0
    complete: bool = True


class _Map:
    """One drawing. `_unfolded` are the folders with drawn entries; `_room` is the remaining characters."""

    def __init__(self, layout: Layout, hidden: Collection[str], near: Iterable[str], characters: int) -> None:
        self._folders = layout.folders
        self._hidden = _by_folder(hidden)
        self._on_the_way = {ancestor for path in near for ancestor in _ancestors(path)}
        self._room = characters + 1  # each line is counted with its line feed, but the last has none
        self._unfolded: dict[str, _Unfolded] = {}
        self._queue: list[tuple[tuple[bool, int, int, str], str]] = []
        self._folded = False

    def draw(self) -> tuple[str, bool]:
        """Unfold folders while there is room; return the text and whether anything is left out."""
        self._push("")
        while self._queue:
            _, path = heapq.heappop(self._queue)
            self._unfold(path)
        if "" not in self._unfolded:
            line = self._folder_line("", "./")
            return (line if len(line) < self._room else ""), True
        return "\n".join(self._lines()), self._folded

    def _push(self, path: str) -> None:
        far = path not in self._on_the_way
        depth = _depth(path) if far else 0
        side = far and not _SIDE.isdisjoint(path.lower().split("/"))
        heapq.heappush(self._queue, ((side, depth, -self._folders[path].total, path), path))

    def _unfold(self, path: str) -> None:
        """Unfold a folder if its entries fit, and queue its subfolders."""
        ranked: Sequence[str] | None = None
        for most in FEWER if path in self._on_the_way or not path else FEWER[:1]:
            least = (2 * _depth(path) + LEAST_FOLDER_LINE) * min(len(self._folders[path].folders), most)
            if self._room <= 0 or least > self._room:
                continue
            if ranked is None:
                ranked = self._folders_by_size(path)
            unfolded = self._inside(path, most, ranked)
            if unfolded.cost <= self._room:
                break
        else:
            self._folded = True
            return
        self._folded |= not unfolded.complete
        self._room -= unfolded.cost
        self._unfolded[path] = unfolded
        for name in unfolded.folders:
            self._push(_join(path, name))

    def _inside(self, path: str, most: int, ranked: Sequence[str]) -> _Unfolded:
        """Return the entries of a folder, with at most `most` files and folders."""
        folder = self._folders[path]
        names, names_complete = self._file_names(folder, path, most)
        chosen = folder.folders if len(folder.folders) <= most + 1 else sorted(ranked[:most])
        unfolded = _Unfolded(names, chosen, complete=names_complete)
        left_out = len(folder.folders) - len(chosen)
        if left_out:
            files = folder.total - len(folder.files)
            files -= sum(self._folders[_join(path, name)].total for name in chosen)
            unfolded.more = f"… {_count(left_out, 'more folder')} ({_count(files, 'file')})"
            unfolded.complete = False
        indent = 2 * _depth(path) + 1  # with the end of the line
        unfolded.cost = sum(len(text) + indent for text in (names, unfolded.more) if text)
        for name in chosen:
            unfolded.cost += indent + len(self._folder_line(_join(path, name), f"{printable(name)}/"))
        return unfolded

    def _file_names(self, folder: Folder, path: str, most: int) -> tuple[str, bool]:
        """Return a line with the file names of a folder, and whether it is complete."""
        hidden = self._hidden.get(path, set())
        total = len(folder.files) - sum(_is_in(name, folder.files) for name in hidden)
        if total <= most + 1:  # `… 1 more` would be as long as the name
            most = total
        names: list[str] = []
        for name in folder.files:
            if len(names) >= most:
                break
            if name not in hidden:
                names.append(printable(name))
        if total > most:
            names.append(f"… {total - most:,} more")
        return "  ".join(names), total == most

    def _folders_by_size(self, path: str) -> Sequence[str]:
        """Return subfolders in the order of importance: those above the focus, then the largest."""
        names = self._folders[path].folders
        if len(names) <= FEWER[-1]:
            return names
        prefix = f"{path}/" if path else ""
        near = [name for name in names if prefix + name in self._on_the_way]
        folders = self._folders
        largest = heapq.nsmallest(NAMES_MAX, names, key=lambda name: -folders[prefix + name].total)
        return list(dict.fromkeys([*near, *largest]))

    def _lines(self) -> list[str]:
        """Return the lines of the map. Not recursive: paths may be deeper than Python's recursion limit."""
        lines: list[str] = []
        stack = [("", 0, "")]  # a folder with its depth, or a finished line
        while stack:
            path, depth, line = stack.pop()
            if line:
                lines.append(line)
                continue
            label = printable(path.rpartition("/")[2])
            unfolded = self._unfolded.get(path)
            # A folder that only holds one folder is drawn on the same line: `src/main/java/`.
            while (
                path and unfolded and not unfolded.names and len(unfolded.folders) == 1 and not unfolded.more
            ):
                label = f"{label}/{printable(unfolded.folders[0])}"
                path = _join(path, unfolded.folders[0])
                unfolded = self._unfolded.get(path)
            if path:
                heading = f"{label}/" if unfolded else self._folder_line(path, f"{label}/")
                lines.append("  " * (depth - 1) + heading)
            if unfolded is None:
                continue
            if unfolded.names:
                lines.append("  " * depth + unfolded.names)
            if unfolded.more:
                stack.append(("", 0, "  " * depth + unfolded.more))
            stack.extend((_join(path, name), depth + 1, "") for name in reversed(unfolded.folders))
        return lines

    def _folder_line(self, path: str, label: str) -> str:
        return f"{label} ({_count(self._folders[path].total, 'file')})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _by_folder(paths: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        found.setdefault(folder, set()).add(name)
    return found


def _is_in(name: str, names: Sequence[str]) -> bool:
    """Whether a name is in a sorted list."""
    position = bisect_left(names, name)
    return position < len(names) and names[position] == name


def _ancestors(path: str) -> Iterable[str]:
    """Yield the folders above a path, the root first."""
    yield ""
    parts = path.split("/")
    for end in range(1, len(parts)):
        yield "/".join(parts[:end])


def _depth(path: str) -> int:
    return path.count("/") + (path != "")


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
