"""The parts of one project's index, put together. In which order they work is up to `bulk_work.py`."""

from __future__ import annotations

from collections.abc import Callable

from ..core.system import System
from ..project.scan import Scanner
from ..project.scan_settings import ALWAYS_SKIPPED_FOLDERS, ScanSettings
from ..project.tree import FileRecord
from ..project.watcher import Watcher
from .indexed_files import ImportTargets, IndexedFiles
from .lexing import Lexing
from .link_ahead import LinkAhead, LinkOpening
from .linking import Linking
from .messages import Event, OpenProject
from .progress import Progress
from .reading import FileReader
from .reading_queue import Readers, ReadingQueue, ReadResults, count_for
from .side_process import StartSideProcess
from .store import Store
from .suspects import Alarm, Suspects
from .tree_changes import TreeChanges
from .watching import ProjectWatch


class ProjectIndex:
    """The parts of one project's index, for the indexer's working thread.

    Parameters are as with `ProjectIndexer`; `on_batch` is called from the watcher's thread. Raises
    `DatabaseError` where the store can't be opened, and `OSError`.
    """

    def __init__(
        self,
        command: OpenProject,
        system: System,
        announce: Callable[[Event], None],
        on_batch: Callable[[], None],
        alarm: Alarm | None,
        make_watcher: Callable[..., Watcher],
        start_side_process: StartSideProcess | None,
    ) -> None:
        root, folder, max_bytes = command.root, command.folder, command.max_file_bytes
        self.command = command
        self.system = system
        self.announce = announce
        self.store = Store(folder, system, command.distrusted)
        known = self.store.take_files()
        unread: dict[str, FileRecord | None] = {}
        self.suspects = Suspects(folder, self.store, known, alarm)
        self.lexing = Lexing(folder, self.store, system, self.suspects.begin)
        targets = ImportTargets(root, max_bytes, known.keys(), self.store, system)
        opening = LinkOpening(root, folder, max_bytes)
        self.linking = Linking(
            self.store,
            targets.resolver,
            known,
            system,
            begin=self.suspects.begin,
            blame=self.suspects.blame,
            ahead=None if start_side_process is None else LinkAhead(start_side_process, opening),
        )
        self.watch = ProjectWatch(folder, on_batch, make_watcher)
        scanner = Scanner(root, system, _settings(command))
        self.progress = Progress(
            root,
            announce,
            known=known,
            unread=unread,
            scanner=scanner,
            watch=self.watch,
            linking=self.linking,
            parts=(self.suspects, self.lexing, self.linking),
        )
        self.files = IndexedFiles(
            root,
            announce,
            known=known,
            unread=unread,
            store=self.store,
            suspects=self.suspects,
            targets=targets,
            linking=self.linking,
            progress=self.progress,
        )
        self.changes = TreeChanges(root, system, scanner, self.watch, self.files, self.progress)
        self.reading = ReadingQueue(
            self.files,
            FileReader(root, max_bytes, system),
            ReadResults(command.show_files, self.suspects, targets, self.lexing),
            self.suspects,
            system,
            None
            if start_side_process is None
            else lambda files: Readers(start_side_process, root, max_bytes, count_for(files)),
        )
        if self.store.replaced:
            self.progress.reasons["index"] = self.store.replaced

    def close(self) -> None:
        """Stop watching and close the index."""
        self.watch.close()
        self.lexing.close()
        self.reading.rest()
        self.linking.rest()
        self.suspects.close()
        self.store.close()


def _settings(command: OpenProject) -> ScanSettings:
    return ScanSettings(
        max_file_bytes=command.max_file_bytes,
        exclude=command.exclude,
        skip_folders=ALWAYS_SKIPPED_FOLDERS | frozenset(command.skip_folders_extra),
    )
