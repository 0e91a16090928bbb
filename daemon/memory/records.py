"""The records of a pool: its experiences with their edits, once each, the index by which they are found, and
new batches.

Lines may come in any order, repeatedly, and from several files: the result is the same.
"""

from __future__ import annotations

import heapq
import posixpath
import re
import secrets
import threading
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from .edits import Edit, PoolChanges, applied, time_after
from .experience import Experience, identity_of
from .lines import line_of


class Known(Struct, frozen=True):
    """An experience of a pool: as it was grafted, its edits by time, and the result."""

    original: Experience
    edits: tuple[Edit, ...]
    current: Experience
    deleted: bool
    source: int
    """The number of its source; the highest of several, to which its edits go."""


class Records:
    """The experiences of a pool, and the index of those that are shown.

    Changed by one thread at a time; `lock` guards reads by other threads.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.index = Index()
        self.version = 0
        """A number that grows whenever the shown or deleted experiences change."""
        self.edits = 0
        self._originals: dict[str, Experience] = {}
        self._edits: dict[str, list[Edit]] = {}
        self._edit_ids: set[str] = set()
        self._deleted: dict[str, Experience] = {}
        self._by_identity: dict[bytes, str] = {}
        self._aliases: dict[str, str] = {}
        self._sources: dict[str, int] = {}

    def __len__(self) -> int:
        """Return the number of shown experiences."""
        return len(self.index.order)

    @property
    def deleted(self) -> int:
        """The number of deleted experiences, which can be restored."""
        return len(self._deleted)

    def add(self, experience: Experience, source: int = 0) -> bool:
        """Add an experience; false if it is known by its id or is a duplicate.

        Of duplicates, see `identity_of`, the earliest represents all, and edits of any of them are edits of
        it.
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
        """Add an edit, even of an experience that isn't known yet; false if the edit is known."""
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
        """Return the id of the experience that represents this one, None if it isn't known."""
        experience_id = self._aliases.get(experience_id, experience_id)
        return experience_id if experience_id in self._originals else None

    def known_as(self, experience: Experience) -> str | None:
        """Return the id of the experience that this one duplicates, if any."""
        return self._by_identity.get(identity_of(experience))

    def get(self, experience_id: str) -> Known | None:
        """Return an experience by any of its ids, even a deleted one."""
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
        """Return the shown experiences, newest first."""
        return [self.index.experiences[place] for _, place in reversed(self.index.order)]

    def trash(self) -> list[Experience]:
        """Return the deleted experiences, newest first."""
        return sorted(
            self._deleted.values(), key=lambda experience: (experience.timestamp, experience.id), reverse=True
        )

    def source_of(self, experience_id: str) -> int:
        """Return the source's number of a known experience."""
        return self._sources[experience_id]

    def with_aliases(self, experience_ids: set[str]) -> set[str]:
        """Return ids with those of their duplicates."""
        return experience_ids | {alias for alias, first in self._aliases.items() if first in experience_ids}

    def _show(self, experience_id: str) -> None:
        """Update the index with an experience and its edits."""
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
        """Let an earlier experience represent a duplicate that was read before it."""
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


ASKED_CHARACTERS = 20_000
"""Maximum characters of a query's words: a prompt may have 5 MB."""
_INDEXED_CHARACTERS = 4_000
_NEWEST = 1_000
"""Maximum number of experiences of a file, folder, word or rank that are weighed, the last ones; bounds the
time."""
_MAX_SHARED_WORDS = 3
_MAX_WORDS_ASKED = 64


class Keys(Struct, frozen=True):
    """The words and folders by which an experience is found."""

    words: frozenset[str]
    parents: frozenset[str]
    ancestors: frozenset[str]


class Index:
    """The shown experiences, and their places by file, folder and word.

    A removed experience keeps its place in case it is restored.
    """

    def __init__(self) -> None:
        self.experiences: list[Experience] = []
        """By place, removed ones included."""
        self.order: list[tuple[str, int]] = []
        """Time and place of the shown ones, oldest first."""
        self._places: dict[str, int] = {}
        self._shown: set[int] = set()
        self._by_file: dict[str, list[int]] = {}
        self._by_parent: dict[str, list[int]] = {}
        self._by_ancestor: dict[str, list[int]] = {}
        self._by_word: dict[str, list[int]] = {}

    def add(self, experience: Experience, keys: Keys) -> None:
        """Show an experience at the end, or at its former place if it was removed."""
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
        """Hide an experience, if it is shown."""
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
        """Return a shown experience."""
        place = self._places.get(experience_id, -1)
        return self.experiences[place] if place in self._shown else None

    def touching(self, path: str) -> list[Experience]:
        """Return the last experiences that touched a file, at most `_NEWEST`."""
        return [self.experiences[place] for place in self._by_file.get(path, ())[-_NEWEST:]]

    def relevant(
        self, focus: Collection[str], neighbours: Collection[str], words: Collection[str], limit: int
    ) -> list[int]:
        """Return places, newest first, ranked as `Pool.relevant` says."""
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
        """Yield the places of each rank but the last, without those of earlier ranks."""
        same = _places(self._by_file, focus) | _places(self._by_ancestor, focus)
        yield same
        folders = {posixpath.dirname(path) for path in focus}
        near = _places(self._by_file, neighbours) | _places(self._by_parent, folders)
        yield near - same
        yield shared.keys() - same - near

    def _shared_words(self, words: Collection[str]) -> Counter[int]:
        """Count the shared words of each place; of many words only the rarest."""
        known = sorted((len(self._by_word[word]), word) for word in words if word in self._by_word)
        shared: Counter[int] = Counter()
        for _, word in known[:_MAX_WORDS_ASKED]:
            shared.update(self._by_word[word][-_NEWEST:])
        return shared


def keys_of(experience: Experience) -> Keys:
    """Return the keys of an experience; words are those of its first 4,000 characters."""
    parents = frozenset(map(posixpath.dirname, experience.files_touched))
    ancestors = set(parents)
    for folder in parents:
        while folder := posixpath.dirname(folder):
            ancestors.add(folder)
    text = " ".join((experience.decision, experience.rationale, *experience.files_touched))
    words = words_of(text[:_INDEXED_CHARACTERS])
    return Keys(words, parents, frozenset(ancestors - {""}))


def words_of(text: str) -> frozenset[str]:
    """Return a text's words without short and common ones: parts of names, casefolded, in the singular."""
    return frozenset(chain.from_iterable(map(_words_in, set(_TOKENS.findall(text)))))


def contains(experience: Experience, words: Sequence[str]) -> bool:
    """Tell whether each casefolded word occurs in the decision, the rationale or the files."""
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
    """Return the words of a token; cached, since a project's vocabulary is small."""
    parts = (token,) if token.islower() else _PARTS.findall(token)
    words = (_singular(part.casefold()[:_MAX_WORD]) for part in parts)
    return tuple(word for word in words if (len(word) > 2 or not word.isascii()) and word not in _COMMON)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


_NAMED_MAX = 20
"""Maximum number of ids in a text that are looked up."""
_IDS = re.compile(r"\bx_[0-9a-z]{1,64}\b")


class GraftBatch:
    """The lines that a batch of checked experiences adds to a pool: the new ones, and the marks that they
    make.

    `new` has those that get a line, by identity; `warnings` are pairs of a draft's index and a sentence.
    """

    def __init__(self, records: Records, new_id: Callable[[], str], now: str) -> None:
        self.new: dict[bytes, Experience] = {}
        self.warnings: list[tuple[int, str]] = []
        self._records = records
        self._new_id = new_id
        self._now = now
        self._edits: dict[str, list[Edit]] = {}

    def take(self, number: int, experience: Experience) -> None:
        """Add an experience; a duplicate adds at most a mark to the known one."""
        known = self._known(experience)
        if known is None:
            experience = replace(experience, id=self._new_id())
            self.new[identity_of(experience)] = experience
            for marked in marked_by(experience, self._records):
                self._mark(marked, experience, experience.id)
        elif known.deleted:
            of = known.original.id
            self.warnings.append((number, f"it was deleted as {of}, which can be restored"))
        elif says_more(known, experience):
            self._mark(known.original.id, experience, "")

    def lines(self) -> bytes:
        """Return the lines to append."""
        experiences = map(line_of, self.new.values())
        edits = map(line_of, chain.from_iterable(self._edits.values()))
        return b"".join((*experiences, *edits))

    def _known(self, experience: Experience) -> Known | None:
        """Return the experience in the pool or the batch that this one duplicates."""
        first = self.new.get(identity_of(experience))
        if first is not None:
            return Known(first, tuple(self._edits.get(first.id, ())), first, deleted=False, source=0)
        found = self._records.known_as(experience)
        known = None if found is None else self._records.get(found)
        if known is None:
            return None
        return replace(known, edits=(*known.edits, *self._edits.get(known.original.id, ())))

    def _mark(self, marked: str, later: Experience, by: str) -> None:
        known = self._records.get(marked)
        edits = (*(known.edits if known else ()), *self._edits.get(marked, ()))
        changes = PoolChanges(outcome=later.outcome, error=later.error)
        edit = Edit(new_edit_id(), marked, time_after(edits, self._now), "mark", changes, by)
        self._edits.setdefault(marked, []).append(edit)


def new_edit_id() -> str:
    """Return an id for an edit."""
    return f"e_{secrets.token_hex(8)}"


def marked_by(later: Experience, records: Records) -> Iterator[str]:
    """Yield the ids of known experiences that a new one with the outcome failure or reverted marks.

    They are those whose ids its texts name, and earlier ones with the same decision about the same files. An
    experience of low trust marks nothing.
    """
    if later.outcome not in ("failure", "reverted") or later.provenance.trust == "low":
        return
    found: dict[str, None] = {}
    for name in _IDS.findall(f"{later.decision}\n{later.rationale}\n{later.error}")[:_NAMED_MAX]:
        if (known := records.canonical(name)) is not None:
            found[known] = None
    decision = _folded(later.decision)
    for experience in records.index.touching(later.files_touched[0]) if later.files_touched else ():
        same_files = set(experience.files_touched) == set(later.files_touched)
        if (
            same_files
            and experience.timestamp <= later.timestamp
            and _folded(experience.decision) == decision
        ):
            found[experience.id] = None
    for experience_id in found:
        if experience_id != later.id:
            yield experience_id


def says_more(known: Known, again: Experience) -> bool:
    """Tell whether an experience that is grafted again reports its failure for the first time."""
    bad = again.outcome in ("failure", "reverted") and again.provenance.trust != "low"
    before = {known.original.outcome, *(edit.changes.outcome for edit in known.edits)}
    return bad and again.outcome not in before


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
