"""A project's pool of experiences: grafting, listing, recalling, changing and pruning.

The files are the only truth. They are only appended to, so unknown fields stay until their experience is
pruned. People can edit them with a text editor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import Busy, InvalidRequest, NotFound, StateError
from ..core.system import System
from ..core.times import timestamp_of
from ..project.records import Worktree
from .edits import NO_CHANGES, DueEdit, Edit, EditKind, PoolChanges, changes_nothing, changes_of, time_after
from .experience import Draft, Experience, checked
from .graft_batch import GraftBatch, new_edit_id
from .lines import Quarantined
from .pool_file import ROTATE_BYTES, PoolFile
from .pool_filters import Criteria, ExperienceListing, Seen, as_it_is, chosen
from .pool_records import ASKED_CHARACTERS, Known, words_of
from .pool_store import PoolStore
from .worktree_view import Place, WorktreeView, is_past, unmarked

ALL = ExperienceListing()
KEEP_ALL = Criteria()

RETENTION_INTERVAL_S = 86_400
"""Seconds between prunings by retention, which counts in days."""


class SkippedDraft(Struct, frozen=True):
    """A draft that was left out: its index in the batch, why in words, and the field that can't be used."""

    number: int
    reason: str
    field: str


class GraftResult(Struct, frozen=True):
    """The result of grafting a batch: counts, the new ids in the order of their drafts, and what was left
    out.

    `warnings` are pairs of a draft's index and a sentence; a draft with a warning was grafted, or duplicates
    a deleted experience.
    """

    grafted: int
    duplicates: int
    skipped: tuple[SkippedDraft, ...]
    ids: tuple[str, ...]
    warnings: tuple[tuple[int, str], ...] = ()


class PruneResult(Struct, frozen=True):
    """The experiences that were or would be pruned, newest first. `kept` counts the rest, without deleted
    ones."""

    pruned: tuple[Experience, ...]
    kept: int
    dry_run: bool


class PoolStatistics(Struct, frozen=True):
    """Sizes in bytes, the rest counts.

    `deleted` can be restored. `parts` are the files, full ones included. `bad_lines` are skipped,
    `unknown_lines` are of a newer version, `repeated_lines` duplicate another line. `repaired_tails` counts
    torn last lines ended since the pool was opened, `retired` experiences that the retention pruned
    since then, last at `retired_at`, empty for never. `shared` is the path of the pool in the repository, if
    used. `problem` says why damage is not in quarantine yet, why the shared pool isn't used, or why the
    retention failed; empty if all is well.
    """

    experiences: int
    deleted: int
    parts: int
    size_bytes: int
    bad_lines: int
    unknown_lines: int
    repeated_lines: int
    repaired_tails: int
    retired: int
    retired_at: str
    shared: str
    generation: int
    problem: str


class Pool:
    """The experiences of one project, or of all work trees of a repository as they show in one of them.

    `path` is the JSONL file; its folder must exist, and the first graft creates the file. `root` is the
    project's root, for relative paths. `shared` is the path relative to it of a pool in the repository, which
    is read too and gets new experiences if the project is `trusted`. `retention` limits what is kept, checked
    on opening and with the first graft of each further day; a shared pool is never pruned by it. `worktree`
    is what the root is of its repository, if anything, and `store` that of another work tree's pool, which is
    used in common unless there is a shared pool.

    Damage is repaired on opening. Every method but `list`, `relevant` and `statistics` blocks (for a lock of
    other processes at most 10 s, and the disk) and belongs in a thread. All are thread-safe.

    Raises `StateError` for a file that is a symlink, not a regular file, someone else's, or unreadable.
    """

    def __init__(
        self,
        path: str,
        system: System,
        *,
        root: str = "",
        shared: str = "",
        trusted: bool = False,
        retention: Criteria = KEEP_ALL,
        write: Callable[[int, bytes], int] = os.write,
        rotate_bytes: int = ROTATE_BYTES,
        worktree: Worktree | None = None,
        store: PoolStore | None = None,
    ) -> None:
        self._system = system
        self._root = root
        self._retention = retention
        self._new_store = partial(PoolStore, path, system, root, write, rotate_bytes)
        self._store = self._common = store or self._new_store()
        self.view = None if worktree is None else WorktreeView(worktree, system)
        """What shows in the work tree; None without a repository, where all does."""
        self._changes = 0
        """Added to the generation of the store."""
        self._retired = 0
        self._retired_at = ""
        self._next_retention = system.monotonic()
        self.share(shared, trusted=trusted)
        with self._store.lock:
            self._retain_if_due()

    @property
    def generation(self) -> int:
        """A number that changes whenever `list` or `relevant` may answer differently."""
        return self._changes + self._store.generation

    @property
    def home(self) -> str:
        """The folder that the repository's work trees are known by, "" without one."""
        return "" if self.view is None else self.view.worktree.home

    @property
    def store(self) -> PoolStore:
        """The files that the pools of all work trees may have in common."""
        return self._common

    @property
    def elsewhere(self) -> frozenset[str]:
        """The ids of the experiences that don't show in this work tree."""
        return frozenset() if self.view is None else self.view.elsewhere

    def share(self, path: str, *, trusted: bool) -> None:
        """Also read a pool in the repository, or none for an empty path. Raises `StateError`."""
        generation, store = self.generation, self._new_store() if path else self._common
        with store.lock:
            if path or not store.content.stamps:
                store.share(path, trusted=trusted)
            self._store = store
            self._changes += generation + 1 - self.generation
        self._look()

    def graft(self, drafts: Sequence[Draft]) -> GraftResult:
        """Append the valid and new drafts in one write; durable on return.

        A draft is a duplicate if the pool or the batch has the same decision, even a deleted one, see
        `identity_of`. A draft that failed or was reverted marks the earlier
        experiences that it is about. Files outside the root are left out and secrets masked, with warnings.

        Raises `StateError` if the disk refused it, leaving the file unchanged; `Busy` if another process kept
        the file locked.
        """
        skipped: list[SkippedDraft] = []
        valid: list[tuple[int, Experience]] = []
        warnings: list[tuple[int, str]] = []
        ids: tuple[str, ...] = ()
        now = timestamp_of(self._system.now())
        for number, draft in enumerate(drafts):
            try:
                experience, told = checked(draft, now, self._root)
            except InvalidRequest as error:
                skipped.append(SkippedDraft(number, str(error), error.field or ""))
            else:
                valid.append((number, experience))
                warnings += ((number, warning) for warning in told)
        if valid:
            if self.view is not None:
                past = (
                    is_past(drafts[number].timestamp, drafts[number].provenance.source) for number, _ in valid
                )
                marked = self.view.marked([(each, old) for (_, each), old in zip(valid, past, strict=True)])
                valid = [(number, each) for (number, _), each in zip(valid, marked, strict=True)]
            ids, more = self._append(valid, now)
            warnings = sorted([*warnings, *more], key=lambda warning: warning[0])
        return GraftResult(len(ids), len(valid) - len(ids), tuple(skipped), ids, tuple(warnings))

    def refresh(self) -> bool:
        """Read changes by other processes or an editor; returns whether there were any. Without changes it
        takes one stat for each file.

        Raises as the constructor does. Damage that can't be repaired now (a full disk) is reported by the
        statistics, not raised: the pool stays readable, and nothing is lost.
        """
        with self._store.lock:
            before = self.generation
            self._store.refresh()
            self._retain_if_due()
        self._look()
        return self.generation != before

    # --- Reading ---

    def list(
        self, listing: ExperienceListing = ALL, seen: Seen = as_it_is
    ) -> tuple[tuple[Experience, ...], int]:
        """Return the matching experiences, newest first, and how many match in all; `seen` returns one as the
        caller may see it.

        Raises `InvalidRequest` for a `since` or `until` that is no time, or a `before` that is no cursor.
        """
        records = self._store.records
        newest_first = records.trash() if listing.deleted else records.shown()
        if not listing.everywhere and (hidden := self.elsewhere):
            newest_first = [each for each in newest_first if each.id not in hidden]
        found = listing.matching([shown for each in newest_first if (shown := seen(each)) is not None])
        return tuple(listing.page_of(found)), len(found)

    def count_elsewhere(self, listing: ExperienceListing, seen: Seen = as_it_is) -> int:
        """Return how many more experiences match that show in other work trees only."""
        if listing.everywhere or not self.elsewhere:
            return 0
        here, all_of_them = (
            self.list(replace(listing, limit=0, before="", everywhere=everywhere), seen)[1]
            for everywhere in (False, True)
        )
        return all_of_them - here

    def relevant(
        self, focus: Collection[str], neighbours: Collection[str], words: Collection[str], limit: int = 5
    ) -> tuple[Experience, ...]:
        """Return the experiences that matter most to a focus, newest first.

        `focus` are paths of files and folders, `neighbours` those of the files that import them or that they
        import, `words` any words or texts. They rank, first to last:

        1. those that touched a file of the focus, or one in a folder of it;
        2. those that touched a neighbour, or a file in the same folder as one of the focus;
        3. those that share words with `words`;
        4. the rest.

        Before them come, for half of the limit, those that share several of the words, or the only one, by
        the rarity of these words.

        Within a rank, more shared words (at most three count) come first, then failures and reverts, then
        newer ones; in the last rank only newer ones. Time counts by order, never by the clock, so that the
        same pool gives the same answer tomorrow. Of a file, folder or word with more than 1,000 experiences,
        the last 1,000 in the file count, which bounds the time.
        """
        wanted = words_of(" ".join(words)[:ASKED_CHARACTERS])
        return self._store.records.relevant(focus, neighbours, wanted, limit, self.elsewhere)

    def some(self, ids: Iterable[str]) -> tuple[Experience, ...]:
        """Return the existing experiences with these ids that show here, in that order."""
        hidden = self.elsewhere
        return self._store.records.some(each for each in ids if each not in hidden)

    def get(self, experience_id: str, *, here: bool = False) -> Known:
        """Return an experience with its edits, even a deleted one; with `here` only one that shows in this
        work tree. Raises `NotFound`."""
        with self._store.lock:
            return self._find("" if here and experience_id in self.elsewhere else experience_id)

    def newest(self, count: int) -> tuple[Known, ...]:
        """Return the newest experiences of all work trees with their edits, without deleted ones."""
        with self._store.lock:
            records = self._store.records
            return tuple(filter(None, (records.get(each.id) for each in records.shown()[:count])))

    def places(self, experiences: Sequence[Experience]) -> tuple[Place | None, ...]:
        """Return where each experience was made; None without a repository, and for one of a shared pool.
        Reads the disk."""
        if self.view is None:
            return (None,) * len(experiences)
        living, records = self.view.living(), self._store.records
        return tuple(
            None if records.is_shared(each.id) else self.view.place_of(each, living) for each in experiences
        )

    def quarantined(self, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        """Return the lines last put into quarantine, and their total number. Reads the disk."""
        with self._store.lock:
            return self._store.quarantine.listed(limit)

    def statistics(self) -> PoolStatistics:
        """Return the pool's figures."""
        store, content = self._store, self._store.content
        sizes = [stamp.size for stamp in tuple(content.stamps.values()) if stamp is not None]
        return PoolStatistics(
            len(content.records),
            content.records.deleted,
            len(sizes),
            sum(sizes),
            content.bad_lines,
            content.unknown_lines,
            content.repeated_lines,
            store.repaired_tails,
            self._retired,
            self._retired_at,
            store.shared,
            self.generation,
            " ".join(tuple(store.problems.values())),
        )

    # --- Changing ---

    def update(self, experience_id: str, fields: Mapping[str, object]) -> Known:
        """Change fields of an experience, as `changes_of` reads them; durable on return.

        Raises `InvalidRequest` for fields that can't be used, `NotFound` for an experience that isn't there
        or was deleted, and else as `graft` does.
        """
        return self._edit(experience_id, "update", changes_of(fields, self._root))[0]

    def annotate(self, edits: Iterable[DueEdit]) -> tuple[str, ...]:
        """Append edits that a program derived, in one write; durable on return. Returns the changed ids.

        Edits of missing experiences and those that change nothing are left out. They go to the private file,
        even for shared experiences: each user's daemon derives the same, and a commit must not leave a
        changed file in the repository. Raises as `graft` does.
        """
        with self._store.lock, self._store.appending(self._store.private) as append:
            now, due = timestamp_of(self._system.now()), dict[str, Edit]()
            for due_edit in edits:
                known, changes = self._store.records.get(due_edit.experience_id), due_edit.changes
                if known is None or known.deleted or changes_nothing(known.current, changes):
                    continue
                at, key = time_after(known.edits, now), known.original.id
                due[key] = Edit(new_edit_id(), key, at, due_edit.kind, changes)
            if due:
                append(tuple(due.values()))
            return tuple(due)

    def delete(self, experience_id: str) -> tuple[Known, bool]:
        """Delete an experience; it can be restored until it is pruned. False if it was deleted already."""
        return self._edit(experience_id, "delete")

    def restore(self, experience_id: str) -> tuple[Known, bool]:
        """Undo a deletion; false if it isn't deleted."""
        return self._edit(experience_id, "restore")

    def prune(self, criteria: Criteria, exists: Callable[[str], bool], *, dry_run: bool) -> PruneResult:
        """Remove for good the experiences that the criteria choose, with their edits, also from a shared
        pool.

        `exists` tells whether a path relative to the root exists. A dry run changes nothing. Raises as
        `graft` does; then some of the files are pruned, and each is whole.
        """
        with self._store.lock:
            if dry_run:
                self._store.refresh()
                return self._chosen(criteria, exists)
            return self._prune(criteria, exists, self._store.files)

    # --- Writing ---

    def _append(
        self, valid: Sequence[tuple[int, Experience]], now: str
    ) -> tuple[tuple[str, ...], Sequence[tuple[int, str]]]:
        """Append the new experiences; return their ids, and warnings."""
        with self._store.lock:
            self._retain_if_due()
            target = self._store.target()
            with self._store.appending(target) as append:
                batch = GraftBatch(self._store.records, now, self.elsewhere)
                for number, experience in valid:
                    batch.take(number, experience if target is self._store.private else unmarked(experience))
                # Even if all were duplicates: their writer may have died before its fsync.
                append(batch.records())
        warnings = batch.warnings
        if target is self._store.private and self._store.shared:
            path = self._store.shared
            warnings.append((valid[0][0], f"the pool {path} can't be used now, so it is kept privately"))
        return tuple(experience.id for experience in batch.new.values()), warnings

    def _edit(
        self, experience_id: str, kind: EditKind, changes: PoolChanges = NO_CHANGES
    ) -> tuple[Known, bool]:
        """Append an edit to the file of its experience; return the result, and whether anything changed."""
        with self._store.lock:
            self._store.catch_up()
            is_shared = self._find(experience_id).is_shared
            with self._store.appending(self._store.files[-1] if is_shared else self._store.private) as append:
                known = self._find(experience_id)
                if kind == "update" and known.deleted:
                    raise NotFound(f"the experience {known.original.id} was deleted; restore it first")
                if known.deleted == (kind == "delete") and kind != "update":
                    return known, False
                at = time_after(known.edits, timestamp_of(self._system.now()))
                append([Edit(new_edit_id(), known.original.id, at, kind, changes)])
                return self._find(experience_id), True

    def _find(self, experience_id: str) -> Known:
        known = self._store.records.get(experience_id)
        if known is None:
            raise NotFound(f"there is no experience {experience_id!r:.100} in this project")
        return known

    def _look(self) -> None:
        """Find out what shows in the work tree now."""
        if self.view is not None:
            self._changes += self.view.look(self._store)

    # --- Pruning ---

    def _chosen(
        self, criteria: Criteria, exists: Callable[[str], bool], *, private_only: bool = False
    ) -> PruneResult:
        """Return what a pruning would remove."""
        records = self._store.records
        shown, trash = (
            [each for each in those if not (private_only and records.is_shared(each.id))]
            for those in (records.shown(), records.trash())
        )
        pruned = chosen(shown, trash, criteria, self._system.now(), exists)
        gone = {experience.id for experience in pruned}
        kept = sum(experience.id not in gone for experience in records.shown())
        return PruneResult(tuple(pruned), kept, dry_run=True)

    def _prune(
        self, criteria: Criteria, exists: Callable[[str], bool], files: Sequence[PoolFile]
    ) -> PruneResult:
        result = PruneResult((), 0, dry_run=False)

        def choose() -> set[str]:
            nonlocal result
            found = self._chosen(criteria, exists, private_only=self._store.files[-1] not in files)
            result = replace(found, dry_run=False)
            return {experience.id for experience in result.pruned}

        self._store.remove(files, choose)
        return result

    def _retain_if_due(self) -> None:
        """Prune by retention, once a day. The statistics report a failure."""
        if self._retention.is_empty or self._system.monotonic() < self._next_retention:
            return
        self._next_retention = self._system.monotonic() + RETENTION_INTERVAL_S
        if not self._chosen(self._retention, _always, private_only=True).pruned:
            return
        try:
            result = self._prune(self._retention, _always, [self._store.private])
        except (StateError, Busy) as error:
            self._store.set_problem("retention", str(error))
        else:
            self._store.set_problem("retention", "")
            self._retired += len(result.pruned)
            self._retired_at = timestamp_of(self._system.now())


def _always(path: str) -> bool:
    """Say that every file exists: the retention doesn't check files."""
    return True
