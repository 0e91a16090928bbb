"""A project's metadata: its name, what it is, its languages, its commands, its branch and latest commits."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..core.system import Stamp, System, stamp_of
from ..languages.shared.language import language_of
from . import git
from .manifests import MANIFESTS, PURPOSES, Manifest, ProjectCommand, read_manifests
from .tree import FileRecord, Tree

LANGUAGES_MAX = 4
COMMANDS_MAX = 2
"""Maximum number of commands for each purpose."""
COMMITS_MAX = 3
SHARE_MIN = 0.02
"""Minimum share of the source files for a language to be named."""

CHECK_S = 0.5
"""Seconds between two looks at the manifests and the commit, which take 40 to 160 microseconds."""

NO_SOURCE = frozenset(
    {"", "markdown", "json", "yaml", "toml", "text", "xml", "ini", "csv", "gitignore", "restructuredtext"}
    | {"makefile", "dockerfile"}
)
"""Kinds of files that don't count among a project's languages."""


class ProjectMetadata(Struct, frozen=True):
    """What a project's own files and git say about it. All texts are single lines of plain text.

    `languages` are names with their share of the source files, 0 to 1, the largest first. `commits` are
    subjects of the last ones, the latest first. `branch` is "" where none is checked out.
    """

    name: str
    description: str = ""
    languages: tuple[tuple[str, float], ...] = ()
    commands: tuple[ProjectCommand, ...] = ()
    branch: str = ""
    commits: tuple[str, ...] = ()


class MetadataKey(Struct, frozen=True):
    """What metadata depend on: equal keys give equal metadata. Taken with a few stats, without a process."""

    manifests: tuple[tuple[str, Stamp], ...]
    head: git.Head | None
    names_generation: int


class KnownMetadata:
    """What is known of one project's metadata, and what it was read from. On the event loop only."""

    def __init__(self, system: System) -> None:
        self.value: ProjectMetadata | None = None
        self.key: MetadataKey | None = None
        self.generation = 0
        """Changes with the value."""
        self._system = system
        self._checked = 0.0

    def holds(self, tree: Tree, now: float) -> bool:
        """Whether the value is what the project says of itself; looked at on the disk now and then.

        Some stats; `now` is the event loop's time in seconds.
        """
        if self.key is None:
            return False
        if now - self._checked < CHECK_S:
            return True
        self._checked = now
        return self.key == metadata_key(tree, self._system)

    def set(self, key: MetadataKey, value: ProjectMetadata) -> None:
        """Replace the value, and what it was read from."""
        self.generation += value != self.value
        self.key, self.value = key, value


def metadata_key(tree: Tree, system: System) -> MetadataKey:
    """Return what the metadata of a tree depend on. Takes a stat for each manifest that there is."""
    return MetadataKey(_manifests(tree, system), git.head(tree.root, system), tree.names_generation)


def read_metadata(tree: Tree, system: System) -> ProjectMetadata:
    """Read the metadata of a tree. Blocks for its manifests and for git; never raises for what is there."""
    manifests = read_manifests(tree.root, (name for name, _ in _manifests(tree, system)), system)
    head = git.head(tree.root, system)
    return ProjectMetadata(
        next((manifest.name for manifest in manifests if manifest.name), "") or os.path.basename(tree.root),
        next((manifest.description for manifest in manifests if manifest.description), ""),
        _languages(tree.files),
        _commands(manifests),
        head.branch if head else "",
        _commits(tree.root, system) if head and head.commit else (),
    )


def _manifests(tree: Tree, system: System) -> tuple[tuple[str, Stamp], ...]:
    """Return a tree's manifests; while no file of it is known, those on the disk."""
    found = []
    for name in MANIFESTS:
        if name in tree.files or not tree.files:
            try:
                found.append((name, stamp_of(system.stat(os.path.join(tree.root, name)))))
            except OSError:
                continue  # there is none, or it goes just now, which the tree will say
    return tuple(found)


def _languages(files: Mapping[str, FileRecord]) -> tuple[tuple[str, float], ...]:
    counts = Counter(language_of(path) for path in files)
    for kind in NO_SOURCE:
        counts.pop(kind, None)
    total = sum(counts.values())
    ranked = sorted(counts.items(), key=lambda count: (-count[1], count[0]))[:LANGUAGES_MAX]
    return tuple((name, round(count / total, 2)) for name, count in ranked if count >= SHARE_MIN * total)


def _commands(manifests: Iterable[Manifest]) -> tuple[ProjectCommand, ...]:
    """Return the commands by purpose, the first of each; manifests come in the order in which they count."""
    found = list(dict.fromkeys(command for manifest in manifests for command in manifest.commands))
    return tuple(
        command
        for purpose in PURPOSES
        for command in [command for command in found if command.purpose == purpose][:COMMANDS_MAX]
    )


def _commits(root: str, system: System) -> tuple[str, ...]:
    try:
        return tuple(git.latest_subjects(root, COMMITS_MAX))
    except git.GitError as error:
        system.deny(error.__cause__)
        return ()  # without git, or in a repository that it rejects, which the scan says
