"""Feedback: which files and items of a project proved useful, and how much that raises their weight.

A file counts as used when an agent edits it after a context showed it, when a decision is about it, or when a
reply refers to it; an item when a reply refers to it. Use fades with each further use of anything, not with
time, so that the same state gives the same weights tomorrow.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..core.quarantine import quarantine
from ..core.system import PASSING, System
from ..core.versions import NewerVersion, refuse_newer

FADE = 0.98
"""Factor applied to all earlier uses at each new one: half remains after 34, an afternoon's work."""

LEVELS = ((4.0, 1.15), (2.0, 1.10), (0.75, 1.05))
"""Minimum use and the factor for the weight. There are few steps, so that few contexts change with a use; the
factor is at most 1.15, so that it decides only between nearly equal weights."""

KEYS_MAX = 1_000
"""Maximum number of files and items whose use is kept, the most used."""

USE_MIN = 0.05
"""Minimum use that is kept: a single use falls below it after 148 further uses."""

SHOWN_MAX = 500
"""Maximum number of recently shown files for which an edit counts as use."""

FILE_BYTES = 1_048_576
VERSION = 1


class Feedback:
    """The feedback of one project, stored in a JSON file. Used on the event loop; `load` and `save` block.

    A damaged file is quarantined, and feedback starts empty: losing it only changes small boosts."""

    def __init__(self, path: str, system: System) -> None:
        self._path = path
        self._system = system
        self._uses: dict[str, float] = {}
        self._shown: OrderedDict[str, None] = OrderedDict()
        self._boosts: Mapping[str, float] = MappingProxyType({})
        self.generation = 0
        """Changes whenever a boost changes."""
        self.unsaved = False
        self._unread = False
        """Whether reading the file failed with a temporary error; `save` must not overwrite it then."""
        self._newer: NewerVersion | None = None
        """Why the file is left alone, if it is a newer version's."""

    def load(self) -> str:
        """Read the file; return a warning, or "". After a temporary error `save` reads it again first."""
        try:
            uses = self._read()
        except FileNotFoundError:
            return ""
        except OSError as error:
            self._unread = error.errno in PASSING
            return f"{self._path} can't be read ({error.strerror or error}): usage feedback starts empty"
        except NewerVersion as error:
            self._newer = error
            return f"{error}; usage feedback starts empty and isn't kept"
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged
            kept = self._quarantine()
            return f"{self._path} can't be used ({error}){kept}: usage feedback starts empty"
        self._uses = uses
        self._settle()
        return ""

    def _read(self) -> dict[str, float]:
        """Return the uses in the file. Raises `OSError`, or any exception for a damaged file."""
        data, _ = self._system.read(self._path, FILE_BYTES + 1)
        content = json.loads(data)
        refuse_newer(self._path, content["version"], VERSION)
        uses = content["uses"]
        if content["version"] != VERSION or not _are_uses(uses):
            raise ValueError("it is of another version, or has entries that aren't numbers")
        return {key: float(use) for key, use in list(uses.items())[-KEYS_MAX:]}

    def check(self) -> None:
        """Check that the file can be read. Raises `OSError`, or any exception for a damaged file."""
        self._read()

    def _quarantine(self) -> str:
        """Rename the damaged file; return a phrase with its new name, or with the error."""
        try:
            return f" and is kept as {quarantine(self._path, self._system)}"
        except OSError as error:
            return f" nor quarantined ({error.strerror or error})"

    def save(self) -> None:
        """Write the file, unless it is a newer version's. Raises `OSError`."""
        self.unsaved = False
        if self._newer is not None:
            return
        if self._unread:
            try:
                former = self._read()
            except FileNotFoundError:
                former = {}
            except NewerVersion as error:
                self._newer = error
                return
            except OSError:
                raise
            except Exception:  # noqa: BLE001 - whatever it raises, it is damaged
                self._quarantine()
                former = {}
            self._uses = {**former, **{key: former.get(key, 0.0) + use for key, use in self._uses.items()}}
            self._unread = False
            self._settle()
        data = json.dumps(
            {"version": VERSION, "uses": {key: round(use, 4) for key, use in dict(self._uses).items()}}
        )
        self._system.write_atomic(self._path, data.encode())

    def shown(self, paths: Iterable[str]) -> None:
        """Remember which files a context showed."""
        for path in paths:
            self._shown[path] = None
            self._shown.move_to_end(path)
        while len(self._shown) > SHOWN_MAX:
            self._shown.popitem(last=False)

    def edited(self, paths: Iterable[str]) -> None:
        """Count edits of shown files as use, once each time a file was shown: ten saves are one use."""
        used = [path for path in paths if path in self._shown]
        for path in used:
            del self._shown[path]
        self.used(used)

    def used(self, keys: Iterable[str]) -> None:
        """Count a use of files by path, and of items as `type:name` or `type:server/name`."""
        wanted = dict.fromkeys(keys)
        if not wanted:
            return
        self._uses = {key: use * FADE for key, use in self._uses.items() if use * FADE >= USE_MIN}
        for key in wanted:
            self._uses[key] = self._uses.pop(key, 0.0) + 1.0
        while len(self._uses) > KEYS_MAX:
            del self._uses[min(self._uses, key=lambda key: self._uses[key])]
        self.unsaved = True
        self._settle()

    def clear(self) -> int:
        """Forget all feedback; return how many files and items had any. Raises `NewerVersion`."""
        if self._newer is not None:
            raise self._newer
        count = len(self._uses)
        self._uses = {}
        self._unread = False
        self.unsaved = True
        self._settle()
        return count

    @property
    def boosts(self) -> Mapping[str, float]:
        """The factor for the weight of each used file and item, 1.05 to 1.15. Read-only."""
        return self._boosts

    def _settle(self) -> None:
        boosts = {key: boost for key, use in sorted(self._uses.items()) if (boost := _boost(use)) > 1}
        if boosts != self._boosts:
            self._boosts = MappingProxyType(boosts)
            self.generation += 1


def feedback_path(folder: str) -> str:
    """Return the path of the feedback file in a project's state folder."""
    return os.path.join(folder, "feedback.json")


def _boost(use: float) -> float:
    return next((boost for least, boost in LEVELS if use >= least), 1.0)


def _are_uses(uses: object) -> bool:
    return isinstance(uses, dict) and all(
        isinstance(use, int | float) and not isinstance(use, bool) and 0 <= use < 1e9 for use in uses.values()
    )
