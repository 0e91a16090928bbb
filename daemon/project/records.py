"""The values of `daemon/project` that other rooms may hold."""

from __future__ import annotations

from .commits import Commit, Reverts
from .content import Content, Shown
from .diff import ChangedFile, Diff
from .family import Worktree
from .git import NO_REPOSITORY, LatestCommit
from .ignore import NAME, IgnoreLine
from .lister import LeftOut, RootGone
from .metadata import NO_SOURCE, ProjectMetadata
from .roots import DERIVED, LAST_CONFIG, RECORD, RECORD_VERSION, REST, ProjectRecord
from .rules import ALWAYS_SKIPPED_FOLDERS, ScanSettings
from .scan import ListingNeeded, ScanChanges, ScanStatistics
from .text_kind import PROSE_LANGUAGES, Role, TextKind
from .tree import FileRecord, Folder, ProjectState, ResolvedImport, WatchMode
from .watcher import WatchBatch
