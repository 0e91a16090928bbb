"""The folders that hold sources of languages whose packages are folders, by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

MAX_NAMESAKES = 2_000
"""Folders of one name from which on they say nothing about which of them is meant."""


class SourceFolders:
    """The folders that directly hold files with the endings of `sources`, kept true through `change`.
    `projects` are the paths of files with the endings of `manifests`.

    What was found out of them is kept by `remembered` until a folder comes or goes.
    """

    def __init__(self, sources: tuple[str, ...] = (), manifests: tuple[str, ...] = ()) -> None:
        self._sources = sources
        self._manifests = manifests
        self._files: dict[str, set[str]] = {}
        self._named: dict[str, set[str]] = {}
        self._memory: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.projects: set[str] = set()

    def clear(self) -> None:
        """Forget everything."""
        for index in (self._files, self._named, self._memory, self.projects):
            index.clear()

    def forget(self) -> None:
        """Forget the answers that were remembered."""
        self._memory.clear()

    def change(self, path: str, difference: int) -> None:
        """Take a path in (1) or out (-1), if it is a source."""
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
        """Return the folders whose path ends with another, sorted; none where they are too many to tell."""
        namesakes = self._named.get(tail.rpartition("/")[2], ())
        if len(namesakes) > MAX_NAMESAKES:
            return []
        return sorted(each for each in namesakes if f"/{each}".endswith(f"/{tail}"))

    def remembered(self, question: tuple[str, ...], answer: Callable[[], Iterable[str]]) -> tuple[str, ...]:
        """Return the answer to a question about the folders, which is found out only once."""
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
