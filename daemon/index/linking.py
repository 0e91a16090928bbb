"""Links the queued files of one project, those that questions are about first."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ..core.sized_cache import SizedCache
from ..core.storage import DatabaseError
from ..core.system import System
from ..languages.shared.imports import ImportResolver, keys_of_path
from ..languages.shared.link_rules import LinkerView
from ..languages.shared.records import References, Symbol
from ..linking.records import LINKER_VERSION, LinkedFile
from ..linking.service import link_file, link_named
from ..project.records import FileRecord
from .fact_table import FactsDamaged
from .link_ahead import FILES_MAX, FILES_MIN, LinkAhead, QueuedFile
from .link_table import BY_NAME, KINDS, STATES, LinkRow
from .linker_view import StoredLinkerView, missing_key
from .store import InterfaceChanged, Store

log = logging.getLogger(__name__)

LinkFile = Callable[[str, str, Sequence[Symbol], References, LinkerView], LinkedFile]

BATCH_FILES: Final = 64
"""Maximum number of files whose links are written in one commit, so that commits cost little."""

DEFINITIONS_MAX: Final = 200_000
"""Maximum number of definitions whose ids are cached for linking, about 20 MB; Django has 44,000."""

SCANNED_FILES: Final = 4_000
"""Number of files whose names are scanned in one step, 10 µs each."""

VERSION_KEY: Final = "linker"
"""The store's key for the version of the linker that made its links."""

CUT_KEY: Final = "linking_cut"
"""The store's key for the list of files whose links are incomplete."""

AHEAD_FROM: Final = 200
"""Minimum number of waiting files for a side process; fewer would be linked before it has started."""


class Linking:
    """Keeps the links of one project up to date, on the indexer's working thread.

    `problem` names the files that could not be linked or only in part, or is empty. `linked` counts the files
    linked by this object. `begin` is called with each file before it is linked. `ahead` is the side process
    that links files too, and `blame` is called with a file on which it died. Some methods must be called in a
    transaction of the store, and say so. Raises `DatabaseError` if the store fails.
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
        """Counts the changes on which links may depend. Links made by the side process in an earlier epoch
        are dropped."""
        self._store = store
        self._table = store.links
        self._resolver = resolver
        self._system = system
        self._link = link
        self._begin_file = begin
        self._world = StoredLinkerView(store.facts, resolver, records)
        self._ids = SizedCache[str, dict[str, int]](DEFINITIONS_MAX)
        self._failed: dict[str, str] = {}
        self._cut = _paths_in(store.get_meta(CUT_KEY))
        self._begin()

    @property
    def problem(self) -> str:
        """A message that names the files that could not be linked or only in part, "" if there are none."""
        if self._failed:
            path, reason = next(iter(self._failed.items()))
            return f"what {_with_more(path, self._failed)} refers to is not known: {reason}"
        if self._cut:
            files = _with_more(min(self._cut), self._cut)
            return f"what {files} refers to is known in part, the rest by name: following it takes too long"
        return ""

    def waiting(self) -> int:
        """Return the number of files that wait to be linked."""
        return self._table.waiting()

    def step(self, seconds: float) -> tuple[bool, bool]:
        """Link waiting files for up to `seconds`; return whether a link changed, and whether files still
        wait.

        At least one file is linked, so that even the shortest steps make progress.
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
                return changed, self.waiting() > 0  # a side process that just died may have left some
            outcomes |= self._outcomes(waiting, deadline)
            changed = self._write_batch(outcomes) or changed
            if self._system.monotonic() > deadline:
                return changed, self.waiting() > 0

    def rest(self) -> None:
        """End the side process. It is started again when there is much to do."""
        if self._ahead is not None:
            self._ahead.rest()

    def link_now(self, paths: Iterable[str]) -> None:
        """Link the waiting files among `paths`, in the caller's transaction."""
        found = [QueuedFile(*row) for row in self._table.queued_among(paths)]
        self._write(self._outcomes(found, None))

    def mentioning(self, names: Collection[str], *, linked: bool) -> Iterator[set[int]]:
        """Yield the ids of the waiting files that mention or define one of `names`, some thousand files at a
        time; with `linked` also files that don't wait."""
        among = sorted(self._store.facts.file_ids() if linked else self._table.waiting_ids())
        yield self._table.defining(names).intersection(among)
        for start in range(0, len(among), SCANNED_FILES):
            yield self._store.facts.saying(among[start : start + SCANNED_FILES], names)

    def heirs_of(self, names: Collection[str]) -> set[str]:
        """Return the names of the classes that are linked to a base of one of `names`."""
        return self._table.heirs_of(names)

    def needs(self, file_ids: Iterable[int], names: Collection[str], seconds: float) -> dict[int, LinkNeeds]:
        """Return what the links that concern `names` in files need, by file id, for as many files as can be
        examined in some seconds, one at least.

        In files that neither mention nor define a name only inheritance is examined.
        """
        deadline = self._system.monotonic() + seconds
        found: dict[int, LinkNeeds] = {}
        for file in map(QueuedFile._make, self._table.files(file_ids)):
            found[file.id] = self._needs_of(file, names)
            if self._system.monotonic() > deadline:
                break
        return found

    def _needs_of(self, file: QueuedFile, names: Collection[str]) -> LinkNeeds:
        self._begin_file(file.path)
        try:
            references = self._store.facts.references(file.id)
            if references is None:
                return NO_NEEDS
            symbols = self._table.symbols(file.id)
            linked = link_named(file.path, file.language, symbols, references, self._world, names)
        except DatabaseError:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again, and told, when the whole file is linked
            log.info("what the links of %s need is not known: %s", file.path, error)
            return NO_NEEDS
        bases = {link.target_path for link in linked.links if link.kind == "inherit" and link.target_path}
        known = map(self._store.chunks.id_of, bases)
        return LinkNeeds(linked.consulted, frozenset(each for each in known if each is not None))

    def link_first(self, file_ids: Collection[int], seconds: float) -> tuple[bool, bool]:
        """Link those of the given files that wait, as `step` does, but without the side process."""
        deadline = self._system.monotonic() + seconds
        waiting = [QueuedFile(*row) for row in self._table.queued_of(file_ids)]
        outcomes = self._outcomes(waiting[:BATCH_FILES], deadline)
        return self._write_batch(outcomes), len(outcomes) < len(waiting)

    # Which files are linked again. All of these methods must be called in a transaction.

    def contents_changed(self, changes: Iterable[InterfaceChanged], paths: Iterable[str]) -> None:
        """Queue the files whose links may change because the files `paths` were written again."""
        self._epoch += 1
        for path in paths:
            self._world.content_changed(path)
            self._ids.discard(path)
        for each in changes:
            self._queue_dependents(each)

    def names_changed(self, added: Collection[str], removed: Collection[str]) -> None:
        """Queue the files whose links may change because files were added or removed.

        The store must still have the removed files.
        """
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
        places.update(map(missing_key, self._resolver.keys_below((*added, *removed))))
        self._table.queue(self._table.consulting(sorted(places)), urgent=True)

    def contents_lost(self, paths: Iterable[str]) -> None:
        """Queue the files whose links may change because the contents of files are no longer indexed."""
        self._epoch += 1
        for path in paths:
            self._world.content_changed(path)
            self._ids.discard(path)
            self._table.queue(self._table.consulting([path, _folder(path)]), urgent=True)

    def imports_changed(self, importers: Collection[str]) -> None:
        """Queue the files whose links may change because imports of `importers` have new targets."""
        self._epoch += 1
        self._world.imports_changed()
        if importers:
            own = [self._store.chunks.id_of(path) for path in sorted(set(importers))]
            self._table.queue([each for each in own if each is not None], urgent=True)
            self._table.queue(self._table.consulting(sorted(importers)), urgent=True)

    def _begin(self) -> None:
        """Queue all files if another version of the linker made their links."""
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
        """Return the files among `asked` whose links the changed `names` of the file `path` may affect.

        These are the files that mention one of the names, and those that depend on a file whose interface
        mentions one.
        """
        facts = self._store.facts
        own = self._store.chunks.id_of(path)
        leading = facts.showing([*asked, *([] if own is None else [own])], names)
        through = set(self._table.consulting_files(leading)) if leading else set()
        return sorted(facts.saying(asked, names) | through.intersection(asked))

    # Linking

    def _next_batch(self) -> list[QueuedFile]:
        """Return the files that this process links next."""
        found = [QueuedFile(*row) for row in self._table.queued(BATCH_FILES + self._is_away())]
        return [each for each in found if self._ahead is None or each not in self._ahead][:BATCH_FILES]

    def _is_away(self) -> int:
        """Return the number of files that the side process has been given."""
        return 0 if self._ahead is None else len(self._ahead)

    def _ask_ahead(self) -> None:
        """Give the side process files from the end of the queue, if many wait."""
        ahead = self._ahead
        if ahead is None or 2 * ahead.room < FILES_MAX:
            return
        waiting = self.waiting()
        if not ahead.runs and waiting < AHEAD_FROM:
            return
        # The side process gets up to half of the remaining files, so that both finish together.
        share = min(ahead.room, (waiting - len(ahead)) // 2)
        if share < FILES_MIN:
            return
        last = [QueuedFile(*row) for row in self._table.queued_last(len(ahead) + share)]
        ahead.ask(self._epoch, [each for each in last if each not in ahead][:share])

    def _take_ahead(self, seconds: float) -> dict[QueuedFile, LinkedFile | None]:
        """Return the links made by the side process."""
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
        """Write the links of files in one transaction; return whether any link changed.

        If any did, the generation is increased, because cached answers may be outdated.
        """
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
        """Return the links of a file, None if its facts are missing or linking it fails."""
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
            # Raising it would end this process, and every later one at the same file.
            log.exception("%s could not be linked", file.path)
            self._failed[file.path] = f"{type(error).__name__}: {error}"[:200]
            return None
        return found._replace(consulted=found.consulted | self._world.missed)

    def _keep_cut(self, paths: set[str]) -> None:
        """Store the list of files whose links are incomplete, in the caller's transaction."""
        if paths != self._cut:
            for path in sorted(paths - self._cut):
                log.warning("%s refers to more than is followed: the rest is linked by name", path)
            self._store.set_meta(CUT_KEY, json.dumps(sorted(paths)))
            self._cut = paths

    def _write(self, outcomes: Mapping[QueuedFile, LinkedFile | None]) -> bool:
        """Write the links of files, in the caller's transaction; return whether any link changed."""
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
    """Return the paths in a stored list, empty if it is invalid."""
    try:
        return {path for path in json.loads(text or "[]") if isinstance(path, str)}
    except (ValueError, TypeError, RecursionError):
        return set()


def _folder(path: str) -> str:
    """Return the folder of a file as a dependency: with a trailing slash, "/" for the root."""
    return f"{path.rpartition('/')[0]}/"


class LinkNeeds(NamedTuple):
    """What some links of a file need: the files and folders on which they depend, and the ids of the files
    that define the bases of its classes."""

    consulted: frozenset[str]
    bases: frozenset[int]


NO_NEEDS: Final = LinkNeeds(frozenset(), frozenset())
