"""Resolves focus paths, node ids and the words of a prompt to files and definitions."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct

from ..index.store import Reader
from ..languages.shared.language import language_of
from ..privacy.policy import NO_POLICY, Policy
from ..project.globs import compile_glob
from ..project.tree import Layout, Tree

Role = Literal["focus", "expansion", "session_set", "document"]

FOCUS_MAX = 400
"""Maximum number of nodes in focus; no budget shows more, and gaps name the rest."""

FOLDER_MAX = 100
"""Maximum number of files taken from one folder or glob."""

GLOBS_MAX = 50
"""Maximum number of globs that are matched for one scope: each is held against every file (30 ms for
100,000)."""

HINTS_MAX = 5
MENTIONS_MAX = 5
"""Maximum number of definitions or files shown because a prompt names them."""

NAMESAKES_MAX = 3
"""A name that more files or definitions bear says too little."""

IDENTIFIERS_MAX = 200
"""Maximum number of different identifiers of a prompt that are looked up; pasted code has thousands."""

WORDS_MAX = 64

PROMPT_CHARACTERS = 20_000
"""Of a longer prompt the beginning and the end are read for what it names, half of this each."""

_GLOB = re.compile(r"[*?\[{]")
_PATH = re.compile(r"(?<![\w.@+-])(?:[\w.@+-]++(?:/[\w.@+-]++)+|[\w-]++\.[A-Za-z]\w{0,5}\b)")
_IDENTIFIER = re.compile(
    r"`([A-Za-z_][\w.]*)`|\b([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\w*[a-z0-9][A-Z]\w*|[A-Za-z]\w*_\w+)\b|\b([A-Za-z_]\w*)\("
)
_WORD = re.compile(r"[A-Z]{3,}(?![a-z])|[A-Za-z][a-z]{2,}")

_COMMON = """
the and for are was were what which who how why when where does did can could should would this that with
from into have has had not but all any our your their its about there here then than use uses used using
work works make makes made get gets set sets let please need needs want add fix show find explain code file
files function functions class classes method methods
"""
_STOP_WORDS = frozenset(_COMMON.split())


class FocusNode(Struct, frozen=True):
    """One node in focus: a file, or with `symbol` a definition in it. `source` says why it is there."""

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
    """Turn paths, folders, globs and node ids into nodes, in the order given; also the gaps, in words.

    What a policy denies is reported in the gaps by its rule, whether there is such a file or not.

    Blocks: what the tree doesn't know is looked for on the disk.
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


def split_node_id(files: Container[str], node_id: str) -> tuple[str, str]:
    """Split a node id into path and name at the mark that follows a file; at the first mark if none does.

    The names of files and of sections may hold the mark too: `c#/a.md#C# in short`.
    """
    if node_id in files:
        return node_id, ""
    mark = node_id.find("#")
    while mark >= 0:
        if node_id[:mark] in files:
            return node_id[:mark], node_id[mark + 1 :]
        mark = node_id.find("#", mark + 1)
    path, _, name = node_id.partition("#")
    return path, name


def mentioned(tree: Tree, reader: Reader, prompt: str) -> list[FocusNode]:
    """Return the files and definitions that a prompt names outright, at most `MENTIONS_MAX`.

    A path counts when it or the end of it is a file of the project, a bare file name when at most
    `NAMESAKES_MAX` files bear it, an identifier when it looks like one (`snake_case`, `camelCase`, `a.b`, a
    call, or in backticks) and at most as many definitions bear it.
    """
    text = _ends_of(prompt)
    found: dict[str, FocusNode] = {}
    for path in _named_files(tree, text):
        found.setdefault(path, FocusNode(path, "", "document", "named in the prompt"))
    names = dict.fromkeys(next(filter(None, match.groups())) for match in _IDENTIFIER.finditer(text))
    for name in islice(names, IDENTIFIERS_MAX):
        if len(found) >= MENTIONS_MAX:
            break
        definitions = reader.definitions_named(name, limit=NAMESAKES_MAX + 1)
        if len(definitions) > NAMESAKES_MAX:
            continue
        for path, symbol in definitions:
            node = FocusNode(path, symbol.name, "document", f"`{name}` in the prompt")
            found.setdefault(node.node_id, node)
    return list(found.values())[:MENTIONS_MAX]


def prompt_words(prompt: str) -> frozenset[str]:
    """Return the telling words of a prompt in lower case, without a plural's s, at most `WORDS_MAX`."""
    words = (match.group().lower() for match in _WORD.finditer(_ends_of(prompt)))
    telling = dict.fromkeys(_singular(word) for word in words if word not in _STOP_WORDS)
    return frozenset(islice(telling, WORDS_MAX))


def folder_files(layout: Layout, folder: str) -> Iterator[str]:
    """Yield the files below a folder, those right in it first, then folder by folder."""
    queue = [folder]
    for path in queue:
        found = layout.folders[path]
        prefix = f"{path}/" if path else ""
        yield from (prefix + name for name in found.files)
        queue.extend(prefix + name for name in found.folders)


def package_files(layout: Layout, target: str) -> Iterator[str]:
    """Yield the files that an import of a file brings in: in Go the whole package without its tests."""
    yield target
    if target.endswith(".go"):
        folder = target.rpartition("/")[0]
        # The index may already know a folder that this tree doesn't.
        for name in layout.folders[folder].files if folder in layout.folders else ():
            path = f"{folder}/{name}" if folder else name
            if name.endswith(".go") and not name.endswith("_test.go") and path != target:
                yield path


class _Resolution:
    """The nodes found so far, by id, and what has to be said of the paths that they came from."""

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
        """Add what a path, folder, glob or node id means."""
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
        """Yield what is to be said of the paths that mean nothing, with a file of the same name if any.

        Those that are denied are counted: where a symlink was named the name of its target isn't to be told.
        """
        if self._denied:
            count = "a focus path is" if len(self._denied) == 1 else f"{len(self._denied):,} focus paths are"
            yield f"{count} not shown: {self._policy.why_hidden(self._denied[0])}"
        for item in self._missing[:HINTS_MAX]:
            name = item.partition("#")[0].rpartition("/")[2]
            files = self._tree.files
            near = next((path for path in files if path.rpartition("/")[2] == name), "") if name else ""
            hint = f"; there is {near}" if near else ""
            yield f"focus path {item!r:.300} doesn't exist in the project{hint}"
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
            self.gaps.append(f"focus path {given!r:.300} is no glob that can be used: {error}")
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
        """Whether a path is a file that the tree doesn't know: ignored by git, or new."""
        return bool(path) and os.path.isfile(os.path.join(self._tree.root, path))


def _named_files(tree: Tree, text: str) -> Iterator[str]:
    """Yield the files that a text names by path, by the end of an absolute path, or by a rare name."""
    names: dict[str, list[str]] = {}
    for match in _PATH.finditer(text):
        path = match.group().rstrip(".")  # a sentence may end here
        while path and path not in tree.files:
            path = path.partition("/")[2]
        if path:
            yield path
        elif "/" not in match.group() and language_of(match.group()):
            names[match.group()] = []
    if not names:
        return
    for path in tree.files:
        bearers = names.get(path.rpartition("/")[2])
        if bearers is not None:
            bearers.append(path)
    for bearers in names.values():
        if len(bearers) <= NAMESAKES_MAX:
            yield from bearers


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word


def _ends_of(prompt: str) -> str:
    if len(prompt) <= PROMPT_CHARACTERS:
        return prompt
    half = PROMPT_CHARACTERS // 2
    return f"{prompt[:half]}\n{prompt[-half:]}"
