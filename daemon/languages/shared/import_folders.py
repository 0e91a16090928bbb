"""The folders that a project's names imply, as far as imports ask for them."""

from __future__ import annotations

from collections.abc import Collection

from ...core.relative_paths import ancestors, nearness, within
from .source_folders import SourceFolders

MAX_NAMESAKES = 1_000
"""Files of one name that are compared for one import."""


class ImportFolders:
    """The folders that the names imply, built when first asked for and kept true afterwards.

    `configs` are the names of files whose folders can be asked for; files with one of the endings `searched`
    are found by the end of their path. A caller that forgot to tell a change is noticed by the count of
    names, and everything is built again.
    """

    def __init__(
        self,
        names: Collection[str],
        configs: Collection[str],
        searched: tuple[str, ...],
        sources: SourceFolders,
    ) -> None:
        self._names = names
        self._indexed = frozenset((*configs, "__init__.py", "__init__.pyi"))
        self._searched = searched
        self._count = -1
        self._entries: dict[str, int] = {}
        self._go: dict[str, set[str]] = {}
        self._holders: dict[str, set[str]] = {}
        self._packages: dict[str, set[str]] = {}
        self._named: dict[str, set[str]] = {}
        self._sources = sources

    @property
    def sources(self) -> SourceFolders:
        """The folders of languages whose packages are folders."""
        self._refresh()
        return self._sources

    def exists(self, folder: str) -> bool:
        """Return whether any file lies in a folder or below it."""
        self._refresh()
        return folder in self._entries

    def go_files(self, folder: str) -> list[str]:
        """Return the Go files directly in a folder, sorted."""
        self._refresh()
        return sorted(path for path in self._go.get(folder, ()) if path in self._names)

    def holding(self, name: str) -> Collection[str]:
        """Return the folders that directly hold a file of one of the names that are indexed."""
        self._refresh()
        return self._holders.get(name, ())

    def packages(self, name: str) -> Collection[str]:
        """Return the folders of a name that are Python packages."""
        self._refresh()
        return self._packages.get(name, ())

    def ending_with(self, tail: str) -> list[str]:
        """Return the files whose path ends with another (`a/b.h`), if their ending is searched.

        A name that more than `MAX_NAMESAKES` files have says nothing about which of them is meant: then
        there are none.
        """
        self._refresh()
        namesakes = self._named.get(tail.rpartition("/")[2], ())
        if len(namesakes) > MAX_NAMESAKES:
            return []
        behind = f"/{tail}"
        return [path for path in namesakes if f"/{path}".endswith(behind) and path in self._names]

    def nearest(self, tail: str, importer: str) -> str | None:
        """Return the file whose path ends with another that is nearest to the importer.

        What tests and examples hold is for themselves.
        """
        found = [path for path in self.ending_with(tail) if not _is_aside(path[: -len(tail)], importer)]
        return min(found, key=lambda path: nearness(path, importer), default=None)

    def change(self, path: str, difference: int) -> None:
        """Count a path in (1) or out (-1), if the folders were built at all."""
        if self._count >= 0:
            self._count += difference
            self._note(path, difference)

    def _refresh(self) -> None:
        if self._count == len(self._names):
            return
        for index in (self._entries, self._go, self._holders, self._packages, self._named):
            index.clear()
        self._sources.clear()
        for path in self._names:
            self._note(path, 1)
        self._count = len(self._names)

    def _note(self, path: str, difference: int) -> None:
        folder, _, name = path.rpartition("/")
        if name.endswith(".go"):
            _toggle(self._go, folder, path, difference)
        elif name in self._indexed:
            _toggle(self._holders, name, folder, difference)
            twin = within(folder, "__init__.py" if name.endswith("i") else "__init__.pyi")
            if name.startswith("__init__") and (difference > 0 or twin not in self._names):
                _toggle(self._packages, folder.rpartition("/")[2], folder, difference)
        self._sources.change(path, difference)
        if name.endswith(self._searched):
            _toggle(self._named, name, path, difference)
        for ancestor in ancestors(folder):
            count = self._entries.get(ancestor, 0) + difference
            if count > 0:
                self._entries[ancestor] = count
            else:
                self._entries.pop(ancestor, None)


_ASIDE = frozenset(
    ("test", "tests", "testing", "fixtures", "testdata", "spec", "example", "examples", "docs", "contrib")
)


def _is_aside(folder: str, importer: str) -> bool:
    """Return whether a folder, which ends with a slash, belongs to tests or examples elsewhere."""
    parts = folder.split("/")
    return any(
        part in _ASIDE and not importer.startswith("/".join(parts[: place + 1]) + "/")
        for place, part in enumerate(parts)
    )


def _toggle(index: dict[str, set[str]], key: str, value: str, difference: int) -> None:
    """Put a value into a set of the index, or take it out."""
    if difference > 0:
        index.setdefault(key, set()).add(value)
    elif key in index:
        index[key].discard(value)
        if not index[key]:
            del index[key]
