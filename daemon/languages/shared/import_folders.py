"""The project data that import resolution uses: an index of its folders, and the configuration files that
affect imports.

The files are untrusted: reading them ends for any content and raises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from ...core.relative_paths import ancestors, nearness, within
from .source_text import lazy_pattern

MAX_NAMESAKES = 1_000
"""Maximum number of files of a name that are compared for an import."""


class ImportFolders:
    """The folders of the project's paths, built on first use and kept up to date.

    `configs` are the file names whose folders can be looked up; files with an ending in `searched` are found
    by the end of their path. If the number of names shows that a change was missed, everything is rebuilt.
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
        """Return whether any file is in a folder or below it."""
        self._refresh()
        return folder in self._entries

    def holding(self, name: str) -> Collection[str]:
        """Return the folders that directly hold a file with an indexed name."""
        self._refresh()
        return self._holders.get(name, ())

    def packages(self, name: str) -> Collection[str]:
        """Return the folders with a name that are Python packages."""
        self._refresh()
        return self._packages.get(name, ())

    def ending_with(self, tail: str) -> list[str]:
        """Return the files whose path ends with `tail` (`a/b.h`), if their ending is searched.

        Empty for a name of more than `MAX_NAMESAKES` files, which identifies none of them.
        """
        self._refresh()
        namesakes = self._named.get(tail.rpartition("/")[2], ())
        if len(namesakes) > MAX_NAMESAKES:
            return []
        behind = f"/{tail}"
        return [path for path in namesakes if f"/{path}".endswith(behind) and path in self._names]

    def nearest(self, tail: str, importer: str) -> str | None:
        """Return the file whose path ends with `tail` that is nearest to the importer.

        Files of tests and examples are only found by importers among them.
        """
        found = [path for path in self.ending_with(tail) if not _is_aside(path[: -len(tail)], importer)]
        return min(found, key=lambda path: nearness(path, importer), default=None)

    def change(self, path: str, difference: int) -> None:
        """Count a path in (1) or out (-1), if the folders were built."""
        if self._count >= 0:
            self._count += difference
            self._note(path, difference)

    def _refresh(self) -> None:
        if self._count == len(self._names):
            return
        for index in (self._entries, self._holders, self._packages, self._named):
            index.clear()
        self._sources.clear()
        for path in self._names:
            self._note(path, 1)
        self._count = len(self._names)

    def _note(self, path: str, difference: int) -> None:
        folder, _, name = path.rpartition("/")
        if name in self._indexed:
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
    """Return whether a folder, with its trailing slash, belongs to tests or examples away from the
    importer."""
    parts = folder.split("/")
    return any(
        part in _ASIDE and not importer.startswith("/".join(parts[: place + 1]) + "/")
        for place, part in enumerate(parts)
    )


def folders_by_name(declared: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the folders that manifests give each name, at most `MAX_TARGETS` of a name."""
    found: dict[str, list[str]] = {}
    for name, folder in declared:
        namesakes = found.setdefault(name, [])
        if len(namesakes) < MAX_TARGETS:
            namesakes.append(folder)
    return found


def nearest_first(folders: Collection[str], importer: str) -> list[str]:
    """Return folders, the nearest to the importer first."""
    return sorted(folders, key=lambda folder: nearness(folder, importer)) if len(folders) > 1 else [*folders]


def _toggle(index: dict[str, set[str]], key: str, value: str, difference: int) -> None:
    """Add a value to a set of the index, or remove it."""
    if difference > 0:
        index.setdefault(key, set()).add(value)
    elif key in index:
        index[key].discard(value)
        if not index[key]:
            del index[key]


MAX_NAMESAKE_FOLDERS = 2_000
"""Maximum number of folders of a name; a more common name identifies none of them."""


class SourceFolders:
    """The folders that directly hold files with an ending in `sources`, kept up to date by `change`.
    `projects` are the paths of files with an ending in `manifests`.

    `remembered` caches results until a folder is added or removed.
    """

    def __init__(self, sources: tuple[str, ...] = (), manifests: tuple[str, ...] = ()) -> None:
        self._sources = sources
        self._manifests = manifests
        self._files: dict[str, set[str]] = {}
        self._named: dict[str, set[str]] = {}
        self._memory: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.projects: set[str] = set()

    def clear(self) -> None:
        """Drop everything."""
        for index in (self._files, self._named, self._memory, self.projects):
            index.clear()

    def forget(self) -> None:
        """Forget the cached answers."""
        self._memory.clear()

    def change(self, path: str, difference: int) -> None:
        """Add a path (1) or remove it (-1), if it is a source."""
        if path.endswith(self._manifests):
            self.projects ^= {path}
            self._memory.clear()
        if not path.endswith(self._sources):
            return
        folder = path.rpartition("/")[0]
        files = self._files.get(folder)
        if difference > 0:
            if files is None:
                files = self._files[folder] = set()
                self._named.setdefault(folder.rpartition("/")[2], set()).add(folder)
                self._memory.clear()
            files.add(path)
        elif files is not None:
            files.discard(path)
            if not files:
                del self._files[folder]
                self._named[folder.rpartition("/")[2]].discard(folder)
                self._memory.clear()

    def files(self, folder: str, endings: tuple[str, ...]) -> list[str]:
        """Return the files directly in a folder with one of the endings, sorted."""
        return sorted(path for path in self._files.get(folder, ()) if path.endswith(endings))

    def below(self, folder: str) -> list[str]:
        """Return the folders with sources at or below a folder, sorted."""
        found = (
            each for each in self._files if not folder or each == folder or each.startswith(f"{folder}/")
        )
        return sorted(found)

    def ending_with(self, tail: str) -> list[str]:
        """Return the folders whose path ends with `tail`, sorted; none if there are too many."""
        namesakes = self._named.get(tail.rpartition("/")[2], ())
        if len(namesakes) > MAX_NAMESAKE_FOLDERS:
            return []
        return sorted(each for each in namesakes if f"/{each}".endswith(f"/{tail}"))

    def remembered(self, question: tuple[str, ...], answer: Callable[[], Iterable[str]]) -> tuple[str, ...]:
        """Return the cached answer to a question about the folders, computed again after a folder is added or
        removed."""
        found = self._memory.get(question)
        if found is None:
            found = self._memory[question] = tuple(answer())
        return found


TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "fixtures", "testData", "testdata", "androidTest", "it"}
)


def is_test(folder: str) -> bool:
    """Return whether a folder belongs to tests."""
    return any(
        part in TEST_FOLDERS or part.endswith(("Test", "Tests", ".Tests")) for part in folder.split("/")
    )


MAX_CONFIG_BYTES = 1 << 20
"""Maximum bytes of a configuration file; a larger one counts as empty."""

MAX_TARGETS = 32
"""Maximum targets of an alias or an `exports` entry, and maximum nesting of its conditions."""

MAX_STARS = 1_000
"""Maximum patterns with a star in a configuration file; each is tried in turn."""

MAX_PACKAGES = 5_000
"""Maximum manifests of each kind in a project."""


class ImportConfig:
    """Reads configuration files, each once, and records which were requested, whether or not they exist."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._objects: dict[str, dict[str, object]] = {}
        self.asked: set[str] = set()

    def clear(self) -> None:
        """Drop the contents. The record of requested files stays until they are requested again."""
        self._objects.clear()

    def text(self, path: str) -> str:
        """Return a file's text, empty if it doesn't exist or is too large."""
        self.asked.add(path)
        data = self._read(path)
        if data is None or len(data) > MAX_CONFIG_BYTES:
            return ""
        return data.decode("utf-8-sig", "replace")

    def json(self, path: str) -> dict[str, object]:
        """Return the object in a JSON file, which may have comments and trailing commas; else {}."""
        known = self._objects.get(path)
        if known is None:
            known = self._objects[path] = _json_object(self.text(path))
        return known


# Strings are matched too, so that text inside a string isn't taken for a comment. Nothing here can backtrack.
_JSON_COMMENT = lazy_pattern(r'"(?:[^"\\]++|\\.)*+\\?"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_JSON_COMMA = lazy_pattern(r'"(?:[^"\\]++|\\.)*+\\?"?|,(?=\s*[}\]])', re.DOTALL)


def _json_object(text: str) -> dict[str, object]:
    """Return the object in a JSON text with comments and trailing commas, {} for anything else."""
    for pattern in (_JSON_COMMENT, _JSON_COMMA):
        text = pattern.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
