"""Feedback: which files and items of a project proved useful, and how much that raises their weight.

Of use is what an agent went on with: a file that it edited after a context showed it, one that a decision is
about, an item or a file that a reply referred to. No clock is in it: what was of use fades as other things
are, so that the same state gives the same weights tomorrow.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..core.quarantine import quarantine
from ..core.system import PASSING, System

FADE = 0.98
"""What each further sign leaves of all earlier ones: half of them after 34 signs, an afternoon's work."""

LEVELS = ((4.0, 1.15), (2.0, 1.10), (0.75, 1.05))
"""From so much use on a weight is multiplied by so much. Few steps, so that few contexts change with a sign;
bounded by .15, so that habit decides between equals and hides nothing that is asked for."""

KEYS_MAX = 1_000
USE_MIN = 0.05
"""What faded below is forgotten: sixty signs after a single one's three quarters."""

SHOWN_MAX = 500
"""Maximum number of shown files, the latest, for which an edit counts as use."""

FILE_BYTES = 1_048_576
VERSION = 1


class Feedback:
    """The feedback of one project, kept in a JSON file. On the event loop but for `load` and `save`, which
    block. A file that can't be read begins anew: it is a memory of habits, and nothing was promised."""

    def __init__(self, path: str, system: System) -> None:
        self._path = path
        self._system = system
        self._uses: dict[str, float] = {}
        self._shown: OrderedDict[str, None] = OrderedDict()
        self._boosts: Mapping[str, float] = MappingProxyType({})
        self.generation = 0
        """Another number whenever a boost is another one."""
        self.unsaved = False
        self._unread = False
        """Whether the file could not be read for a reason that passes: then it must not be written over."""

    def load(self) -> str:
        """Read the file; returns a warning in words or "". What is denied is read before it is written."""
        try:
            uses = self._read()
        except FileNotFoundError:
            return ""
        except OSError as error:
            self._unread = error.errno in PASSING
            return f"{self._path} can't be read ({error.strerror or error}): what was of use is learnt anew"
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is damaged
            kept = self._quarantine()
            return f"{self._path} can't be used ({error}){kept}: what was of use is learnt anew"
        self._uses = uses
        self._settle()
        return ""

    def _read(self) -> dict[str, float]:
        """Return what the file says. Raises `OSError`, and whatever a file of another kind leads to."""
        data, _ = self._system.read(self._path, FILE_BYTES + 1)
        content = json.loads(data)
        uses = content["uses"]
        if content["version"] != VERSION or not _are_uses(uses):
            raise ValueError("it is of another version, or has entries that aren't numbers")
        return {key: float(use) for key, use in list(uses.items())[-KEYS_MAX:]}

    def check(self) -> None:
        """Read the file and change nothing. Raises `OSError`, and whatever a damaged file leads to."""
        self._read()

    def _quarantine(self) -> str:
        """Rename the file; returns in words as what, or why that can't be."""
        try:
            return f" and is kept as {quarantine(self._path, self._system)}"
        except OSError as error:
            return f" nor quarantined ({error.strerror or error})"

    def save(self) -> None:
        """Write the file. Raises `OSError`."""
        self.unsaved = False
        if self._unread:
            try:
                former = self._read()
            except FileNotFoundError:
                former = {}
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
        """Note which files a context showed."""
        for path in paths:
            self._shown[path] = None
            self._shown.move_to_end(path)
        while len(self._shown) > SHOWN_MAX:
            self._shown.popitem(last=False)

    def edited(self, paths: Iterable[str]) -> None:
        """Note edits. A file counts once for each time that it was shown: saving it ten times is one use."""
        used = [path for path in paths if path in self._shown]
        for path in used:
            del self._shown[path]
        self.used(used)

    def used(self, keys: Iterable[str]) -> None:
        """Note what was of use: paths of files, and items as `type:name` or `type:server/name`."""
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
        """Forget all; returns of how many files and items something was known."""
        count = len(self._uses)
        self._uses = {}
        self._unread = False
        self.unsaved = True
        self._settle()
        return count

    @property
    def boosts(self) -> Mapping[str, float]:
        """What a weight is multiplied by, 1.05 to 1.15, for each key that was of use; frozen."""
        return self._boosts

    def _settle(self) -> None:
        boosts = {key: boost for key, use in sorted(self._uses.items()) if (boost := _boost(use)) > 1}
        if boosts != self._boosts:
            self._boosts = MappingProxyType(boosts)
            self.generation += 1


def feedback_path(folder: str) -> str:
    """Return the file in a project's own folder."""
    return os.path.join(folder, "feedback.json")


def _boost(use: float) -> float:
    return next((boost for least, boost in LEVELS if use >= least), 1.0)


def _are_uses(uses: object) -> bool:
    return isinstance(uses, dict) and all(
        isinstance(use, int | float) and not isinstance(use, bool) and 0 <= use < 1e9 for use in uses.values()
    )
