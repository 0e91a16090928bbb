"""Owns what was quarantined in the state folder since the daemon started, by any of its processes.

A damaged file is renamed to `NAME.damaged-TIME` beside its place, so the folder itself tells what was.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence

from msgspec import Struct

from .quarantine import MARK
from .system import System

NAMED_MAX = 5
"""Maximum number of files that a sentence names."""


class _Folder(Struct, frozen=True):
    """A folder as it was listed: quarantined names in it, and folders below it."""

    mtime_ns: int
    names: tuple[str, ...]
    folders: tuple[str, ...]


class QuarantineLog:
    """The quarantined files below a state folder. Made when the daemon starts; thread-safe."""

    def __init__(self, folder: str, system: System) -> None:
        self._folder = folder
        self._system = system
        self._since = system.time_ns()
        self._listed: dict[str, _Folder] = {}
        self._lock = threading.Lock()

    def problem(self, said: Sequence[str] = ()) -> str:
        """Say what was quarantined since the start and isn't `said` already, or nothing.

        A stat for each folder below; blocks.
        """
        with self._lock:
            listed: dict[str, _Folder] = {}
            found = sorted(self._below("", listed))
            self._listed = listed
        found = [path for path in found if not any(os.path.basename(path) in text for text in said)]
        if not found:
            return ""
        more = f" and {len(found) - NAMED_MAX:,} more" if len(found) > NAMED_MAX else ""
        return (
            f"damaged files were quarantined since the daemon started: {', '.join(found[:NAMED_MAX])}{more}; "
            "what can be derived is built anew, see: foveal doctor --deep"
        )

    def _below(self, folder: str, listed: dict[str, _Folder]) -> Iterator[str]:
        """Yield what was quarantined in a folder and below it, and note in `listed` the folders there are."""
        try:
            mtime_ns = self._system.stat(os.path.join(self._folder, folder)).st_mtime_ns
            known = self._listed.get(folder)
            if known is None or known.mtime_ns != mtime_ns:
                known = self._list(folder, mtime_ns)
        except OSError:
            return  # it went just now, or can't be looked at, which `disk_problem` says
        listed[folder] = known
        yield from (os.path.join(folder, name) for name in known.names)
        for name in known.folders:
            yield from self._below(os.path.join(folder, name), listed)

    def _list(self, folder: str, mtime_ns: int) -> _Folder:
        names, folders = [], []
        with self._system.scandir(os.path.join(self._folder, folder)) as entries:
            for entry in entries:
                name, mark, moment = entry.name.partition(MARK)
                if mark:
                    digits = moment.partition("-")[0]
                    if digits == moment and digits.isdigit() and int(digits) >= self._since:
                        names.append(name + mark + moment)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(name)
        return _Folder(mtime_ns, tuple(names), tuple(folders))
