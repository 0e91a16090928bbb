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
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import FovealError
from ..core.system import System

IDLE_TIMEOUT_S = 10.0
"""Seconds without output after which git counts as hanging, such as on a pipe named .gitignore or a dead
drive."""

LONGEST_S = 120.0
"""Maximum seconds of one question, however slowly git goes on with its output."""

PAUSE_S = 60.0
"""Seconds for which git isn't asked again in a work tree after it didn't answer there."""

ANSWER_BYTES = 64 * 1024
"""Maximum bytes of an answer that is one line, such as a path."""

OUTPUT_BYTES = 256 * 1024 * 1024
"""Maximum bytes of a list: some three million paths."""

PART_BYTES = 4 * 1024 * 1024
"""Maximum bytes of one path or one message in a list."""

NO_REPOSITORY = "not a git repository"

MESSAGE_CHARACTERS = 2_000
"""Maximum characters of a commit's message that are kept."""

LARGE_COMMIT_FILES = 200
"""Maximum files of a commit that counts as a change of each: larger ones (a merge, a reformatting, an import
of a library) say nothing about a single file."""

_PIECE = 65_536
"""Bytes read or written at once: the capacity of a Linux pipe."""

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
        inside = answer_of(root, ["rev-parse", "--is-inside-work-tree"])
    except GitError as error:
        return str(error)
    return "" if inside.strip() == b"true" else "a git folder without a work tree"


def tracked_files(root: str) -> Iterator[str]:
    """Yield the path of every file in the index, relative to `root`, as git sorts them.

    A submodule is one path. A name that isn't UTF-8 comes as `os.fsdecode` has it. Raises `GitError`.
    """
    return _paths(root, ["ls-files", "-z", "--cached", "--deduplicate"])


def tracked_ignored_files(root: str) -> Iterator[str]:
    """Yield the path of every tracked file that an ignore rule matches."""
    return _paths(root, ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--deduplicate"])


def ignoring_rule(root: str, path: str) -> str:
    """Return the rule by which git ignores a path, such as `.gitignore:3:*.log`. Raises `GitError`, also if
    no rule does."""
    output = answer_of(root, ["check-ignore", "--verbose", "--no-index", "--", path])
    return output.decode(errors="backslashreplace").rpartition("\t")[0]


class PastCommit(NamedTuple):
    """A commit of the history: its Unix time, its message, and the paths that it changed."""

    time_s: int
    message: str
    paths: Sequence[str]


def history(root: str, commits: int) -> list[PastCommit]:
    """Return the latest commits, the latest first, without merges and without those that changed nothing.

    Paths are relative to the root, and may no longer exist. Renames are not followed. Of a message at most
    `MESSAGE_CHARACTERS` are kept. Raises `GitError`.
    """
    return [commit for commit in _commits(root, commits) if commit.paths]


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
    ends = _shallow_ends(root)
    try:
        return tuple(
            replace(commit, paths=None) if f"\n{commit.line.partition(' ')[0]}" in ends else commit
            for commit in _latest(root, commits, _WITH_PATHS)
        )
    except GitError:  # a partial clone has the commits, but not each of their trees
        return tuple(replace(commit, paths=None) for commit in _latest(root, commits, []))


def _shallow_ends(root: str) -> str:
    """Return the commits at which a shallow clone ends, each behind a line break. Git takes all their files
    for new ones."""
    folder, system = git_folder(root), System()
    if folder is None:
        return ""
    return "\n" + _read(os.path.join(_common_folder(folder, system), "shallow"), 16 << 20, system)


_WITH_PATHS = [
    "--name-only", "--no-renames", "--diff-merges=first-parent", "--no-ext-diff", "--no-textconv",
    "--no-relative", "--ignore-submodules=none", "--root", "-O/dev/null",
]  # fmt: skip


def _latest(root: str, commits: int, more: list[str]) -> Iterator[LatestCommit]:
    arguments = ["log", f"--max-count={commits}", "-z", "--no-show-signature", "--no-notes", "--no-color"]
    line, paths = "", list[str]()
    for token in split_at_nuls(
        output_of(root, [*arguments, *more, "--format=tformat:%x01%h %s", "HEAD", "--"])
    ):
        if token.startswith(b"\x01"):
            if line:
                yield LatestCommit(line, tuple(paths))
            words = " ".join(token[1:].decode(errors="replace").split())
            if not re.match(r"[0-9a-f]{4,64}( |$)", words):
                raise _unreadable()
            line, paths = "".join(filter(str.isprintable, words))[:SUBJECT_CHARACTERS], []
        elif not line:
            raise _unreadable()
        elif (name := token.removeprefix(b"\n")) and len(paths) < LARGE_COMMIT_FILES:
            paths.append(os.fsdecode(name))
    if line:
        yield LatestCommit(line, tuple(paths))


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
    if os.path.isdir(marker):
        return marker
    line = _read_line(marker, system or System())
    target = line.removeprefix("gitdir: ")
    return None if target == line else os.path.normpath(os.path.join(root, target))


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
    excludes = answer_of(root, [*arguments, "--get", "core.excludesFile"]).removesuffix(b"\0")
    if b"\0" in excludes:
        raise _unreadable()
    files.append(os.path.join(root, os.fsdecode(excludes)))
    return files


class IgnoreCheck:
    """A running `git check-ignore` that judges one batch of paths after another by git's own rules.

    It reads each rule file only once, so use it for one pass over the disk and then close it.
    """

    def __init__(self, root: str) -> None:
        self._child = _Child(root, ["check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"], feed=True)
        self._fields: deque[bytes] = deque()
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ignored(self, paths: list[str]) -> set[str]:
        """Return the paths (files or folders relative to the root) that rules ignore, even if tracked.

        Everything below an ignored folder is ignored. Raises `GitError`, also for a path below a symlink.
        """
        # "./" keeps a name that begins with a colon from being read as pathspec magic.
        self._child.send(b"".join(b"./%s\0" % os.fsencode(path) for path in paths))
        found: set[str] = set()
        for asked in paths:
            _source, _line, pattern, path = self._take_answer()
            if path[2:] != os.fsencode(asked):
                raise _unreadable()
            if pattern and not pattern.startswith(b"!"):
                found.add(os.fsdecode(path[2:]))
        return found

    def close(self) -> None:
        """End git; further calls have no effect."""
        self._child.close()

    def _take_answer(self) -> list[bytes]:
        """Return the rule file, line number, pattern and path of git's next answer."""
        while len(self._fields) < 4:
            piece = self._child.receive()
            if not piece:
                self._child.finish()
                raise GitError("git check-ignore ended early")
            *whole, self._rest = (self._rest + piece).split(b"\0")
            if len(self._rest) > PART_BYTES:
                raise _unreadable()
            self._fields.extend(whole)
        return [self._fields.popleft() for _ in range(4)]


def _paths(root: str, arguments: list[str]) -> Iterator[str]:
    for path in split_at_nuls(output_of(root, arguments)):
        if path.startswith(b"/") or b".." in path.split(b"/"):
            raise _unreadable()
        if path:
            yield os.fsdecode(path)


def _commits(root: str, commits: int) -> Iterator[PastCommit]:
    arguments = ["log", f"--max-count={commits}", "-z", "--name-only", "--no-renames", "--diff-merges=off"]
    arguments += ["--no-ext-diff", "--no-textconv", "--no-relative", "--no-show-signature", "--no-notes"]
    arguments += ["-O/dev/null", "--no-color", "--format=tformat:%x01%ct %B", "HEAD", "--"]
    committed, message, paths = -1, "", list[str]()
    try:
        for token in split_at_nuls(output_of(root, arguments)):
            if begins := re.match(rb"\x01([0-9]{1,12}) ", token):
                if committed >= 0:
                    yield PastCommit(committed, message, paths)
                text = token[begins.end() :].decode(errors="replace")
                committed, message, paths = int(begins[1]), text[:MESSAGE_CHARACTERS], []
                continue
            name = token if paths else token.removeprefix(b"\n")
            if committed < 0:
                raise _unreadable()
            if name:
                paths.append(name.decode(errors="backslashreplace"))
    except GitError:
        current = head(root)
        if current is not None and not current.commit:
            return  # nothing was committed yet
        raise
    if committed >= 0:
        yield PastCommit(committed, message, paths)


def split_at_nuls(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Split a stream of pieces at its NUL bytes. Raises `GitError` for a part that no list has."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\0")
        if len(rest) > PART_BYTES:
            raise _unreadable()
        yield from whole
    if rest:
        yield rest


def answer_of(root: str, arguments: list[str]) -> bytes:
    """Return git's short answer. Raises `GitError`."""
    return b"".join(output_of(root, arguments, ANSWER_BYTES))


def output_of(root: str, arguments: list[str], limit: int = OUTPUT_BYTES) -> Iterator[bytes]:
    """Run git to its end and yield its output in pieces. Raises `GitError` when it fails, hangs, or prints
    more bytes than the limit.

    Only for modules of this folder, whose commands are safe in an untrusted repository.
    """
    child = _Child(root, arguments, feed=False)
    try:
        while piece := child.receive():
            limit -= len(piece)
            if limit < 0:
                raise _unreadable()
            yield piece
        child.finish()
    finally:
        child.close()


def _unreadable() -> GitError:
    return GitError(
        "what git printed isn't what git prints: is the git on the daemon's PATH another program?"
    )


_silent: dict[str, float] = {}
"""The moments (monotonic) until which git isn't asked, by work tree."""


class _Child:
    """A running git process. Its pipes are served by select, so a full pipe or a silent git doesn't block."""

    def __init__(self, root: str, arguments: list[str], *, feed: bool) -> None:
        self._root = root
        self._ends = time.monotonic() + LONGEST_S
        if _silent.get(root, 0.0) > time.monotonic():
            raise GitError("git did not answer a moment ago")
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the program is found on PATH, the arguments are ours
                [
                    _program(),
                    "--no-pager",
                    *(word for each in _SAFE_SETTINGS for word in ("-c", each)),
                    *arguments,
                ],
                cwd=root,
                env=_environment(root),
                stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # so that whatever it starts can be ended with it
            )
        except (OSError, ValueError) as error:
            raise GitError(f"git can't be run: {error}") from error
        self._unsent = memoryview(b"")
        self._errors = b""
        self._closed = False
        self._selector = selectors.DefaultSelector()
        for stream in (self._process.stdout, self._process.stderr):
            self._watch(stream, selectors.EVENT_READ)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def send(self, data: bytes) -> None:
        """Queue input; it is written while `receive` waits."""
        self._ends = time.monotonic() + LONGEST_S
        self._unsent = memoryview(bytes(self._unsent) + data)
        if self._unsent and self._process.stdin not in self._selector.get_map():
            self._watch(self._process.stdin, selectors.EVENT_WRITE)

    def receive(self) -> bytes:
        """Wait for the next piece of output; b"" is the end. Raises `GitError` on a git that hangs."""
        while self._process.stdout in self._selector.get_map():
            ready = self._selector.select(IDLE_TIMEOUT_S)
            is_late = time.monotonic() > self._ends
            if not ready or is_late:
                self.close()
                _silent[self._root] = time.monotonic() + PAUSE_S
                seconds = LONGEST_S if is_late else IDLE_TIMEOUT_S
                raise GitError(f"git did not answer for {seconds:g} s")
            for key, _ in ready:
                piece = self._serve(key.fileobj)
                if piece:
                    return piece
        return b""

    def finish(self) -> None:
        """Wait until git ends after its last output. Raises `GitError` with git's message if it failed."""
        deadline = time.monotonic() + IDLE_TIMEOUT_S
        while self._process.stderr in self._selector.get_map():
            ready = self._selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                break
            for key, _ in ready:
                self._serve(key.fileobj)
        try:
            status = self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            self.close()
            _silent[self._root] = time.monotonic() + PAUSE_S
            raise GitError(f"git did not end within {IDLE_TIMEOUT_S:g} s") from error
        if status:
            message = self._errors.decode(errors="backslashreplace").strip()
            raise GitError(message.removeprefix("fatal: ") or f"git ended with status {status}")

    def close(self) -> None:
        """End git and whatever it started, and free everything."""
        if self._closed:
            return
        self._closed = True
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _watch(self, stream: IO[bytes] | None, event: int) -> None:
        assert stream is not None
        self._selector.register(stream, event)

    def _serve(self, stream: object) -> bytes:
        """Read or write one piece on a stream; return the piece read from standard output."""
        process = self._process
        if stream is process.stdin:
            self._feed()
            return b""
        output = stream is process.stdout
        pipe = process.stdout if output else process.stderr
        assert pipe is not None
        piece = pipe.read(_PIECE)
        if not piece:
            self._selector.unregister(pipe)
        elif not output:
            self._errors = (self._errors + piece)[-4096:]
            return b""
        return piece

    def _feed(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_PIECE]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = memoryview(b"")  # git ended: its message comes on standard error
        if not self._unsent:
            self._selector.unregister(pipe)


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
