"""Owns a project's metadata: what it is called, what it is, its languages, its commands, where git stands."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..core.system import Stamp, System, stamp_of
from . import git
from .languages import language_of
from .manifests import MANIFESTS, PURPOSES, Manifest, ProjectCommand, read_manifests
from .tree import FileRecord, Tree

LANGUAGES_MAX = 4
COMMANDS_MAX = 2
"""Of each purpose so many commands are named."""
COMMITS_MAX = 3
SHARE_MIN = 0.02
"""A language with less than a fiftieth of the source files isn't named."""

NO_SOURCE = frozenset(
    {"", "markdown", "json", "yaml", "toml", "text", "xml", "ini", "csv", "gitignore", "restructuredtext"}
    | {"makefile", "dockerfile"}
)
"""Kinds of files that don't make a project one of their language."""


class ProjectMetadata(Struct, frozen=True):
    """What a project says of itself. All texts are single lines of plain text.

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


def metadata_key(tree: Tree, system: System) -> MetadataKey:
    """Return what the metadata of a tree depend on. Takes a stat for each manifest that there is."""
    return MetadataKey(_manifests(tree, system), git.head(tree.root, system), tree.names_generation)


def read_metadata(tree: Tree, system: System) -> ProjectMetadata:
    """Read the metadata of a tree. Blocks for its manifests and for git; never raises for what is there."""
    manifests = read_manifests(tree.root, (name for name, _ in _manifests(tree, system)), system)
    head = git.head(tree.root, system)
    return ProjectMetadata(
        next((one.name for one in manifests if one.name), "") or os.path.basename(tree.root),
        next((one.description for one in manifests if one.description), ""),
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
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:LANGUAGES_MAX]
    return tuple((name, round(count / total, 2)) for name, count in ranked if count >= SHARE_MIN * total)


def _commands(manifests: Iterable[Manifest]) -> tuple[ProjectCommand, ...]:
    """Return the commands by purpose, the first of each; manifests come in the order in which they count."""
    found = list(dict.fromkeys(command for manifest in manifests for command in manifest.commands))
    return tuple(
        command
        for purpose in PURPOSES
        for command in [one for one in found if one.purpose == purpose][:COMMANDS_MAX]
    )


def _commits(root: str, system: System) -> tuple[str, ...]:
    try:
        return tuple(git.latest_subjects(root, COMMITS_MAX))
    except git.GitError as error:
        system.deny(error.__cause__)
        return ()  # without git, or in a repository that it rejects, which the scan says
