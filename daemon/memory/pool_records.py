"""The records of a pool: its experiences with their edits, and the index by which they are found.

Of lines with the same id the last one counts. Edits may come in any order, even before their experience.
"""

from __future__ import annotations

import heapq
import posixpath
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

from msgspec import Struct

from .edits import Edit, applied
from .experience import Experience, identity_of

ASKED_CHARACTERS = 20_000
"""Maximum characters of a query's words: a prompt may have 5 MB."""
_INDEXED_CHARACTERS = 4_000
_NEWEST = 1_000
"""Maximum number of experiences of a file, folder or word that are weighed, the last ones."""
_MAX_SHARED_WORDS = 3
_MAX_WORDS_ASKED = 64
_BAD = ("failure", "reverted")


class Known(Struct, frozen=True):
    """An experience of a pool: as it was grafted, its edits by time, and the result."""

    original: Experience
    edits: tuple[Edit, ...]
    current: Experience
    deleted: bool
    is_shared: bool
    """Whether it is in the pool in the repository, to which its edits go then."""


class Records:
    """The experiences of a pool. Changed by one thread at a time, read by any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._originals: dict[str, Experience] = {}
        self._edits: dict[str, dict[str, Edit]] = {}
        """Edits by the experience and by their own id."""
        self._shared: set[str] = set()
        self._by_identity: dict[bytes, list[str]] = {}
        self._held: dict[str, frozenset[str]] = {}
        """The commits that have an experience, see `commits_with`."""
        self._stale: dict[str, None] = {}
        """Ids of experiences whose lines were added since `settle`."""
        self._shown: dict[str, Experience] = {}
        self._deleted: dict[str, Experience] = {}
        self._numbers: dict[str, int] = {}
        """The number of each experience in the order of the lines, which an edit doesn't change."""
        self._newest: list[Experience] | None = None
        """The shown ones, newest first, once that was asked for."""
        self._postings: dict[str, list[str]] = {}
        """Ids of shown ones by file, folder and word, see `keys_of`."""

    def __len__(self) -> int:
        """Return the number of shown experiences."""
        return len(self._shown)

    @property
    def deleted(self) -> int:
        """The number of deleted experiences, which can be restored."""
        return len(self._deleted)

    def add(self, record: Experience | Edit, *, shared: bool = False) -> bool:
        """Add what a line holds; false if its id is known. It shows after `settle`."""
        if isinstance(record, Edit):
            edits = self._edits.setdefault(record.of, {})
            self._stale[record.of] = None
            return edits.setdefault(record.id, record) is record
        is_new = record.id not in self._originals
        self._originals[record.id] = record
        self._numbers.setdefault(record.id, len(self._numbers))
        same = self._by_identity.setdefault(identity_of(record), [])
        if record.id not in same:
            same.append(record.id)
        self._stale[record.id] = None
        if shared:
            self._shared.add(record.id)
        return is_new

    def settle(self) -> bool:
        """Show the experiences whose lines were added; returns whether any changed."""
        changed = False
        for experience_id in self._stale:
            if (original := self._originals.get(experience_id)) is None:
                continue  # only an edit of it is known
            edits = self._edits_of(experience_id)
            current, is_deleted = applied(original, edits)
            self._held[experience_id] = commits_with(original, edits)
            if current == (self._deleted if is_deleted else self._shown).get(experience_id):
                continue
            changed = True
            with self._lock:
                self._newest = None
                self._deleted.pop(experience_id, None)
                if (former := self._shown.pop(experience_id, None)) is not None:
                    for key in keys_of(former):
                        self._postings[key].remove(experience_id)
                if is_deleted:
                    self._deleted[experience_id] = current
                    continue
                self._shown[experience_id] = current
                for key in keys_of(current):
                    self._postings.setdefault(key, []).append(experience_id)
        self._stale.clear()
        return changed

    def known_as(self, experience: Experience, hidden: Collection[str] = ()) -> str | None:
        """Return the id of the experience that this one duplicates, if any, but for hidden ones."""
        return next(
            (each for each in self._by_identity.get(identity_of(experience), ()) if each not in hidden), None
        )

    def placed(self) -> Iterator[tuple[Experience, frozenset[str]]]:
        """Yield each experience of the private file as it was grafted, with the commits that have it."""
        for experience_id, held in self._held.items():
            if experience_id not in self._shared:
                yield self._originals[experience_id], held

    def knows(self, record: Experience | Edit) -> bool:
        """Tell whether a line with the id of this record was added."""
        if isinstance(record, Edit):
            return record.id in self._edits.get(record.of, {})
        return record.id in self._originals

    def get(self, experience_id: str) -> Known | None:
        """Return an experience, even a deleted one."""
        if (original := self._originals.get(experience_id)) is None:
            return None
        shown = self._shown.get(experience_id)
        return Known(
            original,
            self._edits_of(experience_id),
            shown or self._deleted[experience_id],
            shown is None,
            experience_id in self._shared,
        )

    def is_shared(self, experience_id: str) -> bool:
        """Tell whether a known experience is in the pool in the repository."""
        return experience_id in self._shared

    def shown(self) -> list[Experience]:
        """Return the shown experiences, newest first."""
        with self._lock:
            return list(self._by_time())

    def trash(self) -> list[Experience]:
        """Return the deleted experiences, newest first."""
        with self._lock:
            return sorted(self._deleted.values(), key=self._when, reverse=True)

    def some(self, ids: Iterable[str]) -> tuple[Experience, ...]:
        """Return the shown experiences with these ids, in that order."""
        with self._lock:
            return tuple(self._shown[each] for each in ids if each in self._shown)

    def relevant(
        self,
        focus: Collection[str],
        neighbours: Collection[str],
        words: Collection[str],
        limit: int,
        hidden: frozenset[str] = frozenset(),
    ) -> tuple[Experience, ...]:
        """Return the experiences that matter most, newest first, ranked as `Pool.relevant` says."""
        focus = {path.rstrip("/") for path in focus} - {"", "."}
        with self._lock:
            shared = self._shared_words(words)
            same = self._all(f"{kind} {path}" for path in focus for kind in ("file", "below")) - hidden
            near = self._all(f"file {path}" for path in neighbours)
            near |= self._all(f"in {posixpath.dirname(path)}" for path in focus)
            near -= hidden

            def merit(experience_id: str) -> tuple[int, bool, str, int]:
                experience = self._shown[experience_id]
                failed = experience.outcome in _BAD
                return min(shared[experience_id], _MAX_SHARED_WORDS), failed, *self._when(experience)

            rarest = self._rarest_words(words)
            several = [name for name in rarest if shared[name] > 1 or len(words) == 1]
            several = [name for name in several if name not in hidden]
            chosen = heapq.nlargest(limit // 2, several, key=lambda name: (rarest[name], *merit(name)))
            same, near = same - set(chosen), near - set(chosen)
            left_out = hidden.union(chosen)
            shared = Counter({name: count for name, count in shared.items() if name not in left_out})
            for rank in (same, near - same, shared.keys() - same - near):
                chosen += heapq.nlargest(max(limit - len(chosen), 0), rank, key=merit)
            left_out = hidden.union(chosen)
            rest = (each.id for each in self._by_time() if each.id not in left_out)
            chosen += islice(rest, max(limit - len(chosen), 0))
            return tuple(sorted((self._shown[each] for each in chosen), key=self._when, reverse=True))

    def _by_time(self) -> list[Experience]:
        if self._newest is None:
            self._newest = sorted(self._shown.values(), key=self._when, reverse=True)
        return self._newest

    def _when(self, experience: Experience) -> tuple[str, int]:
        return experience.timestamp, self._numbers[experience.id]

    def _edits_of(self, experience_id: str) -> tuple[Edit, ...]:
        edits = self._edits.get(experience_id, {}).values()
        return tuple(sorted(edits, key=lambda edit: (edit.timestamp, edit.id)))

    def _last(self, key: str) -> list[str]:
        return self._postings.get(key, [])[-_NEWEST:]

    def _all(self, keys: Iterable[str]) -> set[str]:
        return set(chain.from_iterable(map(self._last, keys)))

    def _rarest_words(self, words: Collection[str]) -> dict[str, float]:
        """Return the experiences with words of the prompt, each with the sum of their rarities."""
        found: dict[str, float] = {}
        for word in sorted(words):
            held = self._postings.get(f"word {word}") or ()
            for name in held[-_NEWEST:]:
                found[name] = found.get(name, 0.0) + 1 / len(held)
        return found

    def _shared_words(self, words: Collection[str]) -> Counter[str]:
        """Count the shared words of each experience; of many words only the rarest."""
        keys = (f"word {word}" for word in words)
        known = sorted((len(self._postings[key]), key) for key in keys if self._postings.get(key))
        shared: Counter[str] = Counter()
        for _, key in known[:_MAX_WORDS_ASKED]:
            shared.update(self._last(key))
        return shared


def commits_with(original: Experience, edits: Iterable[Edit]) -> frozenset[str]:
    """Return the commits that have an experience: the one that was checked out, if all its files were as
    there, and those that it was linked to since a person last said that none has it."""
    held = {original.head} if original.head and not original.uncommitted else set[str]()
    for edit in edits:
        if edit.changes.commit == "":
            held.clear()
        elif edit.changes.commit is not None:
            held.add(edit.changes.commit)
    return frozenset(held)


def keys_of(experience: Experience) -> Sequence[str]:
    """Return the keys by which an experience is found: its files, their folders with those above them, and
    the words of its first 4,000 characters."""
    parents = {posixpath.dirname(path) for path in experience.files_touched}
    above = set(parents)
    for folder in parents:
        while folder := posixpath.dirname(folder):
            above.add(folder)
    text = " ".join((experience.decision, experience.rationale, *experience.files_touched))
    return (
        *(f"file {path}" for path in experience.files_touched),
        *(f"in {folder}" for folder in parents),
        *(f"below {folder}" for folder in above),
        *(f"word {word}" for word in words_of(text[:_INDEXED_CHARACTERS])),
    )


def words_of(text: str) -> frozenset[str]:
    """Return a text's words without short and common ones: parts of names, casefolded, in the singular."""
    return frozenset(chain.from_iterable(map(_words_in, set(_TOKENS.findall(text)))))


def contains(experience: Experience, words: Sequence[str]) -> bool:
    """Tell whether each casefolded word occurs in the decision, the rationale or the files."""
    text = "\n".join((experience.decision, experience.rationale, *experience.files_touched)).casefold()
    return all(word in text for word in words)


_MAX_WORD = 40
_TOKENS = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+")
_COMMON = frozenset(
    (  # noqa: SIM905 - as a list it is fifty lines
        "all and any are because but can for from had has have how into its not now our out should that "
        "the their them then there they this was were what when where which who why will with would you "
        "your"
    ).split()
)


@lru_cache(maxsize=16_384)
def _words_in(token: str) -> tuple[str, ...]:
    """Return the words of a token; cached, since a project's vocabulary is small."""
    parts = (token,) if token.islower() else _PARTS.findall(token)
    words = (_singular(part.casefold()[:_MAX_WORD]) for part in parts)
    return tuple(word for word in words if (len(word) > 2 or not word.isascii()) and word not in _COMMON)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
