"""Decides what is left out of a tree, by folder names, settings, ignore files and git. Lists no folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ..core.system import RACY_NS, Stamp, System, stamp_of
from ..core.vocabulary import words
from . import git
from .ignore import IgnoreRules, IgnoreTree

MARKS = frozenset({".git", ".gitignore", ".fovealignore"})
"""Names of entries that make rules for their folder."""

_RACY = Stamp(-1, 0, 0, 0)
"""A stamp unequal to all others, for files that may change again without a new stamp."""

Entry = tuple[str, str, bool]
"""A folder's relative path, the name of an entry in it, and whether the entry is a folder."""


class PathRules:
    """The rules of one pass over a tree, kept until one of the files that they come from changes.

    A domain is a part of the tree with one set of rules, named by its top folder. It is a repository that git
    accepts, whose rules git applies, or a root that is no repository, for which only .gitignore files count.
    Call `enter` for a folder, after its parent, before its entries are judged. All paths are relative to the
    root.
    """

    def __init__(
        self, root: str, system: System, exclude: Iterable[str], optional_names: frozenset[str]
    ) -> None:
        """`exclude` are patterns that no other rule overrides; `optional_names`: see `holds_tracked`."""
        self.rejected: dict[str, str] = {}
        """The domains for which git can't be used, with the reasons."""
        self._root = root
        self._system = system
        self._exclude = IgnoreRules(exclude)
        self._optional_names = optional_names
        self._plain = IgnoreTree(root, ".gitignore", system)
        self._foveal = IgnoreTree(root, ".fovealignore", system)
        self._domains: dict[str, _Domain] = {}
        self._stamps: dict[str, Stamp | None] = {}

    @property
    def problems(self) -> dict[str, str]:
        """The ignore files that can't be used, with the reasons."""
        return self._plain.problems | self._foveal.problems

    @property
    def folders(self) -> set[str]:
        """The absolute paths of the folders of all files that rules come from."""
        return {os.path.dirname(path) for path in self._stamps}

    def enter(self, folder: str, marks: Iterable[str], parent_domain: str) -> str:
        """Record the rules in a folder; return the domain that the folder belongs to."""
        for name, tree in ((".gitignore", self._plain), (".fovealignore", self._foveal)):
            if name in marks:
                tree.declare(folder)
                self.remember(os.path.join(self._root, folder, name))
        if folder and ".git" not in marks:
            return parent_domain
        domain = _Domain(folder, os.path.join(self._root, folder) if folder else self._root)
        reason = self._load(domain)
        if reason:
            self.rejected[folder] = reason
            if folder:
                return parent_domain
            domain.by_git = False
        self._domains[folder] = domain
        return folder

    def ignored(self, domain_name: str, entries: list[Entry]) -> set[str]:
        """Return the paths of the entries that git's rules leave out. One query for many is faster."""
        domain = self._domains[domain_name]
        if domain.by_git:
            paths = [f"{folder}/{name}" if folder else name for folder, name, _ in entries]
            try:
                return domain.ignored(paths)
            except git.GitError as error:
                # git hangs or fails on this repository, so from now on only its .gitignore files are used.
                self.rejected[domain_name] = str(error)
                domain.by_git = False
        return {
            f"{folder}/{name}" if folder else name
            for folder, name, is_folder in entries
            if self._plain.ignores(folder, name, is_folder)
        }

    def excluded(self, folder: str, name: str, is_folder: bool) -> bool:
        """Whether the settings or a .fovealignore leave out an entry, even if it is tracked."""
        if self._exclude:
            path = f"{folder}/{name}" if folder else name
            if self._exclude.match(path, name, is_folder):
                return True
        return self._foveal.ignores(folder, name, is_folder)

    def holds_tracked(self, domain: str, folder: str) -> bool:
        """Whether git tracks a file below a folder that has one of the `optional_names`."""
        return folder in self._domains[domain].tracked_folders

    def is_by_git(self, domain: str) -> bool:
        """Whether git decides what belongs to a domain."""
        return self._domains[domain].by_git

    def changed(self) -> bool:
        """Whether any file that rules come from changed since it was read."""
        changed = {path for path, stamp in self._stamps.items() if self._stamp(path) != stamp}
        if not changed:
            return False
        indexes = {domain.index: domain for domain in self._domains.values() if domain.by_git}
        if not indexes.keys() >= changed:
            return True
        # git often rewrites its index without changing the data that was read from it.
        for path in changed:
            del self._stamps[path]
            self.remember(path)
            try:
                if indexes[path].load(self._optional_names):
                    return True
            except git.GitError:
                return True
        return False

    def remember(self, path: str) -> None:
        """Record the stamp of a file (absolute path) that affects the listing, before the file is read."""
        if path not in self._stamps:
            now = self._system.time_ns()
            stamp = self._stamp(path)
            racy = stamp is not None and max(stamp.mtime_ns, stamp.ctime_ns) > now - RACY_NS
            self._stamps[path] = _RACY if racy else stamp

    def _load(self, domain: _Domain) -> str:
        """Read a domain's data from git; return why that isn't possible, or ""."""
        self.remember(os.path.join(domain.root, ".git"))
        try:
            for path in domain.control_files():
                self.remember(path)
            reason = git.problem(domain.root)
            if not reason:
                domain.load(self._optional_names)
        except git.GitError as error:
            return str(error)
        return reason

    def _stamp(self, path: str) -> Stamp | None:
        """Return a file's stamp, None if it is absent; for a folder only its identity."""
        try:
            status = self._system.stat(path)
        except OSError:
            return None
        return Stamp(0, 0, 0, status.st_ino) if stat.S_ISDIR(status.st_mode) else stamp_of(status)


class _Domain:
    def __init__(self, folder: str, root: str) -> None:
        self.root = root
        self.by_git = True
        self.index = ""
        self.tracked_folders: frozenset[str] = frozenset()
        self._tracked_ignored: frozenset[str] = frozenset()
        self._prefix = f"{folder}/" if folder else ""

    def control_files(self) -> list[str]:
        """Return the files that decide what git lists. Raises `GitError`."""
        folder = git.git_folder(self.root)
        if folder is None:
            raise git.GitError(git.NO_REPOSITORY)
        self.index = os.path.join(folder, "index")
        return git.control_files(self.root)

    def load(self, names: frozenset[str]) -> bool:
        """Read from git's index the data that ignore rules can't give; return whether it changed.

        The data are the folders with one of these names that hold tracked files, and the tracked files that
        the rules would ignore, with all folders above them. Raises `GitError`.
        """
        before = (self.tracked_folders, self._tracked_ignored)
        folders: set[str] = set()
        for path in git.tracked_files(self.root):
            parents = path.split("/")[:-1]
            if not names.isdisjoint(parents):
                folders.update(
                    "/".join(parents[: at + 1]) for at, name in enumerate(parents) if name in names
                )
        kept: set[str] = set()
        for path in git.tracked_ignored_files(self.root):
            kept.add(self._prefix + path)
            kept.update(self._prefix + parent for parent in _parents(path))
        self.tracked_folders = frozenset(self._prefix + folder for folder in folders)
        self._tracked_ignored = frozenset(kept)
        return before != (self.tracked_folders, self._tracked_ignored)

    def ignored(self, paths: list[str]) -> set[str]:
        """Return the paths that git leaves out. Raises `GitError`."""
        if not paths:
            return set()
        inner = [path[len(self._prefix) :] for path in paths]
        try:
            found = git.ignored(self.root, inner)
        except git.GitError:
            # git ends with an error if a folder has just become a link: ask again about paths still inside.
            found = git.ignored(self.root, [path for path in inner if self._is_inside(path)])
        return {self._prefix + path for path in found} - self._tracked_ignored

    def _is_inside(self, path: str) -> bool:
        folder = os.path.dirname(os.path.join(self.root, path))
        return os.path.realpath(folder) == folder


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


ALWAYS_SKIPPED_FOLDERS = words(
    ".git .hg .svn .bzr CVS .jj node_modules bower_components jspm_packages site-packages __pycache__",
    "__pypackages__ .venv venv .tox .nox .eggs .mypy_cache .pytest_cache .ruff_cache .hypothesis",
    ".ipynb_checkpoints .gradle .terraform .next .nuxt .svelte-kit .parcel-cache .turbo .yarn .pnpm-store",
    ".dart_tool .bundle .cache",
)
"""Folder names that only tools use, for downloads, caches and private data."""

UNTRACKED_SKIPPED_FOLDERS = words(
    "vendor third_party thirdparty Pods Carthage htmlcov DerivedData virtualenv",
)
"""Folder names that people use too. They are skipped unless git tracks a file inside."""

OUTPUT_FOLDERS = frozenset({"dist", "build", "target", "out", "_build", "coverage"})
"""Folder names that build tools write to, but people also use for source (`video/out/` in mpv, `build/` in
many). In a git repository they are skipped unless git tracks a file inside. Outside of a repository they are
skipped only next to a file of `BUILD_FILES`, where build tools create them."""

BUILD_FILES = words(
    "package.json pyproject.toml setup.py setup.cfg Cargo.toml pom.xml build.gradle build.gradle.kts",
    "build.sbt build.xml CMakeLists.txt meson.build Makefile makefile GNUmakefile dune-project mix.exs",
    "rebar.config composer.json pubspec.yaml tsconfig.json conf.py",
)


class ScanSettings(Struct, frozen=True):
    """Settings for what is left out of the tree.

    `max_file_bytes`: the content of larger files isn't indexed; nearly all written source is below 1 MiB.
    `exclude`: patterns in gitignore syntax, relative to the root, which nothing can re-include.
    `skip_folders` and `skip_untracked_folders`: names of vendored and generated folders, see the defaults.
    """

    max_file_bytes: int = 1 << 20
    exclude: tuple[str, ...] = ()
    skip_folders: frozenset[str] = ALWAYS_SKIPPED_FOLDERS
    skip_untracked_folders: frozenset[str] = UNTRACKED_SKIPPED_FOLDERS
