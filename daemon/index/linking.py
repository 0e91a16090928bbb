"""The queue of files to link in one project, and the side process that links ahead."""

from __future__ import annotations

import gc
import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from ..core.sized_cache import SizedCache
from ..core.storage import DatabaseError
from ..core.system import System
from ..languages.shared.imports import ImportResolver, keys_of_path
from ..languages.shared.link_rules import World
from ..languages.shared.records import References, Symbol
from ..linking.linker import LINKER_VERSION, LinkedFile, link_file
from ..project.tree import FileRecord
from .fact_table import FactsDamaged, FactTable
from .link_table import BY_NAME, KINDS, STATES, LinkRow, LinkTable
from .side_process import StartSideProcess, Work, WorkAhead
from .store import InterfaceChanged, Store, open_tables
from .world import YOUNG_OBJECTS, StoredWorld, missing_key

log = logging.getLogger(__name__)

LinkFile = Callable[[str, str, Sequence[Symbol], References, World], LinkedFile]

BATCH_FILES: Final = 64
"""Files whose links are written together, at most: enough that a commit costs nothing beside them."""

DEFINITIONS_MAX: Final = 200_000
"""Definitions whose ids are kept for what is linked next, about 20 MB; Django has 44,000."""

VERSION_KEY: Final = "linker"
"""The setting in the store that says by which linker its links were made."""

CUT_KEY: Final = "linking_cut"
"""The setting in the store that lists the files whose links were made in part."""

AHEAD_FROM: Final = 200
"""Minimum number of waiting files for a side process: fewer are linked before it has started."""


class Linking:
    """The links of one project, on the indexer's working thread.

    `problem` says which files could not be linked, or in part only, or is empty. `linked` counts the files
    that were linked since this was made; `begin` hears of each before, `blame` of one that another process of
    ours ended over;
    `ahead` is that process. Methods that say so belong in a transaction of the store. Raises `DatabaseError`
    where the store fails.
    """

    def __init__(
        self,
        store: Store,
        resolver: ImportResolver,
        records: Mapping[str, FileRecord],
        system: System,
        link: LinkFile = link_file,
        begin: Callable[[str], None] = lambda _path: None,
        blame: Callable[[str], None] = lambda _path: None,
        ahead: LinkAhead | None = None,
    ) -> None:
        self.linked = 0
        self._blame = blame
        self._ahead = ahead
        self._epoch = 0
        """Counts the changes of what links rest on: what was linked ahead in an earlier one is dropped."""
        self._store = store
        self._table = store.links
        self._resolver = resolver
        self._system = system
        self._link = link
        self._begin_file = begin
        self._world = StoredWorld(store.facts, resolver, records)
        self._ids = SizedCache[str, dict[str, int]](DEFINITIONS_MAX)
        self._failed: dict[str, str] = {}
        self._cut = _paths_in(store.get_meta(CUT_KEY))
        self._begin()

    @property
    def problem(self) -> str:
        """Say which files could not be linked, or in part only, or nothing."""
        if self._failed:
            path, reason = next(iter(self._failed.items()))
            return f"what {_with_more(path, self._failed)} refers to is not known: {reason}"
        if self._cut:
            files = _with_more(min(self._cut), self._cut)
            return f"what {files} refers to is known in part, the rest by name: following it takes too long"
        return ""

    def waiting(self) -> int:
        """Return how many files wait to be linked."""
        return self._table.waiting()

    def step(self, seconds: float) -> tuple[bool, bool]:
        """Link waiting files for up to `seconds`; return whether a link changed, and if files still wait.

        At least one file is linked, so that steps of any length come to an end.
        """
        deadline = self._system.monotonic() + seconds
        changed = False
        while True:
            self._ask_ahead()
            waiting = self._next_batch()
            # With nothing left to do here, wait for the side process.
            patience = 0.0 if waiting else max(0.0, deadline - self._system.monotonic())
            outcomes = self._take_ahead(patience)
            if not waiting and not outcomes and not self._is_away():
                self.rest()
                return changed, self.waiting() > 0  # it may have ended just now, with some of them
            outcomes |= self._outcomes(waiting, deadline)
            changed = self._write_batch(outcomes) or changed
            if self._system.monotonic() > deadline:
                return changed, self.waiting() > 0

    def rest(self) -> None:
        """End the other process, which is started again when there is much to do."""
        if self._ahead is not None:
            self._ahead.rest()

    def link_now(self, paths: Iterable[str]) -> None:
        """Link those of some files that wait, in the caller's transaction."""
        found = [QueuedFile(*row) for row in self._table.queued_among(paths)]
        self._write(self._outcomes(found, None))

    def put_first(self, names: Collection[str]) -> list[int]:
        """Have the waiting files that mention or define one of some names linked before all others; return
        their ids."""
        waiting = self._table.waiting_ids()
        found = self._store.facts.saying(waiting, names) | self._table.defining(names).intersection(waiting)
        with self._store.side_notes():
            self._table.queue(sorted(found), urgent=True)
        return sorted(found)

    def waiting_of(self, file_ids: Collection[int]) -> int:
        """Return how many of some files wait to be linked."""
        return len(self._table.waiting_ids().intersection(file_ids)) if file_ids else 0

    # Who is linked again; all of these belong in a transaction.

    def contents_changed(self, changes: Iterable[InterfaceChanged], paths: Iterable[str]) -> None:
        """Queue the files whose links may change, now that files of these `paths` were written anew."""
        self._epoch += 1
        for path in paths:
            self._world.content_changed(path)
            self._ids.discard(path)
        for each in changes:
            self._queue_dependents(each)

    def names_changed(self, added: Collection[str], removed: Collection[str]) -> None:
        """Queue the files whose links may change, now that names came or went; the store still has those."""
        self._epoch += 1
        for path in added:
            self._world.name_added(path)
        for path in removed:
            self._world.name_removed(path)
            self._ids.discard(path)
            self._failed.pop(path, None)
        self._keep_cut(self._cut.difference(removed))
        places = {*added, *removed, *map(_folder, added), *map(_folder, removed)}
        places.update(missing_key(key) for path in added for key in keys_of_path(path))
        self._table.queue(self._table.consulting(sorted(places)), urgent=True)

    def contents_lost(self, paths: Iterable[str]) -> None:
        """Queue the files whose links may change, now that files' contents can't be known any more."""
        self._epoch += 1
        for path in paths:
            self._world.content_changed(path)
            self._ids.discard(path)
            self._table.queue(self._table.consulting([path, _folder(path)]), urgent=True)

    def imports_changed(self, importers: Collection[str]) -> None:
        """Queue the files whose links may change, now that imports of files lead elsewhere."""
        self._epoch += 1
        self._world.imports_changed()
        if importers:
            own = [self._store.chunks.id_of(path) for path in sorted(set(importers))]
            self._table.queue([each for each in own if each is not None], urgent=True)
            self._table.queue(self._table.consulting(sorted(importers)), urgent=True)

    def _begin(self) -> None:
        """Have all files linked again where another linker linked them."""
        if self._store.get_meta(VERSION_KEY) != str(LINKER_VERSION):
            with self._store.side_notes():
                self._table.queue_all()
                self._store.set_meta(VERSION_KEY, str(LINKER_VERSION))

    def _queue_dependents(self, changed: InterfaceChanged) -> None:
        places = [changed.path, _folder(changed.path)] if changed.other_file else [changed.path]
        asked = self._table.consulting(places)
        if not changed.change.shape and not changed.other_file and asked:
            asked = self._affected(changed.path, asked, changed.change.names)
        self._table.queue(asked, urgent=True)

    def _affected(self, path: str, asked: Sequence[int], names: Collection[str]) -> list[int]:
        """Return those of the files that asked a file whose links names may change: who mention one
        themselves, or asked another file whose interface leads on to one."""
        facts = self._store.facts
        own = self._store.chunks.id_of(path)
        leading = facts.showing([*asked, *([] if own is None else [own])], names)
        through = set(self._table.consulting_files(leading)) if leading else set()
        return sorted(facts.saying(asked, names) | through.intersection(asked))

    # Linking

    def _next_batch(self) -> list[QueuedFile]:
        """Return which files this process links next."""
        found = [QueuedFile(*row) for row in self._table.queued(BATCH_FILES + self._is_away())]
        return [each for each in found if self._ahead is None or each not in self._ahead][:BATCH_FILES]

    def _is_away(self) -> int:
        """Return how many files the other process links."""
        return 0 if self._ahead is None else len(self._ahead)

    def _ask_ahead(self) -> None:
        """Have another process link files too, from the end of the queue, where many wait."""
        ahead = self._ahead
        if ahead is None or 2 * ahead.room < FILES_MAX:
            return
        waiting = self.waiting()
        if not ahead.runs and waiting < AHEAD_FROM:
            return
        # Of the last ones it gets half, so that both end together.
        share = min(ahead.room, (waiting - len(ahead)) // 2)
        if share < FILES_MIN:
            return
        last = [QueuedFile(*row) for row in self._table.queued_last(len(ahead) + share)]
        ahead.ask(self._epoch, [each for each in last if each not in ahead][:share])

    def _take_ahead(self, seconds: float) -> dict[QueuedFile, LinkedFile | None]:
        """Return what the other process has linked."""
        if self._ahead is None:
            return {}
        found: dict[QueuedFile, LinkedFile | None] = dict(self._ahead.take(self._epoch, seconds))
        self.linked += len(found)
        for file in found:
            self._failed.pop(file.path, None)
        if self._ahead.culprit is not None:
            self._blame(self._ahead.culprit.path)
            self._ahead.culprit = None
        return found

    def _write_batch(self, outcomes: Mapping[QueuedFile, LinkedFile | None]) -> bool:
        """Write files that were linked as one; whether any link changed, which is a new generation: answers
        that were made before may be others now."""
        if not outcomes:
            return False
        with self._store.side_notes():
            changed = self._write(outcomes)
            if changed:
                self._store.advance()
        return changed

    def _outcomes(
        self, waiting: Iterable[QueuedFile], deadline: float | None
    ) -> dict[QueuedFile, LinkedFile | None]:
        outcomes: dict[QueuedFile, LinkedFile | None] = {}
        for each in waiting:
            outcomes[each] = self._link_one(each)
            if deadline is not None and self._system.monotonic() > deadline:
                break
        return outcomes

    def _link_one(self, file: QueuedFile) -> LinkedFile | None:
        """Return what a file's references mean, None if none of it is known."""
        self.linked += 1
        self._begin_file(file.path)
        self._failed.pop(file.path, None)
        self._world.missed.clear()
        try:
            references = self._store.facts.references(file.id)
        except FactsDamaged as error:
            log.warning("%s is read again: %s", file.path, error)
            self._world.damaged.add(file.path)
            return None
        if references is None:
            return None
        symbols = self._table.symbols(file.id)
        try:
            found = self._link(file.path, file.language, symbols, references, self._world)
        except Exception as error:  # one file of an untrusted project must not end the indexer
            # It would be met again by the next process, and by the one after that.
            log.exception("%s could not be linked", file.path)
            self._failed[file.path] = f"{type(error).__name__}: {error}"[:200]
            return None
        return found._replace(consulted=found.consulted | self._world.missed)

    def _keep_cut(self, paths: set[str]) -> None:
        """Keep which files' links were made in part, in the caller's transaction."""
        if paths != self._cut:
            for path in sorted(paths - self._cut):
                log.warning("%s refers to more than is followed: the rest is linked by name", path)
            self._store.set_meta(CUT_KEY, json.dumps(sorted(paths)))
            self._cut = paths

    def _write(self, outcomes: Mapping[QueuedFile, LinkedFile | None]) -> bool:
        """Write what files were linked to, in a transaction; whether any link changed."""
        rows = {file.id: self._rows(file, linked) for file, linked in outcomes.items()}
        changed = self._table.put(rows)
        self._table.put_consulted(
            {
                file.id: frozenset() if linked is None else linked.consulted
                for file, linked in outcomes.items()
            }
        )
        self._table.unqueue([file.id for file in outcomes])
        exhausted = {
            file.path for file, linked in outcomes.items() if linked is not None and linked.exhausted
        }
        self._keep_cut(self._cut.difference(file.path for file in outcomes) | exhausted)
        for path in sorted(self._world.damaged):
            if (file_id := self._store.chunks.id_of(path)) is not None:
                self._store.chunks.forget_content(file_id)
        self._world.damaged.clear()
        return changed > 0

    def _rows(self, file: QueuedFile, linked: LinkedFile | None) -> list[LinkRow]:
        if linked is None:
            return []
        own = list(self._ids_of(file.path).values())
        rows: list[LinkRow] = []
        for each in linked.links:
            target, state = 0, _STATES[each.state]
            if each.target_name:
                target = self._ids_of(each.target_path).get(each.target_name, 0)
                state = state if target else BY_NAME
            scope = own[each.scope] if each.scope >= 0 else 0
            rows.append(LinkRow(each.line, _KINDS[each.kind], each.name, scope, target, state))
        return rows

    def _ids_of(self, path: str) -> dict[str, int]:
        """Return the ids of a file's definitions by name, in source order."""
        kept = self._ids.get(path)
        if kept is not None:
            return kept
        file_id = self._store.chunks.id_of(path)
        found = {} if file_id is None else self._table.definition_ids(file_id)
        self._ids.put(path, found, len(found) + 1)
        return found


_KINDS = {kind: number for number, kind in enumerate(KINDS)}
_STATES = {state: number for number, state in enumerate(STATES)}


def _with_more(path: str, paths: Collection[str]) -> str:
    return path if len(paths) == 1 else f"{path} and {len(paths) - 1:,} more"


def _paths_in(text: str | None) -> set[str]:
    """Return the stored value, or nothing where it makes no sense."""
    try:
        return {path for path in json.loads(text or "[]") if isinstance(path, str)}
    except (ValueError, TypeError, RecursionError):
        return set()


def _folder(path: str) -> str:
    """Return the folder of a file as it is consulted, with a slash behind it; "/" for the root."""
    return f"{path.rpartition('/')[0]}/"


FILES_MAX: Final = 192
"""Maximum number of files with the process, a third of a second of work: longer than the indexer links and
writes before it asks again, so that the process never waits."""

FILES_MIN: Final = 16
"""Minimum number of files that are worth a message."""


class QueuedFile(NamedTuple):
    """A file that waits to be linked."""

    id: int
    path: str
    language: str


class LinkedAhead(NamedTuple):
    """What the references of a file meant at an epoch; None where the indexer has to link it itself."""

    epoch: int
    file: QueuedFile
    linked: LinkedFile | None


class LinkOpening(NamedTuple):
    """The project that a process links: its root and its folder in the state folder. The files that configure
    imports are read up to `max_bytes`."""

    root: str
    folder: str
    max_bytes: int

    def begin(self) -> Work:
        """Open the index and return what links a file of it in an epoch."""
        gc.set_threshold(YOUNG_OBJECTS)
        return AheadLinker(self, System()).answer


class LinkAhead(WorkAhead[QueuedFile, None]):
    """Files of one project that a side process links.

    It reads the index as it was committed. What it links is what this process would, as long as nothing
    changed meanwhile. An epoch counts the changes of what links rest on: with a new one the process forgets
    what it knew of the project.
    """

    def __init__(self, start: StartSideProcess, opening: LinkOpening) -> None:
        super().__init__(start, opening, FILES_MAX)
        self._refused: set[QueuedFile] = set()

    def ask(self, epoch: int, files: Iterable[QueuedFile]) -> None:
        """Have files linked, in this order, except those that it couldn't link before."""
        wanted = [file for file in files if file not in self._away and file not in self._refused]
        if wanted:
            self._ask(epoch, wanted, dict.fromkeys(wanted))

    def take(self, epoch: int, seconds: float) -> Iterator[tuple[QueuedFile, LinkedFile]]:
        """Yield what was linked in this epoch, waiting up to `seconds` for the first file."""
        wait = seconds
        while (found := cast("LinkedAhead | None", self._receive(wait))) is not None:
            wait = 0.0
            del self._away[found.file]
            if found.linked is None:
                self._refused.add(found.file)
            elif found.epoch == epoch:
                yield found.file, found.linked

    def close(self) -> None:
        """End the process; files without an answer, or refused, may be asked for again."""
        super().close()
        self._refused.clear()

    def rest(self) -> None:
        """End the process until it is asked again, by when the cause of its failures may have passed."""
        self.close()
        self._starts = 0


class AheadLinker:
    """Links files of one project by what its index says. Raises `DatabaseError` where that can't be read."""

    def __init__(self, opening: LinkOpening, system: System) -> None:
        self._opening = opening
        self._system = system
        self._database, self._load_files = open_tables(opening.folder)
        self._facts = FactTable(self._database)
        self._table = LinkTable(self._database)
        self._epoch = -1
        self._world: StoredWorld

    def close(self) -> None:
        """Close the index."""
        self._database.close()

    def answer(self, epoch: int, file: QueuedFile) -> LinkedAhead:
        """Link a file, or leave it to the indexer."""
        try:
            return LinkedAhead(epoch, file, self.link(epoch, file))
        except DatabaseError:  # the indexer meets it too, and reports it
            return LinkedAhead(epoch, file, None)

    def link(self, epoch: int, file: QueuedFile) -> LinkedFile | None:
        """Return what a file's references mean; None where its facts can't be used, or linking it fails."""
        if epoch != self._epoch:
            records = self._load_files()
            self._world = StoredWorld(self._facts, ImportResolver(records.keys(), self._config), records)
            self._epoch = epoch
        self._world.missed.clear()
        try:
            references = self._facts.references(file.id)
        except FactsDamaged:
            return None
        if references is None:
            return None
        symbols = self._table.symbols(file.id)
        try:
            found = link_file(file.path, file.language, symbols, references, self._world)
        except Exception:  # the indexer meets the same error, and reports it
            log.exception("%s could not be linked ahead", file.path)
            return None
        if self._world.damaged:
            return None  # the indexer notes which files have to be read again
        return found._replace(consulted=found.consulted | self._world.missed)

    def _config(self, path: str) -> bytes | None:
        try:
            return self._system.read(os.path.join(self._opening.root, path), self._opening.max_bytes)[0]
        except OSError:
            return None
