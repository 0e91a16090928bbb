"""Real repositories, each put through a whole life with the daemon: python -m benchmarks.torture.

    $ python -m benchmarks.torture --folder MIRRORS --json-file torture.json
    $ python -m benchmarks.torture --only pallets/flask --only redis/redis --seconds 60

`torture.toml` names them with the commit that is checked out. Each is opened by a daemon of its own, indexed,
linked and embedded for a given time, asked some questions, edited, and switched to an older commit and back.
Meanwhile Status is compared with what git and the disk say, and the memory of all processes is sampled. The
exit status is 1 if a repository failed in any of it.

`--folder` holds bare clones as OWNER+NAME/repo; what isn't there is fetched from GitHub.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from foveal.daemon.core.system import System
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.project.records import ScanSettings
from foveal.daemon.project.service import left_out, project_folder
from foveal.ipc.client import Client
from foveal.ipc.errors import RpcError

from .machine import look
from .own_daemon import all_mb, environment, running

SEED = 18
MEMORY_MB = 1_500.0
"""Most memory of all processes of a daemon together, what they share counted once."""

STUCK_S = 120.0
"""Seconds without any progress in Status after which a project counts as stuck."""

CALL_S = 60.0
"""Seconds to wait for one reply."""

ANSWER_S = 10.0
"""Seconds above which an answer to a question is too slow; hosts give up by then."""

VISIBLE_S = 30.0
"""Seconds for an edit to be found where the reply admits that it couldn't wait for it."""

POLL_S = 0.2
SWITCHED_FILES = 300
"""Files that the older commit differs in, at least, or a third of them where there are fewer."""

SAMPLED_FILES = 60
SEEN_SHARE = 0.9
"""Least share of the definitions seen by the patterns that the index must have; what they see in strings and
comments is none."""

SEEN_LEAST = 10
"""Definitions below which that share says nothing."""

TROUBLE = re.compile(
    r"\bERROR\b|\bCRITICAL\b|^Traceback|^\w*Error: |it is started again|that worked on .* ended"
)
"""A line of the log that tells of an error, or of a process that ended."""

EDITS_ABOVE = frozenset({"lua"})
"""The languages whose files may end in a statement behind which nothing may follow."""

LANGUAGE_NAMES = {"C#": "csharp", "C++": "cpp", "Shell": "bash"}
"""What the index calls a language, where that isn't its name in lower case."""

LONG_STRINGS = re.compile(r"\[(=*)\[.*?\]\1\]", re.DOTALL)
"""Lua's, in which tests keep programs."""

MARK = "torturedplum"
"""The name that an edit defines."""


class Repository(NamedTuple):
    """A public repository at a commit, with the language that most of it is written in."""

    name: str
    commit: str
    language: str


_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
REPOSITORIES = tuple(Repository(*row.split()) for row in _DATA.pop("repositories").splitlines())
SUFFIXES = {suffix: language for language, row in _DATA.items() for suffix in row.get("suffixes", ())}


class Failed(Exception):
    """A repository can't go on: it is stuck, out of time, or the daemon is gone."""


class Record(NamedTuple):
    """A file as the index has it."""

    digest: bytes
    language: str
    skipped: str
    symbols: int


@dataclass
class Result:
    """What one repository showed; `failures` is empty for one that passed."""

    name: str
    files: int = 0
    symbols: int = 0
    linked_s: float = 0.0
    embedded: float = 0.0
    slowest_answer_ms: float = 0.0
    edit_s: float = 0.0
    switched_files: int = 0
    switch_s: list[float] = field(default_factory=list)
    definitions_seen: float = 1.0
    memory_mb: float = 0.0
    left_out: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


@dataclass
class Trial:
    """One repository in a daemon, from its opening to its last switch."""

    client: Client
    state: str
    root: Path
    repository: Repository
    older: str
    result: Result
    limit: float
    seconds: float

    def run(self) -> None:
        """Go through all of it; what fails is in the result."""
        self.deadline = time.monotonic() + self.limit
        self.chooser = random.Random(SEED)
        try:
            self._open()
            self._embed()
            self._ask_all()
            self._edit()
            for commit, when in ((self.older, "an older commit"), (self.repository.commit, "the newer one")):
                self._switch(commit, f"after the switch to {when}")
        except (Failed, RpcError, OSError, sqlite3.Error, subprocess.CalledProcessError) as error:
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, problem: str) -> None:
        self.result.failures.append(problem)

    def _open(self) -> None:
        started, result = time.monotonic(), self.result
        self.client.call("OpenProject", {"path": str(self.root)}, CALL_S)
        self._settle("after the first indexing")
        result.linked_s = round(time.monotonic() - started, 2)
        status = self._status()
        result.files, result.symbols = status["files"], status["symbols"]

    def _embed(self) -> None:
        """Give embedding its time, and tell how far it came."""
        limit = time.monotonic() + self.seconds
        while (status := self._status())["embedding"] not in ("done", "off") and time.monotonic() < limit:
            if status["embedding"] == "failed":
                return self._fail(f"embedding failed: {status['degraded']}")
            time.sleep(POLL_S)
        contents = status["embedded"] + status["pending"]
        self.result.embedded = round(status["embedded"] / max(contents, 1), 3)
        if self.seconds and contents and not status["embedded"]:
            self._fail(f"nothing was embedded in {self.seconds:.0f} s")
        return None

    def _ask_all(self) -> None:
        """Ask questions; those with one right answer must show it."""
        sources = self._usual_files()
        path = self.chooser.choice(sorted(sources))
        has_symbols = bool(sources[path].symbols)
        self._ask("how are errors handled and reported to the user", None)
        self._ask(f"outline of {path}", {path} if has_symbols else None, empty=not has_symbols)
        found = self._callee()
        if found is not None:
            name, path, line, callers = found
            self._ask(name, set(git(self.root, "grep", "-lzwF", name).split("\0")))
            self._ask(f"where is {name} defined", {path})
            self._ask(f"who calls {name}", callers)
            self._ask(f"what does {name} call", None, empty=True)
            self._ask(f'Error: it failed\n  File "{path}", line {line}, in {name}', {path})
        targets = "SELECT DISTINCT target FROM imports WHERE target != '' ORDER BY target"
        imported = [target for (target,) in self._rows(targets)]
        if imported:
            target = self.chooser.choice(imported)
            importers = "SELECT path FROM imports JOIN files ON files.id = file_id WHERE target = ?"
            self._ask(f"what imports {target}", {path for (path,) in self._rows(importers, target)})
        params = {"cwd": str(self.root), "prompt": f"Explain {path}.", "focus_paths": [path]}
        if path not in self.client.call("GetContext", params, CALL_S)["context"]:
            self._fail(f"the context with {path} in focus doesn't name it")

    def _ask(self, question: str, paths: set[str] | None, *, empty: bool = False) -> None:
        """Ask; one of `paths` must be among the answers, and where none is given there must be any."""
        started = time.monotonic()
        reply = self._query(question, "shown")
        took = time.monotonic() - started
        self.result.slowest_answer_ms = max(self.result.slowest_answer_ms, round(took * 1000, 1))
        if took > ANSWER_S:
            self._fail(f"{question!r:.80} was answered after {took:.0f} s")
        found = {hit["path"] for hit in reply["results"]}
        if (paths is not None and not paths & found) or (not found and not empty):
            expected = f"none of {sorted(paths)[:3]}" if paths else "nothing"
            self._fail(f"{question!r} found {expected}, but {sorted(found)[:3]}")

    def _callee(self) -> tuple[str, str, int, set[str]] | None:
        """Return a called definition whose name is unique and no bare word: its name, path and line, and the
        files that call it."""
        query = """
            SELECT base, path, start_line, definitions.id FROM definitions JOIN files ON files.id = file_id
            WHERE definitions.kind IN ('function', 'method') AND length(base) > 4 AND definitions.id IN
                (SELECT target FROM links WHERE target > 0 AND kind = 0)
            GROUP BY base HAVING COUNT(*) = 1 ORDER BY base"""
        found = [row for row in self._rows(query) if re.fullmatch(r"\w*[a-z][A-Z_]\w*", row[0])]
        if not found:
            return None
        base, path, line, number = self.chooser.choice(found)
        callers = "SELECT DISTINCT path FROM links JOIN files ON id = file_id WHERE target = ? AND kind = 0"
        return base, path, line, {caller for (caller,) in self._rows(callers, number)}

    def _edit(self) -> None:
        """Define something in a file, see it by its word and its name, take it back, see it no more."""
        files = sorted(self._usual_files().items())
        self.chooser.shuffle(files)
        # What follows a part that a grammar can't read may be no definition to it.
        whole = (
            (path, file)
            for path, file in files
            if not parse_source((self.root / path).read_bytes(), file.language).broken
        )
        path, file = next(whole, files[0])
        before = (self.root / path).read_bytes()
        started = time.monotonic()
        added = _DATA.get(file.language, {}).get("edit", "\n{name}\n").format(name=MARK).encode()
        (self.root / path).write_bytes(added + before if file.language in EDITS_ABOVE else before + added)
        self._follow(lambda: path in self._paths_with() | self._defined(), f"the edit of {path}")
        self.result.edit_s = round(time.monotonic() - started, 2)
        self._settle("after an edit")
        if file.language in _DATA and path not in self._defined():
            self._fail(f"ready, and FindSymbols doesn't find {MARK} in {path}")
        (self.root / path).write_bytes(before)
        self._follow(lambda: not self._paths_with() | self._defined(), f"the edit of {path} taken back")
        self._settle("after an edit was taken back")
        if self._defined():
            self._fail(f"ready, and FindSymbols still finds {MARK}, which is gone")

    def _usual_files(self) -> dict[str, Record]:
        """Return its files of some size in the language that most of it is written in."""
        own = LANGUAGE_NAMES.get(self.repository.language, self.repository.language.lower())
        usual = {
            path: record
            for path, record in self._files().items()
            if not record.skipped and re.fullmatch(r"[\w./+-]+", path)
        }
        found = {path: record for path, record in usual.items() if record.language == own}
        small = {path: record for path, record in found.items() if (self.root / path).stat().st_size < 50_000}
        return small or found or usual

    def _follow(self, shows: Callable[[], bool], what: str) -> None:
        """See that an answer shows a change at once, or in time where it admits that it doesn't yet."""
        reply = self._query(MARK, "tree")
        if shows():
            return
        if not is_behind(reply):
            self._fail(f"{what} isn't visible with fresh = tree, and the reply doesn't say so")
        limit = time.monotonic() + VISIBLE_S
        while not shows():
            if time.monotonic() > limit:
                raise Failed(f"{what} isn't visible after {VISIBLE_S:.0f} s")
            time.sleep(POLL_S)

    def _paths_with(self) -> set[str]:
        return {hit["path"] for hit in self._query(MARK, "shown")["results"] if MARK in hit["snippet"]}

    def _defined(self) -> set[str]:
        reply = self.client.call("FindSymbols", {"cwd": str(self.root), "query": MARK}, CALL_S)
        return {each["path"] for each in reply["symbols"] if each["symbol"].endswith(MARK)}

    def _switch(self, commit: str, when: str) -> None:
        """Check out another commit, and see it as soon as the project says that it is ready."""
        changed = git(self.root, "diff", "--name-only", "--no-renames", "-z", "HEAD", commit).split("\0")
        self.result.switched_files = len(changed) - 1
        git(self.root, "checkout", "--quiet", commit)
        started = limit = time.monotonic()
        while is_behind(self._query(MARK, "tree")) and time.monotonic() < limit + VISIBLE_S:
            time.sleep(POLL_S)
        self._settle(when)
        self.result.switch_s.append(round(time.monotonic() - started, 2))

    def _settle(self, when: str) -> None:
        """Wait until the project is ready, and compare it with what git lists and the disk holds."""
        self._wait(when)
        status, known = self._status(), self._files()
        if status["files"] != len(known):
            self._fail(f"{when}: Status says {status['files']} files, the index has {len(known)}")
        found, left = differences(self.root, known)
        self.result.failures += [f"{when}: ready {problem}" for problem in found]
        self.result.left_out |= left
        read = {path for path, record in known.items() if not record.skipped}
        seen = list(seen_in_sample(self.root, read & tracked(self.root)))
        names = "SELECT base FROM definitions JOIN files ON files.id = file_id WHERE path = ?"
        missed = [(name, path) for name, path in seen if (name,) not in self._rows(names, path)]
        if len(seen) >= SEEN_LEAST:
            share = round(1 - len(missed) / len(seen), 3)
            self.result.definitions_seen = min(share, self.result.definitions_seen)
            if share < SEEN_SHARE:
                self._fail(f"{when}: {len(missed)} of {len(seen)} definitions are unknown: {missed[:3]}")

    def _wait(self, what: str) -> None:
        """Wait until the project is read and linked. Raises `Failed` where it is stuck or late."""
        signs = ("state", "files", "symbols", "files_pending", "files_unhashed", "files_unlinked")
        before, moved = None, time.monotonic()
        while (status := self._status())["state"] != "ready" or status["files_unlinked"]:
            now, told = time.monotonic(), {name: status[name] for name in signs}
            if told != before:
                before, moved = told, now
            if now - moved > STUCK_S or now > self.deadline:
                raise Failed(f"stuck or late, waiting {what}: {told}, {status['degraded']}")
            time.sleep(POLL_S)

    def _query(self, text: str, fresh: str) -> dict[str, Any]:
        params = {"cwd": str(self.root), "query": text, "fresh": fresh}
        reply: dict[str, Any] = self.client.call("Query", params, CALL_S)
        return reply

    def _status(self) -> dict[str, Any]:
        """Return the project as Status has it, where that doesn't contradict itself."""
        (found,) = self.client.call("Status", {}, CALL_S)["projects"]
        self.result.memory_mb = max(self.result.memory_mb, round(all_mb(self.client)))
        if found["state"] == "ready" and (found["files_pending"] or found["files_unhashed"]):
            self._fail(f"ready with {found['files_pending']} pending, {found['files_unhashed']} unhashed")
        return dict(found)

    def _files(self) -> dict[str, Record]:
        rows = self._rows("SELECT path, digest, language, skipped, symbols FROM files")
        return {path: Record(*rest) for path, *rest in rows}

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds in the index, which is read beside the daemon."""
        path = os.path.join(project_folder(self.state, str(self.root)), "index.sqlite")
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as connection:
            return connection.execute(query, values).fetchall()


def is_behind(reply: Mapping[str, Any]) -> bool:
    """Whether a reply says that it couldn't wait for what changed on the disk."""
    return any("compared with the disk" in reason for reason in reply["degraded"])


def differences(root: Path, known: Mapping[str, Record]) -> tuple[list[str], Counter[str]]:
    """Return in words how an index differs from what git lists and the disk holds, and how many of the listed
    files are left out, by the reason that the project's rules give."""
    listed = tracked(root)
    problems = []
    if extra := sorted(known.keys() - listed):
        problems.append(f"with {len(extra)} files that git doesn't list, such as {extra[:3]}")
    reasons = {path: _reason(root, path) for path in sorted(listed - known.keys())}
    if lost := [path for path, reason in reasons.items() if reason in ("", "missing")]:
        problems.append(f"without {len(lost)} files, such as {lost[:3]}")
    if stale := [path for path, record in sorted(known.items()) if _is_stale(root / path, record)]:
        problems.append(f"with {len(stale)} files not as they are, such as {stale[:3]}")
    if hurt := sorted(path for path, record in known.items() if record.skipped == "quarantined"):
        problems.append(f"with {len(hurt)} files that ended the indexer, such as {hurt[:3]}")
    return problems, Counter(reason for reason in reasons.values() if reason not in ("", "missing"))


def _reason(root: Path, path: str) -> str:
    if ScanSettings().skip_folders.intersection(path.split("/")[:-1]):
        return "vendored"
    return left_out(str(root), path, ScanSettings(), System()).reason


def _is_stale(path: Path, record: Record) -> bool:
    """Whether the index has another content of a file than the disk."""
    if record.skipped == "symlink":
        return not path.is_symlink()
    if not path.is_file():
        return True
    if record.skipped == "too_large":
        return path.stat().st_size <= ScanSettings().max_file_bytes
    return not record.skipped and hashlib.blake2b(path.read_bytes(), digest_size=16).digest() != record.digest


def seen_in_sample(root: Path, paths: set[str]) -> Iterator[tuple[str, str]]:
    """Return the definitions, with their files, that are seen in some files without the product."""
    chosen = [path for path in sorted(paths) if Path(path).suffix in SUFFIXES and ".min." not in path]
    for path in random.Random(SEED).sample(chosen, min(len(chosen), SAMPLED_FILES)):
        full = root / path
        if not full.is_symlink() and full.stat().st_size <= ScanSettings().max_file_bytes:
            yield from ((name, path) for name in definitions(SUFFIXES[full.suffix], full))


def tracked(root: Path) -> set[str]:
    """Return what git lists of files, without submodules and what a clone without large files lacks."""
    rows = git(root, "ls-files", "--stage", "-z").split("\0")
    paths = (row.partition("\t")[2] for row in rows if row and not row.startswith("160000 "))
    return {path for path in paths if os.path.lexists(root / path)}


def definitions(language: str, path: Path) -> set[str]:
    """Return the names that a file seems to define; for Python those that it does."""
    text = path.read_bytes().decode("utf-8", "replace")
    if language != "python":
        text = LONG_STRINGS.sub("", text) if language == "lua" else text
        found = re.finditer(_DATA[language]["definition"], text, re.MULTILINE)
        return {next(filter(None, match.groups())) for match in found}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree.body if isinstance(node, kinds)}


def git(folder: Path, *arguments: str) -> str:
    """Return what git says. Raises `subprocess.CalledProcessError`."""
    command = ["git", "-c", "advice.detachedHead=false", "-c", "gc.auto=0", *arguments]
    return os.fsdecode(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)


def check_out(repository: Repository, mirrors: Path | None, target: Path) -> str:
    """Write a repository's files at its commit; return the older commit that it is switched to."""
    mirror = mirrors / repository.name.replace("/", "+") / "repo" if mirrors else None
    source = str(mirror) if mirror and mirror.is_dir() else f"https://github.com/{repository.name}"
    git(target.parent, "clone", "--quiet", "--no-hardlinks", "--no-checkout", source, str(target))
    git(target, "checkout", "--quiet", repository.commit)
    count = git(target, "ls-files", "-z").count("\0")
    history = git(target, "rev-list", "--first-parent", "HEAD").split()
    older = repository.commit
    for power in range(len(history).bit_length()):
        older = history[min(1 << power, len(history) - 1)]
        changed = git(target, "diff", "--name-only", "--no-renames", "-z", "HEAD", older).count("\0")
        if changed >= min(SWITCHED_FILES, count // 3):
            break
    return older


def torture(repository: Repository, options: argparse.Namespace) -> Result:
    """Put a repository through a daemon, which must end without trouble in its log."""
    result = Result(repository.name)
    with tempfile.TemporaryDirectory(prefix="fv-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()
        older = check_out(repository, options.folder, folder / "p")
        environ = environment(folder / "d")
        state = environ["FOVEAL_STATE_DIR"]
        with running(environ) as client:
            Trial(
                client, state, folder / "p", repository, older, result, options.limit, options.seconds
            ).run()
        log = (Path(state) / "foveal.log").read_text(encoding="utf-8", errors="replace")
    result.failures += [f"in the log: {line:.300}" for line in log.splitlines() if TROUBLE.search(line)][:5]
    if result.memory_mb > MEMORY_MB:
        result.failures.append(f"{result.memory_mb:,.0f} MB of memory")
    return result


def main(arguments: list[str] | None = None) -> int:
    """Run, print a line for each repository, and write the file of results after each."""
    options = _parser().parse_args(arguments)
    machine, results = look(), {}
    print(f"{machine.description}, {machine.date}, load {machine.load[0]:.1f}", flush=True)
    for repository in REPOSITORIES:
        if options.only and repository.name not in options.only:
            continue
        result = torture(repository, options)
        results[repository.name] = asdict(result) | {"language": repository.language}
        print(f"{result.name}: {'; '.join(result.failures) or 'nothing failed'}", flush=True)
        if options.json_file:
            body = {"machine": asdict(machine), "results": results}
            options.json_file.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    failed = [name for name, result in results.items() if result["failures"]]
    print(f"\n{len(results)} repositories, {len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--folder", type=Path, metavar="DIR", help="bare clones, as OWNER+NAME/repo")
    add("--only", action="append", metavar="NAME", help="this repository only; may be given several times")
    add("--seconds", type=float, default=20.0, help="time to embed, for each (default: %(default)s)")
    add("--limit", type=float, default=720.0, help="seconds for a repository in all (default: %(default)s)")
    add("--json-file", type=Path, metavar="FILE", help="write the results there, after each repository")
    return parser


if __name__ == "__main__":
    sys.exit(main())
