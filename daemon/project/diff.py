"""What differs between two states of a repository: the texts of source files before and after.

The work tree is compared without git, by the ids of blobs, because git would run the repository's filters.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidRequest, NotFound
from ..core.system import System
from ..languages.shared.language import language_of
from ..languages.shared.notebook import is_notebook, read_limit, source_of
from ..privacy.policy import Policy
from .commits import COMPARED_BYTES, blob_of
from .content import ContentReader, decode
from .git import GitError, entries_of, output_of, problem, unreadable
from .tree import Tree

FILES_MAX: Final = 300
"""Maximum number of changed files whose texts are read; a diff of more is a merge or a reformatting."""

BYTES_AT_ONCE: Final = 16 * 1024 * 1024
"""Maximum bytes of blobs read with one process of git, whose output is bounded, and of a file."""

SPAN_CHARACTERS: Final = 400


class ChangedFile(NamedTuple):
    """A source file with its text before and after; "" if there is none, or it isn't text."""

    path: str
    before: str
    after: str


class Diff(Struct, frozen=True):
    """The changed source files of a span, by path. `before` and `after` name its ends; `more` counts changed
    files whose texts weren't read."""

    before: str
    after: str
    files: tuple[ChangedFile, ...]
    more: int = 0


WORK_TREE: Final = "work tree"


def read_diff(span: str, tree: Tree, policy: Policy, max_bytes: int, system: System) -> Diff:
    """Return what a span changes: "" is the work tree against HEAD, `A` against the commit A, `A..B` is B
    against A, and `A...B` is B against the commit where both parted.

    Only files of the tree count, and those that no longer exist, but not symlinks and files of submodules.
    Files of more than `max_bytes` on either side aren't read, nor those whose path isn't UTF-8. Blocks: it
    hashes the project's sources, some 25,000 a second. Raises `NotFound` if git can't tell, and
    `InvalidRequest` for a span that it doesn't know.
    """
    try:
        return _read(span, tree, policy, max_bytes, system)
    except GitError as error:
        raise NotFound(f"git can't tell what changed in {tree.root}: {error}") from error


def _read(span: str, tree: Tree, policy: Policy, max_bytes: int, system: System) -> Diff:
    root, paths = tree.root, tree.files
    max_bytes = min(max_bytes, BYTES_AT_ONCE)
    # Unmasked, so that a secret doesn't hide what changed; only heads of definitions are shown of it.
    contents = ContentReader(root, system, max_bytes, {}, replace(policy, mask_values=False))
    if why := problem(root):
        raise GitError(why)
    start, end = _ends(span, root)
    before, links = _blobs(root, start) if start else ({}, set())
    if end:
        after, others = _blobs(root, end)
        links |= others
    else:
        after = _on_disk(root, paths, before, system)
    elsewhere = _Elsewhere(root, links, on_disk=not end)
    changed = sorted(
        path
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
        and language_of(path)
        and not policy.hides(path)
        and (path in paths or not os.path.lexists(os.path.join(root, path)))
        and not elsewhere.holds(path, is_new=path not in before)
    )
    named = [path for path in changed if path.isascii() or _is_utf8(path)]
    # What is new breaks nothing, so it is the first to be left out.
    chosen = sorted(sorted(named, key=lambda path: path not in before)[:FILES_MAX])
    blobs = {
        path: [side[path] for side in (before, after) if side.get(path, "new") != "new"] for path in chosen
    }
    sizes = _sizes(root, [blob for each in blobs.values() for blob in each])
    chosen = [
        path
        for path in chosen
        if all(sizes.get(blob, 0) <= min(read_limit(path, max_bytes), BYTES_AT_ONCE) for blob in blobs[path])
        and (end or path not in after or not contents.read(path).cut)
    ]
    texts = _texts(root, {blob: sizes[blob] for path in chosen for blob in blobs[path] if blob in sizes})
    files = tuple(
        ChangedFile(
            path,
            _source(path, texts.get(before.get(path, ""), "")),
            (_source(path, texts.get(after.get(path, ""), "")) if end else contents.read(path).text),
        )
        for path in chosen
    )
    first, dots, last = _parted(span)
    names = (first if dots != "..." else f"{first}...", last if end else WORK_TREE)
    return Diff(*names, files, len(changed) - len(chosen))


def _source(path: str, text: str) -> str:
    return decode(source_of(path, text.encode("utf-8", "replace"))) if is_notebook(path) else text


def _parted(span: str) -> tuple[str, str, str]:
    """Return the two ends of a span as written, HEAD for a missing one, and the dots between them."""
    dots = "..." if "..." in span else ".." if ".." in span else ""
    first, _, last = span.partition(dots) if dots else (span, "", "")
    return first.strip() or "HEAD", dots, last.strip() or "HEAD"


def _ends(span: str, root: str) -> tuple[str, str]:
    """Return the commits of a span; the second is "" for the work tree, the first before any commit."""
    if len(span) > SPAN_CHARACTERS or not span.isprintable():
        raise InvalidRequest(f"range is no name of a commit: {span!r:.80}", "range")
    first, dots, last = _parted(span)
    try:
        start = _commit(root, first)
    except InvalidRequest:
        if span:
            raise
        return "", ""  # everything is new before the first commit
    if not dots:
        return start, ""
    end = _commit(root, last)
    if dots == "...":
        start = output_of(root, ["merge-base", start, end]).decode("ascii", "replace").strip()
    return start, end


def _commit(root: str, name: str) -> str:
    if not name.startswith("-"):
        found = output_of(
            root, ["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], statuses=(0, 1, 128)
        )
        commit = found.decode("ascii", "replace").strip()
        if commit:
            return commit
    raise InvalidRequest(
        f"range: git knows no commit {name!r:.80}; give a commit, a branch or a range such as main..HEAD",
        "range",
    )


def _blobs(root: str, commit: str) -> tuple[dict[str, str], set[str]]:
    """Return the ids of a commit's files by path, and the paths of its symlinks and submodules."""
    found, links = {}, set()
    for entry in entries_of(root, ["ls-tree", "-r", "-z", commit]):
        about, tab, path = entry.partition(b"\t")
        mode, _, rest = about.partition(b" ")
        if not tab:
            raise unreadable()
        if mode.startswith(b"100"):
            found[os.fsdecode(path)] = rest.rpartition(b" ")[2].decode("ascii", "replace")
        else:
            links.add(os.fsdecode(path))
    return found, links


class _Elsewhere:
    """Tells paths that aren't the repository's own: symlinks, and files of submodules."""

    def __init__(self, root: str, links: Collection[str], *, on_disk: bool) -> None:
        self._root = root
        self._links = links
        self._on_disk = on_disk
        self._folders = {"": False}

    def holds(self, path: str, *, is_new: bool) -> bool:
        """Whether a path is a symlink, or a new file below a submodule; one that was the repository's before
        still is."""
        if path in self._links or (self._on_disk and os.path.islink(os.path.join(self._root, path))):
            return True
        return is_new and self._is_below(os.path.dirname(path))

    def _is_below(self, folder: str) -> bool:
        known = self._folders.get(folder)
        if known is None:
            full = os.path.join(self._root, folder)
            known = folder in self._links or self._is_below(os.path.dirname(folder))
            if not known and self._on_disk:
                known = os.path.islink(full) or os.path.lexists(os.path.join(full, ".git"))
            self._folders[folder] = known
        return known


def _is_utf8(path: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in path)


def _on_disk(root: str, paths: Collection[str], before: Mapping[str, str], system: System) -> dict[str, str]:
    """Return what the work tree has for the files of a commit and for new ones: the id of the blob before if
    the file is the same, "new" if it isn't. Files that a sparse checkout leaves out are the same."""
    found = {}
    for path in paths:
        if language_of(path):
            blob = before.get(path, "")
            found[path] = blob if blob and _is_same(os.path.join(root, path), blob, system) else "new"
    missing = [path for path in before if path not in found]
    if missing and any(not os.path.lexists(os.path.join(root, path)) for path in missing):
        listed = entries_of(root, ["ls-files", "-z", "-t", "--cached"])
        left_out = {os.fsdecode(entry[2:]) for entry in listed if entry.startswith(b"S ")}
        found |= {path: before[path] for path in missing if path in left_out}
    return found


def _is_same(path: str, blob: str, system: System) -> bool:
    """Whether a file has the content of a blob, with whichever ends of lines it was checked out."""
    try:
        data, _ = system.read(path, COMPARED_BYTES)
    except OSError:
        return False
    if blob_of(data, len(blob)) == blob:
        return True
    return b"\r\n" in data and blob_of(data.replace(b"\r\n", b"\n"), len(blob)) == blob


def _sizes(root: str, blobs: Sequence[str]) -> dict[str, int]:
    """Return the sizes of blobs in bytes by id, without those that a partial clone doesn't have."""
    asked = list(dict.fromkeys(blobs))
    if not asked:
        return {}
    lines = output_of(root, ["cat-file", "--batch-check"], _asked(asked)).splitlines()
    if len(lines) != len(asked):
        raise unreadable()
    return {
        blob: size for blob, line in zip(asked, lines, strict=True) if (size := _size_in(line)) is not None
    }


def _texts(root: str, sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the texts of blobs of these sizes by id; "" for a binary one."""
    found: dict[str, str] = {}
    batches: list[list[str]] = []
    room = 0
    for blob, size in sizes.items():
        if size > room or not batches:
            batches.append([])
            room = BYTES_AT_ONCE
        batches[-1].append(blob)
        room -= size
    for batch in batches:
        output = output_of(root, ["cat-file", "--batch"], _asked(batch))
        at = 0
        for blob in batch:
            line, _, _ = output[at : at + 200].partition(b"\n")
            at += len(line) + 1
            if _size_in(line) is None:
                continue
            data = output[at : at + sizes[blob]]
            at += len(data) + 1
            found[blob] = "" if b"\0" in data[:8_000] else decode(data)
    return found


def _asked(blobs: Sequence[str]) -> bytes:
    return "".join(f"{blob}\n" for blob in blobs).encode("ascii")


def _size_in(line: bytes) -> int | None:
    """Return the size that `cat-file` says of an object, None if it is missing."""
    words = line.split()
    if len(words) == 3 and words[2].isdigit():
        return int(words[2])
    if words[1:] != [b"missing"]:
        raise unreadable()
    return None
