"""The git history of the pinned trees: what the product would count if it were there, up to the pin."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.index.message_table import Messages
from foveal.daemon.index.project_index import COUNTED_COMMITS, HISTORY_COMMITS
from foveal.daemon.index.store import Store
from foveal.daemon.project.git import change_counts, history


def put_history(clone: Path, revision: str, folder: Path) -> None:
    """Write into the index in `folder` how often the commits up to `revision` changed each of its files, and
    their messages.

    Counted by the product's own code, in a repository that borrows the clone's objects and ends at the pin:
    what the questions were mined from comes after it. Raises `GitError`, or `CalledProcessError`.
    """
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        _git(temporary, "init", "--quiet")
        objects = _git(str(clone), "rev-parse", "--git-path", "objects")
        borrowed = Path(temporary) / ".git" / "objects" / "info" / "alternates"
        borrowed.write_text(f"{(clone / objects).resolve()}\n", encoding="utf-8")
        _git(temporary, "update-ref", "--no-deref", "HEAD", revision)
        commits = history(temporary, HISTORY_COMMITS)
    counts = change_counts(commits[:COUNTED_COMMITS])
    store = Store(str(folder), System())
    try:
        known = store.load_files()
        messages = Messages(known)
        for commit in commits:
            messages.add(commit.message, commit.paths)
        with store.side_notes():
            store.put_commits({path: count for path, count in counts.items() if path in known})
            store.put_messages(messages)
    finally:
        store.close()


def _git(folder: str, *arguments: str) -> str:
    # The clone may belong to somebody else, who could have it start programs; these commands start none.
    command = [
        "git",
        "-C",
        folder,
        "-c",
        "safe.directory=*",
        "-c",
        f"core.hooksPath={os.devnull}",
        *arguments,
    ]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
