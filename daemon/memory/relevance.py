"""Owns the choosing of experiences: the index by file, folder and word, and the ranks; knows no disk."""

from __future__ import annotations

import heapq
import posixpath
import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice

from msgspec import Struct

from .experience import Experience

ASKED_CHARACTERS = 20_000
"""Of a question's words the first 20,000 characters are looked at: a prompt may have 5 MB."""
_INDEXED_CHARACTERS = 4_000
_NEWEST = 1_000
"""Of a file, a folder, a word or a rank the last 1,000 experiences are weighed, which bounds the time."""
_MAX_SHARED_WORDS = 3
_MAX_WORDS_ASKED = 64


class Keys(Struct, frozen=True):
    """What an experience is found by."""

    words: frozenset[str]
    parents: frozenset[str]
    ancestors: frozenset[str]


class Index:
    """The experiences that are shown, and their places by file, folder and word.

    A place is kept for one that is removed, so that it stands where it stood if it comes back.
    """

    def __init__(self) -> None:
        self.experiences: list[Experience] = []
        """By place, also those that were removed."""
        self.order: list[tuple[str, int]] = []
        """Time and place of those that are shown, oldest first."""
        self._places: dict[str, int] = {}
        self._shown: set[int] = set()
        self._by_file: dict[str, list[int]] = {}
        self._by_parent: dict[str, list[int]] = {}
        self._by_ancestor: dict[str, list[int]] = {}
        self._by_word: dict[str, list[int]] = {}

    def add(self, experience: Experience, keys: Keys) -> None:
        """Show an experience: at the end, or at its former place if it was removed."""
        place = self._places.setdefault(experience.id, len(self.experiences))
        if place == len(self.experiences):
            self.experiences.append(experience)
        self.experiences[place] = experience
        self._shown.add(place)
        insort(self.order, (experience.timestamp, place))
        for names, places in self._postings(experience, keys):
            for name in names:
                found = places.setdefault(name, [])
                if found and found[-1] > place:
                    insort(found, place)
                else:
                    found.append(place)

    def remove(self, experience_id: str) -> None:
        """Show an experience no longer; nothing happens if it isn't shown."""
        place = self._places.get(experience_id, -1)
        if place not in self._shown:
            return
        experience = self.experiences[place]
        self._shown.remove(place)
        del self.order[bisect_left(self.order, (experience.timestamp, place))]
        for names, places in self._postings(experience, keys_of(experience)):
            for name in names:
                found = places[name]
                del found[bisect_left(found, place)]
                if not found:
                    del places[name]

    def get(self, experience_id: str) -> Experience | None:
        """Return an experience that is shown."""
        place = self._places.get(experience_id, -1)
        return self.experiences[place] if place in self._shown else None

    def touching(self, path: str) -> list[Experience]:
        """Return the last experiences that touched a file, at most `_NEWEST`."""
        return [self.experiences[place] for place in self._by_file.get(path, ())[-_NEWEST:]]

    def relevant(
        self, focus: Collection[str], neighbours: Collection[str], words: Collection[str], limit: int
    ) -> list[int]:
        """Return places, newest first; `Pool.relevant` has the order."""
        shared = self._shared_words(words)

        def merit(place: int) -> tuple[int, bool, str, int]:
            experience = self.experiences[place]
            failed = experience.outcome in ("failure", "reverted")
            return min(shared[place], _MAX_SHARED_WORDS), failed, experience.timestamp, place

        chosen: list[int] = []
        for candidates in self._ranks({path.rstrip("/") for path in focus} - {"", "."}, neighbours, shared):
            # Sorting places is forty times faster than weighing them.
            newest = sorted(candidates)[-_NEWEST:]
            chosen += heapq.nlargest(limit - len(chosen), newest, key=merit)
            if len(chosen) >= limit:
                break
        rest = (place for _, place in reversed(self.order) if place not in chosen)
        chosen += islice(rest, max(limit - len(chosen), 0))
        return sorted(chosen, key=lambda place: (self.experiences[place].timestamp, place), reverse=True)

    def _postings(
        self, experience: Experience, keys: Keys
    ) -> tuple[tuple[Collection[str], dict[str, list[int]]], ...]:
        return (
            (experience.files_touched, self._by_file),
            (keys.parents, self._by_parent),
            (keys.ancestors, self._by_ancestor),
            (keys.words, self._by_word),
        )

    def _ranks(
        self, focus: Collection[str], neighbours: Collection[str], shared: Mapping[int, int]
    ) -> Iterator[set[int]]:
        """Yield the places of each rank but the last, without those of the ranks before."""
        same = _places(self._by_file, focus) | _places(self._by_ancestor, focus)
        yield same
        folders = {posixpath.dirname(path) for path in focus}
        near = _places(self._by_file, neighbours) | _places(self._by_parent, folders)
        yield near - same
        yield shared.keys() - same - near

    def _shared_words(self, words: Collection[str]) -> Counter[int]:
        """Count for each place the words that it shares; of many words the rarest ones, which say most."""
        known = sorted((len(self._by_word[word]), word) for word in words if word in self._by_word)
        shared: Counter[int] = Counter()
        for _, word in known[:_MAX_WORDS_ASKED]:
            shared.update(self._by_word[word][-_NEWEST:])
        return shared


def keys_of(experience: Experience) -> Keys:
    """Return what an experience is found by, by the words of its first 4,000 characters."""
    parents = frozenset(map(posixpath.dirname, experience.files_touched))
    ancestors = set(parents)
    for folder in parents:
        while folder := posixpath.dirname(folder):
            ancestors.add(folder)
    text = " ".join((experience.decision, experience.rationale, *experience.files_touched))
    words = words_of(text[:_INDEXED_CHARACTERS])
    return Keys(words, parents, frozenset(ancestors - {""}))


def words_of(text: str) -> frozenset[str]:
    """Return a text's words but short and common ones: parts of compound names, folded, in the singular."""
    return frozenset(chain.from_iterable(map(_words_in, set(_TOKENS.findall(text)))))


def contains(experience: Experience, words: Sequence[str]) -> bool:
    """Tell whether each word, which is casefolded, occurs in the decision, the rationale or the files."""
    text = "\n".join((experience.decision, experience.rationale, *experience.files_touched)).casefold()
    return all(word in text for word in words)


def _places(postings: Mapping[str, list[int]], names: Collection[str]) -> set[int]:
    found: set[int] = set()
    for name in names:
        found.update(postings.get(name, ())[-_NEWEST:])
    return found


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
    """Return the words that a token is made of; remembered, since a project's vocabulary is small."""
    parts = (token,) if token.islower() else _PARTS.findall(token)
    words = (_singular(part.casefold()[:_MAX_WORD]) for part in parts)
    return tuple(word for word in words if (len(word) > 2 or not word.isascii()) and word not in _COMMON)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
