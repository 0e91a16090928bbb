"""The messages between daemon and indexer process: commands one way, replies and events the other."""

from __future__ import annotations

from msgspec import Struct

from ..core.pipe import Stop
from ..languages.shared.records import Symbol
from ..project.records import FileRecord, ProjectState, WatchMode

EDITS_MAX = 50
"""Maximum number of paths in a batch that counts as editing; more are a checkout or a build."""


class OpenProject(Struct, frozen=True):
    """Begin to index and watch a project. The reply comes at once.

    `folder` is the project's folder in the state folder. `deaths` is the number of times that the indexer
    recently died at work on the project; projects with fewer deaths are indexed first. `exclude`,
    `skip_folders_extra` and `show_files` are as in the configuration. `distrusted` says why a reader found
    the existing index unusable, or is empty.
    """

    root: str
    folder: str
    max_file_bytes: int
    exclude: tuple[str, ...]
    skip_folders_extra: tuple[str, ...]
    poll_interval_ms: int
    sweep_interval_s: int
    show_files: tuple[str, ...] = ()
    deaths: int = 0
    distrusted: str = ""


class CloseProject(Struct, frozen=True):
    """Stop watching a project and close its index."""

    root: str


class RefreshFiles(Struct, frozen=True):
    """Bring a few files up to date before anything else. The reply is a `Refreshed`.

    With `words` the lexical index is updated too; its commit takes longer than all the rest.
    """

    root: str
    paths: tuple[str, ...]
    words: bool = False


class LinkFirst(Struct, frozen=True):
    """Read and link the files that mention or define one of `names` before all others, with `heirs` also one
    of the classes below classes of these names; if there are none, read those that fit `words` best. The
    reply is a `Refreshed`, which is complete if none of these files waits any more."""

    root: str
    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    heirs: bool = False


class SyncTree(Struct, frozen=True):
    """Index every change that is on the disk now. The reply is a `Refreshed`."""

    root: str


class Reindex(Struct, frozen=True):
    """Scan all names again, and with `full` read all contents again. The reply comes at its start."""

    root: str
    full: bool


class RebuildLexical(Struct, frozen=True):
    """Rebuild a project's lexical index, because it was found damaged. The reply comes at its start."""

    root: str


class ParseTexts(Struct, frozen=True):
    """Parse texts that aren't indexed, such as those of a commit. The reply is a `Parsed`."""

    texts: tuple[tuple[str, str], ...]
    """Each with the path that names its language."""


Command = (
    OpenProject
    | CloseProject
    | RefreshFiles
    | LinkFirst
    | SyncTree
    | Reindex
    | RebuildLexical
    | ParseTexts
    | Stop
)


class Parsed(Struct, frozen=True):
    """The definitions of each text, in order."""

    symbols: tuple[tuple[Symbol, ...], ...]


class Refreshed(Struct, frozen=True):
    """The project's generation after a request; `complete` is false if some contents are still unread."""

    generation: int
    complete: bool


class TreeDelta(Struct, frozen=True):
    """A change of a project's index, sent after it was committed.

    `touched` are the paths that the watcher named, ignored ones included, relative to the root. `resync` says
    that events were lost and everything may have changed. `links_changed` says that imports of files other
    than the upserted ones have new targets. A `TreeDelta` with a generation and nothing else means that the
    targets of references have changed. `replaced` says that the index was opened again after an error, and
    may be a new index in another file.
    """

    root: str
    generation: int
    upserted: tuple[FileRecord, ...] = ()
    removed: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    links_changed: bool = False
    resync: bool = False
    replaced: bool = False


class ProjectProgress(Struct, frozen=True):
    """The progress of indexing a project. `skipped` counts folders that were left out, by reason; `unlinked`
    counts the files whose references aren't resolved yet, or must be resolved again."""

    root: str
    state: ProjectState
    watch: WatchMode
    degraded: tuple[str, ...]
    total: int
    pending: int
    skipped: tuple[tuple[str, int], ...]
    unlinked: int = 0
    words: bool = False
    """Whether all files have been read and are in the lexical index."""


class ActivityTaken(Struct, frozen=True):
    """A project's index now has the commit counts of files from git's history."""

    root: str


class ActiveProject(Struct, frozen=True):
    """The root of the project on which the indexer begins to work ("" for none), so that the daemon knows
    on which project it died."""

    root: str


Event = TreeDelta | ProjectProgress | ActivityTaken | ActiveProject
