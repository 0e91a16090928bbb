"""The map of a project: folders and file names, folded by size until it fits."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from ..project.tree import Folder, Layout

NAMES_MAX = 40
"""Maximum number of files, and of folders, named below one folder; the rest is counted."""

FEWER = (NAMES_MAX, 10, 3)
"""The root and the folders on the way to the focus are shown with fewer names before they are folded."""

LEAST_FOLDER_LINE = len("a/ (1 file)\n")
"""The characters that a folder takes at the least, below the folder that names it."""

_FOLDER_LINE = re.compile(r"(.+)/(?: \([\d,]+ files?\))?")
"""A folder: what is in it follows, or is counted."""

_SIDE = frozenset(
    {"test", "tests", "testing", "__tests__", "spec", "specs", "e2e", "fixtures", "benchmarks"}
    | {"doc", "docs", "example", "examples", "static", "assets", "migrations"}
    | {"locale", "locales", "i18n", "vendor", "third_party"}
)
"""Folders that are unfolded after all others, with what is in them: they are large and say little of a
design."""


def draw_skeleton(
    layout: Layout, hidden: Collection[str], near: Iterable[str], characters: int
) -> tuple[str, bool]:
    """Draw the folders of a layout within a number of characters; returns the text and whether it is folded.

    `hidden` are paths that are shown elsewhere and left out here. Folders on the way to the paths in `near`
    unfold first, then level by level the larger ones before the smaller. The cost is that of what is
    drawn, not of the tree, so that 100,000 files take no longer than 1,000.
    """
    return _Map(layout, hidden, near, characters).draw()


def drawn_files(drawn: str) -> Iterator[str]:
    """Yield the paths of the files that a map names, with their names as `printable` has them."""
    above: list[str] = []
    for line in drawn.splitlines():
        text = line.lstrip(" ")
        depth = (len(line) - len(text)) // 2
        folder = _FOLDER_LINE.fullmatch(text)
        if folder is not None:
            above[depth:] = [folder[1]]
            continue
        for name in text.split("  "):
            if name and not name.startswith("… "):
                yield "/".join([*above[:depth], name])


def printable(name: str) -> str:
    """Return a name with its control characters escaped: a file name may hold line breaks and fences."""
    if name.isprintable() and "`" not in name:
        return name
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return escaped.replace("`", "\\x60")


class _Unfolded(Struct):
    """What is drawn below a folder: one line of file names, the folders by name, and what was left out."""

    names: str
    folders: Sequence[str]
    more: str = ""
    cost: int = 0
    complete: bool = True


class _Map:
    """One drawing. `_unfolded` are the folders whose inside is drawn; `_room` is what is left for others."""

    def __init__(self, layout: Layout, hidden: Collection[str], near: Iterable[str], characters: int) -> None:
        self._folders = layout.folders
        self._hidden = _by_folder(hidden)
        self._on_the_way = {ancestor for path in near for ancestor in _ancestors(path)}
        self._room = characters + 1  # every line is counted with its end, which the last one hasn't
        self._unfolded: dict[str, _Unfolded] = {}
        self._queue: list[tuple[tuple[bool, int, int, str], str]] = []
        self._folded = False

    def draw(self) -> tuple[str, bool]:
        """Unfold what there is room for and return the text, and whether anything is left out."""
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
        """Unfold a folder if what is in it fits, and put the folders in it into the queue."""
        ranked: Sequence[str] | None = None
        for most in FEWER if path in self._on_the_way or not path else FEWER[:1]:
            least = (2 * _depth(path) + LEAST_FOLDER_LINE) * min(len(self._folders[path].folders), most)
            if self._room <= 0 or least > self._room:
                continue
            if ranked is None:
                ranked = self._folders_by_size(path)
            found = self._inside(path, most, ranked)
            if found.cost <= self._room:
                break
        else:
            self._folded = True
            return
        self._folded |= not found.complete
        self._room -= found.cost
        self._unfolded[path] = found
        for name in found.folders:
            self._push(_join(path, name))

    def _inside(self, path: str, most: int, ranked: Sequence[str]) -> _Unfolded:
        """Return the entries of a folder, with a maximum number of names of each kind."""
        folder = self._folders[path]
        names, names_complete = self._file_names(folder, path, most)
        chosen = folder.folders if len(folder.folders) <= most + 1 else sorted(ranked[:most])
        found = _Unfolded(names, chosen, complete=names_complete)
        left_out = len(folder.folders) - len(chosen)
        if left_out:
            files = folder.total - len(folder.files)
            files -= sum(self._folders[_join(path, name)].total for name in chosen)
            found.more = f"… {_count(left_out, 'more folder')} ({_count(files, 'file')})"
            found.complete = False
        indent = 2 * _depth(path) + 1  # with the end of the line
        found.cost = sum(len(text) + indent for text in (names, found.more) if text)
        for name in chosen:
            found.cost += indent + len(self._folder_line(_join(path, name), f"{printable(name)}/"))
        return found

    def _file_names(self, folder: Folder, path: str, most: int) -> tuple[str, bool]:
        """Return the names of a folder's files on one line, and whether those are all."""
        hidden = self._hidden.get(path, set())
        total = len(folder.files) - sum(_is_in(name, folder.files) for name in hidden)
        if total <= most + 1:  # `… 1 more` would take the place of the name
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
        """Return the folders to name when there are too many: on the way to the focus, then the largest."""
        names = self._folders[path].folders
        if len(names) <= FEWER[-1]:
            return names
        prefix = f"{path}/" if path else ""
        near = [name for name in names if prefix + name in self._on_the_way]
        folders = self._folders
        largest = heapq.nsmallest(NAMES_MAX, names, key=lambda name: -folders[prefix + name].total)
        return list(dict.fromkeys([*near, *largest]))

    def _lines(self) -> list[str]:
        """Return the lines of the map. Paths may be deeper than Python's limit on recursion."""
        lines: list[str] = []
        stack = [("", 0, "")]  # a folder with its depth, or a line that is ready
        while stack:
            path, depth, line = stack.pop()
            if line:
                lines.append(line)
                continue
            label = printable(path.rpartition("/")[2])
            found = self._unfolded.get(path)
            # A folder with nothing but one folder is drawn on one line with it: `src/main/java/`.
            while path and found and not found.names and len(found.folders) == 1 and not found.more:
                label = f"{label}/{printable(found.folders[0])}"
                path = _join(path, found.folders[0])
                found = self._unfolded.get(path)
            if path:
                heading = f"{label}/" if found else self._folder_line(path, f"{label}/")
                lines.append("  " * (depth - 1) + heading)
            if found is None:
                continue
            if found.names:
                lines.append("  " * depth + found.names)
            if found.more:
                stack.append(("", 0, "  " * depth + found.more))
            stack.extend((_join(path, name), depth + 1, "") for name in reversed(found.folders))
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
    """Whether a name is among sorted ones."""
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
