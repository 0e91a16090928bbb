"""The retrieval benchmark mines questions: which commits ask what, and which files of which tree answer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from foveal.benchmarks.retrieval.mining import (
    Question,
    mine_commits,
)
from foveal.benchmarks.retrieval.repositories import Repository


class History:
    """A repository whose commits are a minute apart, whatever the clock says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.minutes = 0
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, author: str = "Ann") -> str:
        date = f"{1_700_000_000 + 60 * self.minutes} +0000"
        identity = {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": "a@b", "GIT_AUTHOR_DATE": date}
        identity |= {"GIT_COMMITTER_NAME": author, "GIT_COMMITTER_EMAIL": "a@b", "GIT_COMMITTER_DATE": date}
        environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str, *paths: str, author: str = "Ann") -> str:
        """Change the files, with content of their own each time, and return the commit."""
        self.minutes += 1
        for path in paths:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(f"{path} {self.minutes}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}", author=author)
        return self.git("rev-parse", "HEAD")

    def repository(self, revision: str) -> Repository:
        until = self.git("rev-parse", "HEAD")
        return Repository(self.folder.name, f"ann/{self.folder.name}", revision, until, ("python",), "tune")


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "shop")


def test_a_commit_asks_its_message_and_is_answered_by_its_source_files(history: History) -> None:
    tree = history.commit("Start", "shop/cart.py", "shop/tax.py", "tests/test_cart.py", "CHANGELOG.md")
    fix = history.commit(
        "Round prices of carts half up (fixes #12)\n\nBanks do so.\n\nSigned-off-by: Ann <a@b>",
        *("shop/cart.py", "shop/tax.py", "shop/rounding.py", "tests/test_cart.py", "CHANGELOG.md"),
    )
    repository = history.repository(tree)
    assert mine_commits(history.folder, repository) == [
        Question(
            query="Round prices of carts half up\nBanks do so.",
            repo="shop",
            revision=tree,
            answers=("shop/cart.py", "shop/tax.py"),  # rounding.py is new: nothing to find in the tree
            language="python",
            split="tune",
            commit=fix,
        )
    ]


def test_commits_that_say_nothing_of_a_few_known_files_are_left_out(history: History) -> None:
    tree = history.commit("Start", "a.py", "b.py", "c.py", "d.py", "tests/test_a.py")
    history.commit("Make every module greet its caller politely", "a.py", "b.py", "c.py", "d.py")
    history.commit("Test the greeting of the first module", "tests/test_a.py")
    history.commit("Add a module that counts all greetings", "counter.py")
    history.commit("Count greetings of each caller on its own", "counter.py")  # not in the pinned tree
    history.commit("Update the greeting to the newest wording", "a.py", author="renovate[bot]")
    history.commit("Fix greeting", "a.py")
    kept = history.commit("Greet callers by their first name only", "a.py")
    history.commit("Greet callers by their last name again", "a.py")  # the answers of the one before
    (only,) = mine_commits(history.folder, history.repository(tree))
    assert only.commit == kept
