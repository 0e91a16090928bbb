"""The files of a project that are being worked on, and the unsaved texts in editors that replace them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from ..index.records import FileActivity
from ..project.records import FileRecord

HOT_MAX = 8
HOT_EACH = 3
"""Maximum number of hot files for each reason, so that an afternoon of edits doesn't hide the rest."""

ASKED_OFTEN = 3
"""Number of times a file must be in focus to count as often asked for."""

ASKED_MAX = 1_000
"""Maximum number of files whose requests are counted; beyond that the rarer half is forgotten."""

REMEMBERED_MAX = 4 * HOT_MAX
"""Maximum number of edited files, and of open files, remembered; some may be gone when hot files are read."""

CHANGED_OFTEN = 3
"""Number of the latest commits that must change a file for it to count as often changed."""


OPEN, EDITED = "open in an editor", "recently edited"
"""The reasons of files that somebody has open or changed."""


class HotNode(Struct, frozen=True):
    """A file that is being worked on, and the reason why it counts as such."""

    path: str
    reason: str

    @property
    def is_edited(self) -> bool:
        """Whether it was edited or is open, so that a prompt may follow it up."""
        return self.reason in {EDITED, OPEN}


class HotFiles:
    """Records which files people and agents work on. On the event loop only."""

    def __init__(self, activity: Iterable[FileActivity]) -> None:
        self._activity = tuple(activity)
        self._edited: dict[str, None] = {}
        self._opened: dict[str, None] = {}
        self._asked: Counter[str] = Counter()
        self._nodes: tuple[HotNode, ...] | None = None
        self._files: Container[str] = ()
        """The files that `_nodes` was computed for."""

    def set_activity(self, activity: Iterable[FileActivity]) -> None:
        """Replace the edits and commits that the index has counted."""
        self._activity = tuple(activity)
        self._nodes = None

    def note_edited(self, paths: Iterable[str]) -> None:
        """Remember edited files, the latest last."""
        for path in paths:
            _remember(self._edited, path)
        self._nodes = None

    def note_opened(self, path: str) -> None:
        """Remember that an editor has a file open, the latest last."""
        _remember(self._opened, path)
        self._nodes = None

    def note_closed(self, path: str) -> None:
        """Forget that a file is open."""
        self._opened.pop(path, None)
        self._nodes = None

    def note_asked(self, paths: tuple[str, ...]) -> None:
        """Count files that a scope focuses on."""
        self._asked.update(path.partition("#")[0] for path in paths[:HOT_MAX])
        if len(self._asked) > ASKED_MAX:
            self._asked = Counter(dict(self._asked.most_common(ASKED_MAX // 2)))
        self._nodes = None

    def among(self, files: Container[str]) -> tuple[HotNode, ...]:
        """Return the hot files among those of a tree, the strongest reason first, at most `HOT_MAX`."""
        if self._nodes is None or self._files is not files:
            self._nodes, self._files = self._find(files), files
        return self._nodes

    def _find(self, files: Container[str]) -> tuple[HotNode, ...]:
        activity = sorted(self._activity, key=lambda file: file.path)
        edited = [
            *reversed(self._edited),
            *(file.path for file in sorted(activity, key=lambda file: -file.edited_ns) if file.edits),
        ]
        # Filtered before sorting: few of up to `ASKED_MAX` files pass.
        often = [count for count in self._asked.items() if count[1] >= ASKED_OFTEN]
        changed = [file for file in activity if file.commits >= CHANGED_OFTEN]
        found: dict[str, HotNode] = {}
        for reason, paths in (
            (OPEN, list(reversed(self._opened))),
            (EDITED, edited),
            ("often asked for", [path for path, _ in sorted(often, key=_most_first)]),
            ("often changed", [file.path for file in sorted(changed, key=lambda file: -file.commits)]),
        ):
            taken = 0
            for path in paths:
                if taken < HOT_EACH and path in files and path not in found:
                    found[path] = HotNode(path, reason)
                    taken += 1
        return tuple(list(found.values())[:HOT_MAX])


def _remember(paths: dict[str, None], path: str) -> None:
    """Put a path last, and remove the oldest paths above `REMEMBERED_MAX`."""
    paths.pop(path, None)
    paths[path] = None
    while len(paths) > REMEMBERED_MAX:
        del paths[next(iter(paths))]


def _most_first(pair: tuple[str, int]) -> tuple[int, str]:
    """Order by the power of two of the count: files asked for in turns must not swap places each time."""
    return -pair[1].bit_length(), pair[0]


BUFFERS_MAX = 64
BUFFER_CHARACTERS = 2 * 1024 * 1024


class UnsavedBuffers:
    """Unsaved texts by relative path, the latest `BUFFERS_MAX`. On the event loop only."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.generation = 0
        """Incremented with each change of a text."""

    def frozen(self) -> Mapping[str, str]:
        """Return an immutable copy."""
        return MappingProxyType(dict(self._texts))

    def set(self, path: str, text: str | None) -> None:
        """Let an editor's text replace a file; with None the file itself counts again."""
        old = self._texts.pop(path, None)
        if text is not None:
            self._texts[path] = text
            if len(self._texts) > BUFFERS_MAX:
                del self._texts[next(iter(self._texts))]
        self.generation += old != text

    def drop_saved(self, written: Iterable[FileRecord], known: Mapping[str, FileRecord]) -> None:
        """Drop the texts of files that changed on the disk: the editor saved them, or the buffer is stale."""
        if not self._texts:
            return
        for record in written:
            former = known.get(record.path)
            if record.path in self._texts and former is not None and former.stamp != record.stamp:
                self.set(record.path, None)
