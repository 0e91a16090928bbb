"""Owns what the lines of a pool come to: which experiences there are, with their edits, once each.

Lines may come in any order, twice, and from several files: the outcome is the same. Knows no file.
"""

from __future__ import annotations

import threading
from bisect import insort

from msgspec import Struct

from .edits import Edit, applied
from .experience import Experience, identity_of
from .relevance import Index, keys_of


class Known(Struct, frozen=True):
    """An experience that a pool has: as it was grafted, its edits by time, and what they come to."""

    original: Experience
    edits: tuple[Edit, ...]
    current: Experience
    deleted: bool
    source: int
    """The number of the source that it was read from; of several the highest, where edits of it go."""


class Records:
    """The experiences of one pool, and the index of those that are shown.

    Changed by one thread at a time; `lock` guards what others may read meanwhile.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.index = Index()
        self.version = 0
        """A number that grows whenever something else is shown or deleted."""
        self.edits = 0
        self._originals: dict[str, Experience] = {}
        self._edits: dict[str, list[Edit]] = {}
        self._edit_ids: set[str] = set()
        self._deleted: dict[str, Experience] = {}
        self._by_identity: dict[bytes, str] = {}
        self._aliases: dict[str, str] = {}
        self._sources: dict[str, int] = {}

    def __len__(self) -> int:
        """How many are shown."""
        return len(self.index.order)

    @property
    def deleted(self) -> int:
        """How many are deleted and can be restored."""
        return len(self._deleted)

    def add(self, experience: Experience, source: int = 0) -> bool:
        """Take an experience; false for one that is known, by its id or by who decided what and where.

        Of several with another id but the same agent, session and decision the earliest one stands for all,
        and edits of any of them are edits of it.
        """
        known = self.canonical(experience.id)
        if known is not None:
            self._sources[known] = max(self._sources[known], source)
            return False
        identity = identity_of(experience)
        first = self._by_identity.get(identity)
        if first is None:
            self._by_identity[identity] = experience.id
            self._originals[experience.id] = experience
            self._sources[experience.id] = source
            self._show(experience.id)
            return True
        self._sources[first] = max(self._sources[first], source)
        if (experience.timestamp, experience.id) < (self._originals[first].timestamp, first):
            self._stand_in(experience, first)
        else:
            self._become_alias(experience.id, first)
        return False

    def add_edit(self, edit: Edit) -> bool:
        """Take an edit, also of an experience that isn't known yet; false for one that is known."""
        if edit.id in self._edit_ids:
            return False
        self._edit_ids.add(edit.id)
        self.edits += 1
        of = self._aliases.get(edit.of, edit.of)
        insort(self._edits.setdefault(of, []), edit, key=_order)
        if of in self._originals:
            self._show(of)
        return True

    def canonical(self, experience_id: str) -> str | None:
        """Return the id that an experience is known by, None if it isn't known."""
        experience_id = self._aliases.get(experience_id, experience_id)
        return experience_id if experience_id in self._originals else None

    def known_as(self, experience: Experience) -> str | None:
        """Return the id of the same decision by the same agent in the same session, if there is one."""
        return self._by_identity.get(identity_of(experience))

    def get(self, experience_id: str) -> Known | None:
        """Return an experience by any of its ids, deleted ones too."""
        found = self.canonical(experience_id)
        if found is None:
            return None
        shown = self.index.get(found)
        return Known(
            self._originals[found],
            tuple(self._edits.get(found, ())),
            shown or self._deleted[found],
            shown is None,
            self._sources[found],
        )

    def shown(self) -> list[Experience]:
        """Return those that are shown, newest first."""
        return [self.index.experiences[place] for _, place in reversed(self.index.order)]

    def trash(self) -> list[Experience]:
        """Return those that are deleted, newest first."""
        return sorted(self._deleted.values(), key=lambda one: (one.timestamp, one.id), reverse=True)

    def source_of(self, experience_id: str) -> int:
        """Return the number of the source of a known experience."""
        return self._sources[experience_id]

    def with_aliases(self, experience_ids: set[str]) -> set[str]:
        """Return ids with all others that mean the same experiences."""
        return experience_ids | {alias for alias, first in self._aliases.items() if first in experience_ids}

    def _show(self, experience_id: str) -> None:
        """Bring the index to what an experience and its edits come to."""
        original = self._originals[experience_id]
        current, deleted = applied(original, self._edits.get(experience_id, ()))
        shown = self.index.get(experience_id)
        if deleted:
            changed = self._deleted.get(experience_id) != current
            with self.lock:
                self.index.remove(experience_id)
                self._deleted[experience_id] = current
        else:
            changed = shown != current
            if changed:
                keys = keys_of(current)
                with self.lock:
                    self._deleted.pop(experience_id, None)
                    self.index.remove(experience_id)
                    self.index.add(current, keys)
        self.version += changed

    def _stand_in(self, experience: Experience, former: str) -> None:
        """Let an earlier experience stand for one that was known before it."""
        with self.lock:
            self.index.remove(former)
            self._deleted.pop(former, None)
        del self._originals[former]
        source = self._sources.pop(former)
        self._originals[experience.id] = experience
        self._sources[experience.id] = source
        self._by_identity[identity_of(experience)] = experience.id
        for alias, first in list(self._aliases.items()):
            if first == former:
                self._aliases[alias] = experience.id
        self._become_alias(former, experience.id)
        self._show(experience.id)

    def _become_alias(self, experience_id: str, first: str) -> None:
        self._aliases[experience_id] = first
        if edits := self._edits.pop(experience_id, None):
            self._edits[first] = sorted([*self._edits.get(first, ()), *edits], key=_order)
            self._show(first) if first in self._originals else None


def _order(edit: Edit) -> tuple[str, str]:
    return edit.order
