"""Measures a checkout that changes many files at once: until words and structure follow."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foveal.ipc.client import Client

from .bench import Bench
from .own_daemon import WAIT_S, all_mb, environment, is_embedded, open_project, project, running, wait_until
from .statistics import Measure
from .trees import read

FILES, CHANGED = 3_000, 500
NAME = "benchmark_branch_definition"


@dataclass(frozen=True, slots=True)
class Added:
    """A definition that only the branch `other` has: its name, and where it stands there."""

    name: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Project:
    """A repository that a daemon has open, and the folder of that daemon."""

    client: Client
    root: Path
    home: Path

    def switch(self, branch: str, added: Sequence[Added]) -> float:
        """Check a branch out; return the seconds until words and structure find what it has more (or find it
        no longer, on the branch that lacks it), looked for in some of the files."""
        started = time.perf_counter()
        _git(self.root, "checkout", "--quiet", branch)

        def follows() -> bool:
            status = project(self.client, self.root)
            if status["state"] != "ready" or status["files_pending"] or status["files_unlinked"]:
                return False
            return all(found == (branch == "other") for one in added for found in self._finds(one))

        wait_until(follows, f"the branch {branch} to be seen", 600, 0.01)
        return time.perf_counter() - started

    def embeddings(self) -> int:
        """Wait until nothing waits to be embedded; return how many embeddings are kept."""
        wait_until(lambda: is_embedded(project(self.client, self.root)), "embeddings", poll_s=0.1)
        (database,) = (self.home / "state").rglob("embeddings.sqlite")
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return int(connection.execute("SELECT COUNT(*) FROM embeddings").fetchone()[0])
        finally:
            connection.close()

    def _finds(self, added: Added) -> tuple[bool, bool]:
        """Whether a definition is found by its words, and as a definition.

        By its words its chunk is found, which may hold more than one definition and then goes by no name.
        """
        words = self._ask(added.name)
        defined = self._ask(f"where is {added.name} defined")
        return (
            any(
                word["path"] == added.path and word["start_line"] <= added.line <= word["end_line"]
                for word in words
            ),
            any(one["symbol"] == added.name for one in defined),
        )

    def _ask(self, query: str) -> list[dict[str, Any]]:
        params = {"cwd": str(self.root), "query": query, "fresh": "no"}
        results: list[dict[str, Any]] = self.client.call("Query", params, WAIT_S)["results"]
        return results


def run(bench: Bench) -> list[Measure]:
    """Switch to a branch and back again; each changed file has one definition more on the branch."""
    home, files = bench.new_folder("b"), bench.count(FILES, 90)
    changed = files * CHANGED // FILES
    root = bench.part(files)
    added = _make_branches(root, changed)
    bare = Measure("git checkout, and reading the whole tree", "s")
    switch = Measure(f"branch switch, {changed} of {files:,} files", "s", target=4.0, baseline=bare)
    switch.judged = not bench.quick
    switch.note = "until what two of the files have more is found by name; memory is that of all processes"
    for branch in ("other", "first"):
        started = time.perf_counter()
        _git(root, "checkout", "--quiet", branch)
        read(str(root))
        bare.samples.append(time.perf_counter() - started)
    with running(environment(home)) as client:
        open_project(client, root, embedded=True)
        opened = Project(client, root, home)
        counts = [opened.embeddings()]
        for branch in ("other", "first") * bench.count(3, 1):
            switch.samples.append(opened.switch(branch, added[-2:]))
            counts.append(opened.embeddings())
        switch.memory_mb = all_mb(client)
    first = Measure("contents embedded for the first switch", "contents", [float(counts[1] - counts[0])])
    first.note = f"{changed} files have one definition more"
    again = Measure("contents embedded for all switches after it", "contents", target=0.0)
    again.samples.append(float(counts[-1] - counts[1]))
    return [bare, switch, first, again]


def _make_branches(root: Path, count: int) -> list[Added]:
    """Make a repository with the branches `first`, checked out, and `other`, which has a definition more in
    so many files; return these definitions."""
    paths = sorted(str(path.relative_to(root)) for path in root.rglob("*.py"))
    (root / ".git").rmdir()
    _git(root, "init", "--quiet", "--initial-branch=first")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message=first")
    _git(root, "checkout", "--quiet", "-b", "other")
    added: list[Added] = []
    for number, path in enumerate(paths[:: len(paths) // count][:count]):
        name = f"{NAME}_{number}"
        before = (root / path).read_bytes()
        written = before + f'\n\ndef {name}(given):\n    """Own it."""\n    return given\n'.encode()
        (root / path).write_bytes(written)
        added.append(Added(name, path, written.count(b"\n", 0, written.index(b"def " + name.encode())) + 1))
    _git(root, "commit", "--quiet", "--all", "--message=other")
    _git(root, "checkout", "--quiet", "first")
    return added


def _git(root: Path, *arguments: str) -> None:
    own = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@example.invalid", "-c", "gc.auto=0"]
    subprocess.run(["git", *own, *arguments], cwd=root, check=True)
