"""Information about single commits from git: their files, and which were made here, reverted or lost."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct, field

from ..core.system import System
from .git import entries_of, git_folder, log_of, output_of, unreadable

COMMITS_MAX = 200
"""Maximum number of the latest commits that are searched for the commit of a decision."""

REFLOG_BYTES = 256 * 1024
"""Maximum number of bytes read from the end of HEAD's log, some two thousand entries."""

COMPARED_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a file that is compared with its content in a commit."""

MERGES_MAX = 100
"""Maximum number of reverts, the latest, of which the merged commits are looked up: a process of git each."""

MERGED_MAX = 1_000
"""Maximum number of commits that a reverted merge takes with it, the latest."""

UNKNOWN = 128
"""The status of git for a commit that it doesn't have."""

_BODIES = 500
_REVERTED = re.compile(r"This reverts commit ([0-9a-f]{40,64})")
_MERGE_REVERTED = re.compile(
    r"This reverts commit ([0-9a-f]{40,64}), reversing\s+changes made to ([0-9a-f]{40,64})"
)
_QUOTED = re.compile(r'(Revert|Reapply) "(.+)"(?: \(#\d+\))?')
_FORM = "%H%x02%P%x02%ct%x02%at %ae"
_HEAD = re.compile(r"([0-9a-f]{40,64})\x02([0-9a-f ]*)\x02([0-9]{1,12})\x02(.*)", re.DOTALL)
_MADE = re.compile(rb"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t\n]*\t(?:commit|revert)\b", re.MULTILINE)


class Commit(Struct, frozen=True):
    """A commit: its full id, the ids of its parents, its commit time (Unix seconds), and its files.

    `author` is the author with the time of writing, which don't change when a commit is amended or rebased. A
    merge has no files.
    """

    id: str
    parents: tuple[str, ...]
    time: int
    author: str
    files: tuple[str, ...]


class Reverts(Struct, frozen=True):
    """The ids of reverted commits, of those whose revert was reverted too, and by each reverting commit what
    it reverts."""

    undone: frozenset[str]
    restored: frozenset[str]
    by: Mapping[str, frozenset[str]] = field(default_factory=dict)


def latest_commits(root: str, count: int = COMMITS_MAX) -> tuple[Commit, ...]:
    """Return the latest commits reachable from HEAD, the latest first; none if there is no commit yet.

    Raises `GitError`.
    """
    return tuple(_commits(root, [f"--max-count={count}", "HEAD"]))


def reverts(root: str, commits: int = _BODIES) -> Reverts:
    """Return which commits the latest commits reverted: those that the message names, as `git revert` writes
    it, with all that a reverted merge brought; else the latest earlier one of the subject that the message
    quotes, as the web pages of code hosts write it. Raises `GitError`."""
    by: dict[str, frozenset[str]] = {}
    undone, quoted = set[str](), dict[str, str]()
    # The latest commits come first, so a revert that was itself reverted can be ignored.
    for text, _ in log_of(root, "%H%x02%s%x02%b", f"--max-count={commits}", "HEAD", names=False):
        commit, subject, body = text.split("\x02", 2)
        if (reverting := quoted.pop(subject, "")) and commit not in by[reverting]:
            by[reverting] = frozenset([commit])
            if reverting not in undone:
                undone.add(commit)
        found = frozenset(_REVERTED.findall(body))
        merges = len(by) < MERGES_MAX and _MERGE_REVERTED.findall(body)
        for merge, base in merges or ():
            found |= _brought_by(root, merge, base)
        if found:
            by[commit] = found
            if commit not in undone:
                undone |= found
        elif quote := _QUOTED.fullmatch(subject):
            by[commit] = found
            again, title = quote.groups()
            quoted[f'Revert "{title}"' if again == "Reapply" else title] = commit
    return Reverts(frozenset(undone), frozenset().union(*by.values()) - undone, by)


def _brought_by(root: str, merge: str, base: str) -> frozenset[str]:
    """Return a merge and what it brought into `base`, a parent of it; none if the message that says so isn't
    true: it would undo the whole history."""
    command = ["rev-list", "--parents", f"--max-count={MERGED_MAX}", merge, f"^{base}", "--"]
    lines = output_of(root, command, statuses=(0, UNKNOWN)).decode("ascii", "replace").splitlines()
    parents = lines[0].split()[1:] if lines else []
    return frozenset(line.split()[0] for line in lines if len(parents) > 1 and base in parents)


def named_commits(root: str, ids: Collection[str]) -> tuple[Commit, ...]:
    """Return the given commits, without those that git doesn't have. Raises `GitError`."""
    whole = [name for name in ids if re.fullmatch(r"[0-9a-f]{40,64}", name)]
    return tuple(_commits(root, ["--ignore-missing", "--no-walk=unsorted", *whole])) if whole else ()


def have_same_files(root: str, one: str, other: str, paths: Collection[str]) -> bool:
    """Whether files have the same content in two commits. Raises `GitError`."""
    return _blobs(root, one, paths) == _blobs(root, other, paths)


def lost_commits(root: str, ids: Collection[str]) -> tuple[Commit, ...]:
    """Return the given commits that no branch, tag or HEAD reaches any more, such as those before a reset.

    Commits that git has deleted since are left out. Raises `GitError`.
    """
    whole = [name for name in ids if re.fullmatch(r"[0-9a-f]{40,64}", name)]
    if not whole:
        return ()
    listed = output_of(root, ["rev-list", "--ignore-missing", *whole, "--not", "--all", "--"])
    lost = set(listed.decode("ascii", "replace").split()).intersection(whole)
    if not lost:
        return ()
    return named_commits(root, sorted(lost))


def reached_from_head(root: str, ids: Collection[str]) -> frozenset[str]:
    """Return which of the given commits are checked out, as HEAD or before it.

    Ids may be short; a commit that git doesn't have isn't checked out. Two processes of git, whatever the
    number. Raises `GitError`.
    """
    asked = [name for name in ids if re.fullmatch(r"[0-9a-f]{7,64}", name)]
    if not asked:
        return frozenset()
    lines = output_of(root, ["cat-file", "--batch-check"], "\n".join([*asked, ""]).encode()).splitlines()
    told = (line.decode("ascii", "replace").split() for line in lines)
    whole = {name: about[0] for name, about in zip(asked, told, strict=True) if about[1] == "commit"}
    given = "\n".join([*dict.fromkeys(whole.values()), "^HEAD", ""]).encode()
    beyond = set(output_of(root, ["rev-list", "--stdin"], given).decode("ascii", "replace").split())
    return frozenset(name for name, commit in whole.items() if commit not in beyond)


def made_here(root: str, system: System) -> Collection[str]:
    """Return the commits that were made in this work tree, not fetched, the latest last: the log of HEAD has
    them.

    Empty if git keeps no such log. Doesn't run git.
    """
    folder = git_folder(root, system)
    if folder is None:
        return ()
    try:
        with open(os.path.join(folder, "logs", "HEAD"), "rb", opener=_open_file) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - REFLOG_BYTES))
            data = file.read(REFLOG_BYTES)
    except OSError as error:
        system.deny(error)
        return ()
    return dict.fromkeys(name.decode() for name in _MADE.findall(data))


def is_as_before(root: str, system: System, commit: Commit, paths: Collection[str]) -> bool:
    """Whether files on the disk have exactly the content that they had before a commit. Raises `GitError`."""
    return not changed_since(root, system, commit.parents[0] if commit.parents else "", paths)


def changed_since(root: str, system: System, commit: str, paths: Collection[str]) -> frozenset[str]:
    """Return which files on the disk differ from a commit, of "" all that exist. Raises `GitError`."""
    then = _blobs(root, commit, paths) if commit else {}
    digits = len(commit) or 40
    return frozenset(
        path for path in paths if _blob_id(os.path.join(root, path), digits, system) != then.get(path)
    )


def _blobs(root: str, commit: str, paths: Collection[str]) -> dict[str, str]:
    """Return the blob ids of files in a commit, by path, without files that the commit doesn't have."""
    if not paths:
        return {}
    listed = entries_of(root, ["ls-tree", "-z", commit, "--", *sorted(paths)])
    parts = (entry.partition(b"\t") for entry in listed)
    return {
        os.fsdecode(path): about.decode("ascii", "replace").rpartition(" ")[2] for about, _, path in parts
    }


def _commits(root: str, what: list[str]) -> Iterator[Commit]:
    for text, files in log_of(root, _FORM, "--diff-merges=off", *what):
        found = _HEAD.fullmatch(text)
        if found is None:
            raise unreadable()
        name, parents, time, author = found.groups()
        yield Commit(name, tuple(parents.split()), int(time), author, tuple(files))


def _blob_id(path: str, digits: int, system: System) -> str | None:
    """Return the blob id that git would give a file's current content, None if there is no file."""
    try:
        if os.path.islink(path):
            data = os.fsencode(os.readlink(path))
        else:
            data, status = system.read(path, COMPARED_BYTES)
            if status.st_size > COMPARED_BYTES:
                return ""
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ""  # it exists, but can't be read: equal to no blob
    return blob_of(data, digits)


def blob_of(data: bytes, digits: int) -> str:
    """Return the blob id of a content, in a repository whose ids have 40 or 64 digits."""
    digest = hashlib.sha256 if digits == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data).hexdigest()


def _open_file(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
