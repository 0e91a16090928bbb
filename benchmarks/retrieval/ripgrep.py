"""The baseline of searching for the question's words with ripgrep, as one without an index would."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from foveal.daemon.index.records import STOP_WORDS
from foveal.daemon.index.service import Reader

from .baselines import DEPTH, BaselineMissing
from .judged import Project

MIN_LETTERS = 3
"""Shorter words stand in every file."""

Matches = Mapping[str, Mapping[str, int]]
"""What matched how often, in lower case, by file."""


class Ripgrep:
    """Files go by how many different words of the question they hold anywhere, then by how often, in upper or
    lower case and inside of other words, as `rg --ignore-case` finds them; equal ones by path.

    Words of English grammar are left out (the product's stop words), which the same search with all words
    would lose by. All questions of a project are answered by one search for all of their words.
    """

    name = "ripgrep"

    def rank(self, project: Project, reader: Reader) -> list[list[str]]:
        """Search once and count for each question."""
        if shutil.which("rg") is None:
            raise BaselineMissing("ripgrep isn't installed (Debian's package ripgrep)")
        asked = [words(question.text) for question in project.questions]
        matches = _search(str(project.root), sorted(set().union(*asked)))
        return [order(matches, each) for each in asked]


def words(text: str) -> set[str]:
    """Return the words of a question that are searched for, in lower case."""
    found = {word.lower() for word in _WORD.findall(text)}
    return {word for word in found if len(word) >= MIN_LETTERS and word not in _STOP_WORDS}


def order(matches: Matches, asked: Iterable[str]) -> list[str]:
    """Return the files that hold any of the words, best first."""
    wanted = list(asked)
    ranks: dict[str, tuple[int, int]] = {}
    for path, counts in matches.items():
        # What matched may be a longer word of another question.
        hits = [sum(count for text, count in counts.items() if word in text) for word in wanted]
        if any(hits):
            ranks[path] = (sum(1 for hit in hits if hit), sum(hits))
    return sorted(ranks, key=lambda path: (-ranks[path][0], -ranks[path][1], path))[:DEPTH]


def _search(root: str, patterns: Iterable[str]) -> Matches:
    """Return all matches of some words in the files below a folder."""
    # The longest first: of words that begin alike ripgrep takes the first that is given.
    longest_first = sorted(patterns, key=lambda word: (-len(word), word))
    command = ["rg", "--ignore-case", "--fixed-strings", "--only-matching", "--no-heading", "--null"]
    command += ["--no-line-number", "--with-filename", "--no-config", "--threads=1", "--file=-", "./"]
    done = subprocess.run(
        command, cwd=root, input="\n".join(longest_first).encode(), stdout=subprocess.PIPE, check=False
    )
    if done.returncode > 1:  # 1 says that nothing was found
        raise BaselineMissing(f"ripgrep ended with status {done.returncode}")
    matches: dict[str, Counter[str]] = defaultdict(Counter)
    for line in done.stdout.split(b"\n"):
        path, _, text = line.partition(b"\0")
        if text:
            matches[path.decode("utf-8", "replace").removeprefix("./")][
                text.decode("utf-8", "replace").lower()
            ] += 1
    return matches


_WORD = re.compile(r"[^\W\d]\w*")
_STOP_WORDS = frozenset(STOP_WORDS.split())
