"""Runs git, and reads its files in `.git`. Never lets a repository's config run a program."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec import Struct

from ..core.errors import FovealError
from ..core.system import System

LONGEST_S = 30.0
"""Maximum seconds of one question, after which git counts as hanging, such as on a pipe named .gitignore or a
dead drive."""

PAUSE_S = 60.0
"""Seconds for which git isn't asked again in a work tree after it didn't answer there."""

CHUNK_BYTES = 65_536
"""Maximum bytes written or read at a time."""

OUTPUT_BYTES = 64 * 1024 * 1024
"""Maximum bytes of an answer: some seven hundred thousand paths."""

NO_REPOSITORY = "not a git repository"

MESSAGE_CHARACTERS = 2_000
"""Maximum characters of a commit's message that are kept."""

LARGE_COMMIT_FILES = 200
"""Maximum files of a commit that counts as a change of each: larger ones (a merge, a reformatting, an import
of a library) say nothing about a single file."""

_SAFE_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "core.untrackedCache=false",
    "diff.external=",
    "log.showSignature=false",
    "log.follow=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
)
"""Settings with which a repository could start a program or reach the network; `-c` overrides its config."""

SUBJECT_CHARACTERS = 120
"""Maximum number of characters read of a commit's subject; git's own advice is 50 to 72."""


class GitError(FovealError):
    """Git is missing, rejected the repository, failed, hung, or printed what isn't git's. The message is
    git's own, if it had one."""


class Head(Struct, frozen=True):
    """What is checked out: a branch's short name, or "" when detached, and a commit id, or "" when unborn."""

    branch: str
    commit: str


def is_repository(root: str) -> bool:
    """Whether git accepts `root` itself (not a parent of it) as a work tree; `problem` says why not."""
    return not problem(root)


def problem(root: str) -> str:
    """Return why git can't be used for `root`, or "" if it can."""
    if not os.path.lexists(os.path.join(root, ".git")):
        return NO_REPOSITORY
    try:
        inside = output_of(root, ["rev-parse", "--is-inside-work-tree"])
    except GitError as error:
        return str(error)
    return "" if inside.strip() == b"true" else "a git folder without a work tree"


def tracked_files(root: str) -> list[str]:
    """Return the path of every file in the index, relative to `root`, as git sorts them.

    A submodule is one path. A name that isn't UTF-8 comes as `os.fsdecode` has it. Raises `GitError`.
    """
    return _paths(root, ["ls-files", "-z", "--cached", "--deduplicate"])


def tracked_ignored_files(root: str) -> list[str]:
    """Return the path of every tracked file that an ignore rule matches."""
    return _paths(root, ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--deduplicate"])


def ignored(root: str, paths: Collection[str]) -> set[str]:
    """Return the paths (files or folders relative to the root) that git's rules ignore, even if tracked.

    Everything below an ignored folder is ignored. Raises `GitError`, also for a path below a symlink.
    """
    # "./" keeps a name that begins with a colon from being read as pathspec magic.
    asked = b"".join(b"./%s\0" % os.fsencode(path) for path in paths)
    command = ["check-ignore", "--no-index", "--stdin", "-z", "-v"]
    fields = entries_of(root, command, asked, statuses=(0, 1))  # 1: none is ignored
    matches = zip(fields[2::4], fields[3::4], strict=False)
    found = {os.fsdecode(path[2:]) for pattern, path in matches if not pattern.startswith(b"!")}
    if not found.issubset(paths):
        raise unreadable()
    return found


def ignoring_rule(root: str, path: str) -> str:
    """Return the rule by which git ignores a path, such as `.gitignore:3:*.log`. Raises `GitError`, also if
    no rule does."""
    output = output_of(root, ["check-ignore", "--verbose", "--no-index", "--", path])
    return output.decode(errors="backslashreplace").rpartition("\t")[0]


class PastCommit(NamedTuple):
    """A commit of the history: its Unix time, its message, and the paths that it changed."""

    time_s: int
    message: str
    paths: Sequence[str]


def history(root: str, commits: int) -> list[PastCommit]:
    """Return the latest commits, the latest first, without merges and without those that changed nothing.

    Paths may no longer exist. Of a message at most `MESSAGE_CHARACTERS` are kept. Raises `GitError`.
    """
    found = []
    for head, paths in log_of(root, "%ct %B", f"--max-count={commits}", "--diff-merges=off", "HEAD"):
        committed, _, message = head.partition(" ")
        if not committed.isdecimal():
            raise unreadable()
        if paths:
            found.append(PastCommit(int(committed), message[:MESSAGE_CHARACTERS], paths))
    return found


def change_counts(commits: Iterable[PastCommit]) -> dict[str, tuple[int, int]]:
    """Return for each file how many of the commits changed it, and the Unix time of the last one; commits of
    more than `LARGE_COMMIT_FILES` files are left out."""
    counts: dict[str, tuple[int, int]] = {}
    for committed, _, paths in commits:
        if len(paths) > LARGE_COMMIT_FILES:
            continue
        for path in paths:
            count, last = counts.get(path, (0, committed))
            counts[path] = (count + 1, max(last, committed))
    return counts


class LatestCommit(Struct, frozen=True):
    """The short hash and the subject of a commit in one line of at most `SUBJECT_CHARACTERS`, and the first
    `LARGE_COMMIT_FILES` paths that it changed, a merge against its first parent; None if git can't tell."""

    line: str
    paths: tuple[str, ...] | None = ()


def latest_commits(root: str, commits: int) -> tuple[LatestCommit, ...]:
    """Return the latest commits, the latest first. Raises `GitError`."""
    most, ends = f"--max-count={commits}", _shallow_ends(root)
    found: list[tuple[str, Sequence[str] | None]]
    try:
        found = list(log_of(root, "%h %s", most, "--diff-merges=first-parent", "HEAD"))
    except GitError:  # a partial clone has the commits, but not each of their trees
        found = [(head, None) for head, _ in log_of(root, "%h %s", most, "HEAD", names=False)]
    return tuple(
        LatestCommit(
            "".join(filter(str.isprintable, " ".join(head.split())))[:SUBJECT_CHARACTERS],
            None
            if paths is None or f"\n{head.partition(' ')[0]}" in ends
            else tuple(paths[:LARGE_COMMIT_FILES]),
        )
        for head, paths in found
    )


def _shallow_ends(root: str) -> str:
    """Return the commits at which a shallow clone ends, each behind a line break. Git takes all their files
    for new ones."""
    folder, system = git_folder(root), System()
    if folder is None:
        return ""
    return "\n" + _read(os.path.join(_common_folder(folder, system), "shallow"), 16 << 20, system)


_LOG = (
    "--no-renames", "--no-ext-diff", "--no-textconv", "--no-relative", "--root",
    "--ignore-submodules=none", "-O/dev/null",
    "-z", "--no-show-signature", "--no-notes", "--no-color",
)  # fmt: skip


def log_of(root: str, form: str, *arguments: str, names: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Yield for each commit a text in git's format `form`, and with `names` the paths that it changed,
    relative to the root; none if nothing was committed yet. Raises `GitError`."""
    shown = ["--name-only"] if names else []
    command = ["log", *_LOG, *shown, f"--format=tformat:%x01{form}", *arguments, "--"]
    try:
        entries = entries_of(root, command)
    except GitError:
        current = head(root)
        if current is not None and not current.commit:
            return
        raise
    text, paths = "", list[str]()
    for entry in entries:
        if entry.startswith(b"\x01"):
            if text:
                yield text, paths
            text, paths = entry[1:].decode(errors="replace"), []
        elif not text:
            raise unreadable()
        elif name := entry if paths else entry.removeprefix(b"\n"):
            paths.append(name.decode(errors="backslashreplace"))
    if text:
        yield text, paths


def head(root: str, system: System | None = None) -> Head | None:
    """Return what is checked out at `root` by reading git's files, or None where there is nothing to read.

    Runs no process and takes microseconds, so it can be called at every event. The commit is "" for a branch
    without commits and for a repository that stores its references in a reftable.
    """
    system = system or System()
    folder = git_folder(root, system)
    if folder is None:
        return None
    text = _read_line(os.path.join(folder, "HEAD"), system)
    if _is_commit(text):
        return Head("", text)
    reference = text.removeprefix("ref: ")
    if reference == text or not reference.startswith("refs/") or ".." in reference or "\0" in reference:
        return None
    return Head(reference.removeprefix("refs/heads/"), _resolve(reference, folder, system))


def git_folder(root: str, system: System | None = None) -> str | None:
    """Return the absolute folder that holds HEAD and index of the work tree `root`, or None.

    That is `.git`, or where the file `.git` of a submodule or linked work tree points to.
    """
    marker = os.path.join(root, ".git")
    if not os.path.isfile(marker):
        return marker if os.path.isdir(marker) else None
    line = _read_line(marker, system or System())
    target = line.removeprefix("gitdir: ")
    return None if target == line else os.path.normpath(os.path.join(root, target))


def common_folder(root: str, system: System | None = None) -> str | None:
    """Return the git folder that all work trees of the repository of `root` share, symlinks resolved; None
    where there is no repository. A submodule and a clone have their own."""
    system = system or System()
    folder = git_folder(root, system)
    return None if folder is None else os.path.realpath(_common_folder(folder, system))


def work_trees(common: str, system: System | None = None, limit: int | None = None) -> list[str]:
    """Return the roots of a repository's work trees, symlinks resolved, as its common git folder lists them:
    also of those that are gone, and empty where that folder can't be read. At most `limit` linked ones are
    read, the first by name."""
    system = system or System()
    found = [os.path.dirname(common)] if os.path.basename(common) == ".git" else []
    above, entries = os.path.join(common, "worktrees"), list[str]()
    with suppress(OSError):
        entries = sorted(os.listdir(above))[:limit]
    return found + [root for name in entries if (root := linked_root(common, name, system))]


def linked_root(common: str, name: str, system: System) -> str:
    """Return the root of the linked work tree that a repository has by a name, "" if it names none."""
    entry = os.path.join(common, "worktrees", name)
    marker = os.path.dirname(_read_line(os.path.join(entry, "gitdir"), system))
    return os.path.realpath(os.path.join(entry, marker)) if marker else ""


def is_linked_worktree(root: str, system: System | None = None) -> bool:
    """Whether `root` is an additional work tree of a repository (`git worktree add`), a copy of its files."""
    if os.path.isdir(os.path.join(root, ".git")):
        return False
    folder = git_folder(root, system)
    return folder is not None and os.path.basename(os.path.dirname(folder)) == "worktrees"


def control_files(root: str) -> list[str]:
    """Return the absolute files, other than its `.gitignore`s, that decide what git lists at `root`.

    They are the index, the repository's config and its `info/exclude`, the user's config files and the global
    excludes file; each may be absent. Raises `GitError`.
    """
    folder = git_folder(root)
    if folder is None:
        raise GitError(f"{root} has no git folder")
    common = _common_folder(folder, System())
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = [
        os.path.join(root, ".git"),
        os.path.join(folder, "index"),
        os.path.join(common, "config"),
        os.path.join(common, "info", "exclude"),
        os.path.expanduser("~/.gitconfig"),
        os.path.join(settings, "git", "config"),
    ]
    arguments = ["config", "-z", "--path", "--default", os.path.join(settings, "git", "ignore")]
    excludes = output_of(root, [*arguments, "--get", "core.excludesFile"]).removesuffix(b"\0")
    if b"\0" in excludes:
        raise unreadable()
    files.append(os.path.join(root, os.fsdecode(excludes)))
    return files


def _paths(root: str, arguments: list[str]) -> list[str]:
    found = list(map(os.fsdecode, entries_of(root, arguments)))
    if any(path.startswith("/") or ".." in path.split("/") for path in found):
        raise unreadable()
    return found


def entries_of(
    root: str, arguments: list[str], given: bytes = b"", statuses: Collection[int] = (0,)
) -> list[bytes]:
    """Return what git prints, split at NUL bytes. Raises `GitError`."""
    return list(filter(None, output_of(root, arguments, given, statuses).split(b"\0")))


def output_of(root: str, arguments: list[str], given: bytes = b"", statuses: Collection[int] = (0,)) -> bytes:
    """Run git with the input `given` and return what it prints.

    Only for modules of this folder, whose commands are safe in an untrusted repository. Raises `GitError` if
    it ends with another status than these, hangs, or prints more than `OUTPUT_BYTES`.
    """
    if _silent.get(root, 0.0) > time.monotonic():
        raise GitError("git did not answer a moment ago")
    settings = [word for each in _SAFE_SETTINGS for word in ("-c", each)]
    try:
        process = subprocess.Popen(  # noqa: S603 - the program is found on PATH, the arguments are ours
            [_program(), "--no-pager", *settings, *arguments],
            cwd=root,
            env=_environment(root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # so that whatever it starts can be ended with it
        )
    except (OSError, ValueError) as error:
        raise GitError(f"git can't be run: {error}") from error
    deadline = time.monotonic() + LONGEST_S
    with process:
        try:
            output, errors = _exchange(process, given, deadline)
            if len(output) > OUTPUT_BYTES:
                _end(process)
            status = process.wait(max(deadline - time.monotonic(), 0))
            is_late = False
        except subprocess.TimeoutExpired:
            is_late = True
            _end(process)
    if is_late:
        _silent[root] = time.monotonic() + PAUSE_S
        raise GitError(f"git did not answer for {LONGEST_S:g} s")
    if len(output) > OUTPUT_BYTES:
        raise unreadable()
    if status not in statuses:
        message = errors.decode(errors="backslashreplace").strip()
        raise GitError(message.removeprefix("fatal: ") or f"git ended with status {status}")
    return output


def _exchange(process: subprocess.Popen[bytes], given: bytes, deadline: float) -> tuple[bytes, bytes]:
    """Write to a process and return what it prints, a byte too much at most, and the last of its errors.

    Raises `TimeoutExpired` when its output is still open at the deadline: something that it started and that
    left its group may hold it for ever.
    """
    output, errors, left = bytearray(), deque[bytes](maxlen=2), memoryview(given)
    with selectors.DefaultSelector() as ready:
        for stream, event in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
        ):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            ready.register(stream, event)
        while ready.get_map() and len(output) <= OUTPUT_BYTES:
            chosen = ready.select(max(deadline - time.monotonic(), 0))
            if not chosen and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(process.args, LONGEST_S)
            for key, _ in chosen:
                if key.fileobj is process.stdin:
                    with suppress(BrokenPipeError):  # git may end without having read all
                        left = left[os.write(key.fd, left[:CHUNK_BYTES]) :]
                        if left:
                            continue
                    ready.unregister(key.fileobj)
                    process.stdin.close()
                elif data := os.read(key.fd, CHUNK_BYTES):
                    if key.fileobj is process.stdout:
                        output += data
                    else:
                        errors.append(data)
                else:
                    ready.unregister(key.fileobj)
    return bytes(output), b"".join(errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and whatever it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def unreadable() -> GitError:
    """Return the error for output that git doesn't print."""
    return GitError(
        "what git printed isn't what git prints: is the git on the daemon's PATH another program?"
    )


_silent: dict[str, float] = {}
"""The moments (monotonic) until which git isn't asked, by work tree."""


def _program() -> str:
    """Return the absolute path of git: a relative one would be looked up inside the repository."""
    path = shutil.which("git")
    if path is None:
        raise GitError("git is not installed")
    if not os.path.isabs(path):
        raise GitError(f"git was found at the relative path {path}: remove it from PATH")
    return path


def _environment(root: str) -> dict[str, str]:
    """Return the environment for git at `root`, without inherited GIT_ variables and parent folders.

    GIT_WORK_TREE is set, since the repository's core.worktree could point anywhere. GIT_DIR is not set, since
    that would switch off git's check of the folder's owner.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CEILING_DIRECTORIES": os.path.dirname(root),
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_WORK_TREE": root,
        "LC_ALL": "C",
    }


def _common_folder(folder: str, system: System) -> str:
    """Return the folder that linked work trees share, which is the git folder itself in the usual case."""
    shared = _read_line(os.path.join(folder, "commondir"), system)
    return os.path.normpath(os.path.join(folder, shared)) if shared else folder


def _resolve(reference: str, folder: str, system: System) -> str:
    """Return the commit of a reference, loose or packed, or ""."""
    common = _common_folder(folder, system)
    loose = _read_line(os.path.join(common, reference), system)
    if loose:
        return loose if _is_commit(loose) else ""
    packed = _read(os.path.join(common, "packed-refs"), 16 << 20, system)
    for line in packed.splitlines():
        commit, _, name = line.partition(" ")
        if name == reference and _is_commit(commit):
            return commit
    return ""


def _is_commit(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) is not None


def _read_line(path: str, system: System) -> str:
    return _read(path, 4096, system).partition("\n")[0].rstrip()


def _read(path: str, limit: int, system: System) -> str:
    """Return the text of one of git's small files, or "" if it can't be read."""
    try:
        data, _ = system.read(path, limit)
    except (OSError, ValueError):
        return ""
    return os.fsdecode(data)
