"""Owns the measure of a checkout that changes many files at once: until words and structure follow."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from foveal.ipc.client import Client

from .bench import Bench
from .own_daemon import WAIT_S, all_mb, environment, is_embedded, open_project, project, running, wait_until
from .statistics import Measure
from .trees import read

FILES, CHANGED = 3_000, 500
NAME = "benchmark_branch_definition"


@dataclass(frozen=True, slots=True)
class Project:
    """A repository that a daemon has open, and the folder of that daemon."""

    client: Client
    root: Path
    home: Path

    def switch(self, branch: str, files: int) -> float:
        """Check a branch out; return the seconds until the last file's new definition and its caller are
        found on the branch that has them, or are gone on the other."""
        started = time.perf_counter()
        _git(self.root, "checkout", "--quiet", branch)

        def follows() -> bool:
            status = project(self.client, self.root)
            if status["state"] != "ready" or status["files_pending"] or status["files_unlinked"]:
                return False
            return all(self._knows(files - 1 - back) == (branch == "other") for back in range(2))

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

    def _knows(self, number: int) -> bool:
        """Whether a definition of the branch is found by its name and by what calls it."""
        for query in (f"{NAME}_{number}", f"where is {NAME}_{number} defined"):
            params = {"cwd": str(self.root), "query": query, "fresh": "no"}
            results = self.client.call("Query", params, WAIT_S)["results"]
            if not any(one.get("symbol") == f"{NAME}_{number}" for one in results):
                return False
        return True


def run(bench: Bench) -> list[Measure]:
    """Switch to a branch and back again; each changed file has one definition more on the branch."""
    home, files = bench.new_folder("b"), bench.count(FILES, 90)
    changed = files * CHANGED // FILES
    root = bench.part(files)
    _make_branches(root, changed)
    bare = Measure("git checkout, and reading the whole tree", "s")
    switch = Measure(f"branch switch, {changed} of {files:,} files", "s", target=4.0, baseline=bare)
    switch.judged = not bench.quick
    switch.note = "until the last changed file is found by a new name; memory is that of all processes"
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
            switch.samples.append(opened.switch(branch, changed))
            counts.append(opened.embeddings())
        switch.memory_mb = all_mb(client)
    first = Measure("contents embedded for the first switch", "contents", [float(counts[1] - counts[0])])
    first.note = f"{changed} files have one definition more"
    again = Measure("contents embedded for all switches after it", "contents", target=0.0)
    again.samples.append(float(counts[-1] - counts[1]))
    return [bare, switch, first, again]


def _make_branches(root: Path, count: int) -> None:
    """Make a repository with the branches `first`, checked out, and `other`, with so many files changed."""
    paths = sorted(str(path.relative_to(root)) for path in root.rglob("*.py"))
    (root / ".git").rmdir()
    _git(root, "init", "--quiet", "--initial-branch=first")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message=first")
    _git(root, "checkout", "--quiet", "-b", "other")
    for number, path in enumerate(paths[:: len(paths) // count][:count]):
        with open(root / path, "a", encoding="utf-8") as file:
            file.write(f'\n\ndef {NAME}_{number}(given):\n    """Own it."""\n    return given\n')
    _git(root, "commit", "--quiet", "--all", "--message=other")
    _git(root, "checkout", "--quiet", "first")


def _git(root: Path, *arguments: str) -> None:
    own = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@example.invalid", "-c", "gc.auto=0"]
    subprocess.run(["git", *own, *arguments], cwd=root, check=True)
