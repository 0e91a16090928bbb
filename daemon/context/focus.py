"""Resolves focus paths and node ids to files and definitions, and takes the words of a prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct

from ..core.globs import compile_glob
from ..privacy.policy import NO_POLICY, Policy
from ..project.service import Layout, Tree, split_node_id

Role = Literal["focus", "expansion", "session_set", "document"]

FOCUS_MAX = 400
"""Maximum number of nodes in focus; a gap counts the rest."""

FOLDER_MAX = 100
"""Maximum number of files taken from one folder or glob."""

GLOBS_MAX = 50
"""Maximum number of globs in the focus of a scope; matching one takes 30 ms in 100,000 files."""

HINTS_MAX = 5
"""Maximum number of missing focus paths that are named."""

WORDS_MAX = 64
"""Maximum number of words taken from a prompt."""

PROMPT_CHARACTERS = 20_000
"""Maximum characters of a prompt that are analysed: half from its beginning, half from its end."""

HOW_TO_NAME = "name a file by its path from the root, a definition as path#Name"

_LINES = re.compile(r":\d+(?:[-:]\d+)?$")
"""Lines behind a path, as tracebacks and compilers write them."""

_GLOB = re.compile(r"[*?\[{]")
_WORD = re.compile(r"[A-Z]{3,}(?![a-z])|[A-Za-z][a-z]{2,}")

_COMMON = """
the and for are was were what which who how why when where does did can could should would this that with
from into have has had not but all any our your their its about there here then than use uses used using
work works make makes made get gets set sets let please need needs want add fix show find explain code file
files function functions class classes method methods
"""
_STOP_WORDS = frozenset(_COMMON.split())


class FocusNode(Struct, frozen=True):
    """A node in focus: a file, or a definition in it if `symbol` is set. `source` says why it is there."""

    path: str
    symbol: str
    role: Role
    source: str

    @property
    def node_id(self) -> str:
        """The node id: `path` or `path#symbol`."""
        return f"{self.path}#{self.symbol}" if self.symbol else self.path


def resolve_paths(
    tree: Tree, given: Sequence[str], role: Role, policy: Policy = NO_POLICY
) -> tuple[list[FocusNode], list[str]]:
    """Resolve paths, folders, globs and node ids to nodes in the order given; return them with gaps in words.

    Paths that the policy denies are reported with its rule, whether they exist or not.

    Blocks: paths that aren't in the tree are looked up on the disk.
    """
    resolution = _Resolution(tree, role, policy)
    unique = list(dict.fromkeys(given))
    for position, item in enumerate(unique):
        if len(resolution.found) >= FOCUS_MAX:
            resolution.gaps.append(
                f"{len(unique) - position:,} of {len(unique):,} focus paths are left out:"
                f" at most {FOCUS_MAX} nodes"
            )
            break
        resolution.add(item)
    return list(resolution.found.values()), [*resolution.gaps, *resolution.missing_gaps()]


def prompt_words(prompt: str) -> frozenset[str]:
    """Return the words of a prompt without stop words, in lower case and singular, at most `WORDS_MAX`."""
    words = (match.group().lower() for match in _WORD.finditer(_ends_of(prompt)))
    telling = dict.fromkeys(
        word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
        for word in words
        if word not in _STOP_WORDS
    )
    return frozenset(islice(telling, WORDS_MAX))


def folder_files(layout: Layout, folder: str) -> Iterator[str]:
    """Yield the files below a folder, breadth first."""
    queue = [folder]
    for path in queue:
        found = layout.folders[path]
        prefix = f"{path}/" if path else ""
        yield from (prefix + name for name in found.files)
        queue.extend(prefix + name for name in found.folders)


def package_files(layout: Layout, target: str) -> Iterator[str]:
    """Yield the files that an import of a file includes: in Go the whole package without its tests."""
    yield target
    if target.endswith(".go"):
        folder = target.rpartition("/")[0]
        # The index may be newer than this tree and know more folders.
        for name in layout.folders[folder].files if folder in layout.folders else ():
            path = f"{folder}/{name}" if folder else name
            if name.endswith(".go") and not name.endswith("_test.go") and path != target:
                yield path


class _Resolution:
    """The nodes found so far, by id, with the gaps about paths that could not be resolved."""

    def __init__(self, tree: Tree, role: Role, policy: Policy) -> None:
        self._tree = tree
        self._role = role
        self._policy = policy
        self._missing: list[str] = []
        self._denied: list[str] = []
        self._globs = 0
        self.found: dict[str, FocusNode] = {}
        self.gaps: list[str] = []

    def add(self, given: str) -> None:
        """Add the nodes of a path, folder, glob or node id."""
        path, name = split_node_id(self._tree.files, given)
        if self._policy.denies(path) or self._policy.denies(given):
            self._denied.append(given if self._policy.denies(given) else path)
            return
        folder = "" if given == "." else given.strip("/")
        if given in self._tree.files or self._on_disk(given):
            self._put(given, "", "asked for")
        elif name and (path in self._tree.files or self._on_disk(path)):
            self._put(path, name, "asked for")
        elif folder in self._tree.layout.folders:
            total = self._tree.layout.folders[folder].total
            paths = folder_files(self._tree.layout, folder)
            self._put_many(given, list(islice(paths, FOLDER_MAX)), total, f"in folder {folder or '.'}")
        elif _GLOB.search(given):
            self._add_glob(given)
        else:
            self._missing.append(given)

    def missing_gaps(self) -> Iterator[str]:
        """Yield the gaps about missing paths, each with an existing file of the same name if there is one.

        Denied paths are only counted, since naming one could reveal the target of a symlink.
        """
        if self._denied:
            count = "a focus path is" if len(self._denied) == 1 else f"{len(self._denied):,} focus paths are"
            yield f"{count} not shown: {self._policy.why_hidden(self._denied[0])}"
        for item in self._missing[:HINTS_MAX]:
            name = _LINES.sub("", item.partition("#")[0].rpartition("/")[2])
            files = self._tree.files
            same = (path for path in files if path.rpartition("/")[2] == name)
            near = next((path for path in same if not self._policy.denies(path)), "") if name else ""
            hint = f"there is {near}" if near else HOW_TO_NAME
            if _GLOB.search(item) and not near:
                yield f"focus path {item!r:.300} matches no file of the project"
            else:
                yield f"focus path {item!r:.300} doesn't exist in the project; {hint}"
        if len(self._missing) > HINTS_MAX:
            yield f"{len(self._missing) - HINTS_MAX:,} more focus paths don't exist in the project"

    def _add_glob(self, given: str) -> None:
        self._globs += 1
        if self._globs > GLOBS_MAX:
            if self._globs == GLOBS_MAX + 1:
                self.gaps.append(f"the globs from {given!r:.300} on are left out: at most {GLOBS_MAX}")
            return
        try:
            glob = compile_glob(given)
        except ValueError as error:
            self.gaps.append(f"focus path {given!r:.300} is not a valid glob: {error}")
            return
        paths = [path for path in self._tree.files if glob.matches(path)]
        if paths:
            self._put_many(given, paths[:FOLDER_MAX], len(paths), f"matches {given}")
        else:
            self._missing.append(given)

    def _put_many(self, given: str, paths: Sequence[str], total: int, source: str) -> None:
        taken = 0
        for path in paths:
            if path in self.found or len(self.found) < FOCUS_MAX:
                self._put(path, "", source)
                taken += 1
        if taken < total:
            self.gaps.append(
                f"focus path {given!r:.300} has {total - taken:,} more files than are taken; name fewer"
            )
        elif not total:
            self.gaps.append(f"focus path {given!r:.300} is a folder without files")

    def _put(self, path: str, name: str, source: str) -> None:
        node = FocusNode(path, name, self._role, source)
        self.found.setdefault(node.node_id, node)

    def _on_disk(self, path: str) -> bool:
        """Whether a path is an existing file outside of the tree: a new one, or one ignored by git."""
        return bool(path) and os.path.isfile(os.path.join(self._tree.root, path))


def _ends_of(prompt: str) -> str:
    if len(prompt) <= PROMPT_CHARACTERS:
        return prompt
    half = PROMPT_CHARACTERS // 2
    return f"{prompt[:half]}\n{prompt[-half:]}"
