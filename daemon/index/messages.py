"""The messages between the daemon and the indexer process: commands down, events and replies up."""

from __future__ import annotations

from msgspec import Struct

from ..core.pipe import Stop
from ..project.tree import FileRecord, ProjectState, WatchMode

EDITS_MAX = 50
"""Maximum number of paths in a batch that counts as editing; more are a checkout or a build."""


class OpenProject(Struct, frozen=True):
    """Begin to index and watch a project. `folder` is its own one in the state folder; replied at once.
    `deaths` is how often the indexer ended lately at work on it: others have their turns first.

    `exclude`, `skip_folders_extra` and `show_files` are as in the configuration. `distrusted` says why the
    index that is there can't be used, where a reader found that out, or is empty.
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
    """Bring a few files up to date before anything else; replied with a `Refreshed`.

    With `words` the lexical index too, whose commit takes longer than all the rest.
    """

    root: str
    paths: tuple[str, ...]
    words: bool = False


class LinkFirst(Struct, frozen=True):
    """Link the files that mention or define one of some names before all others; replied with a `Refreshed`,
    which is complete if none of them waits any more."""

    root: str
    names: tuple[str, ...]


class SyncTree(Struct, frozen=True):
    """Bring in every change that is on the disk now; replied with a `Refreshed`."""

    root: str


class Reindex(Struct, frozen=True):
    """Scan all names again, and with `full` read all contents again; replied when the scan has begun."""

    root: str
    full: bool


class RebuildLexical(Struct, frozen=True):
    """Fill a project's lexical index anew, since it was found damaged; replied when that has begun."""

    root: str


Command = OpenProject | CloseProject | RefreshFiles | LinkFirst | SyncTree | Reindex | RebuildLexical | Stop


class Refreshed(Struct, frozen=True):
    """The generation that the request led to; `complete` is false where some contents are still unread."""

    generation: int
    complete: bool


class TreeDelta(Struct, frozen=True):
    """A change of a project's index, sent after it was committed.

    `touched` are the paths that the watcher named, ignored ones included, relative to the root; `resync`
    says that events were lost and that everything may have changed. `links_changed` says that imports of
    files other than the upserted ones lead elsewhere now. One that says no more than its generation tells
    that references mean something else now. `replaced` says that the index was opened anew after an
    error: it may be another one, in another file.
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
    """How far the indexing of a project is. `skipped` counts folders that were left out, by reason;
    `unlinked` are the files of which it isn't known yet, or not any more, what their references mean."""

    root: str
    state: ProjectState
    watch: WatchMode
    degraded: tuple[str, ...]
    total: int
    pending: int
    skipped: tuple[tuple[str, int], ...]
    unlinked: int = 0
    words: bool = False
    """Whether all files were read and can be found by their words."""


class ActivityTaken(Struct, frozen=True):
    """What git's history says of a project's files was taken into its index."""

    root: str


class AtWork(Struct, frozen=True):
    """Work on a project begins, so that it is known whose work ended the process; on none with ""."""

    root: str


Event = TreeDelta | ProjectProgress | ActivityTaken | AtWork
