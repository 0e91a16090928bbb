"""The questions in git histories: messages of commits, answered by the source files they changed."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from .messages import question
from .repositories import Repository, clone_of, git_command, read_repositories
from .source_files import language_of

COMMITS_PER_REPOSITORY = 25
"""The first ones after the pinned tree, so that the tree is nearly the one that the commit was made on."""

ANSWERS_AT_MOST = 3
"""Source files, new ones counted: a commit of more is about several things."""

_BOTS = ("[bot]", "dependabot", "renovate", "weblate", "transifex", "github-actions")
_RECORD = "\0\x1e"
"""Starts a commit in git's output: no message can hold it, as none holds a NUL."""

_FORMAT = "--format=%x00%x1e%H%x00%an%x00%B%x00"


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one repository's pinned tree; `answers` are paths in that tree, sorted."""

    query: str
    repo: str
    revision: str  # of the tree
    answers: tuple[str, ...]
    language: str  # of the first answer
    split: str
    commit: str  # it made the change


@dataclass(frozen=True, slots=True)
class _Commit:
    id: str
    author: str
    message: str
    changes: tuple[tuple[str, str], ...]  # git's status letter and the path


def main() -> int:
    """Write the questions as JSON lines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval.mining", description=__doc__)
    parser.add_argument("clones", type=Path, help="folder with a full clone of each repository")
    parser.add_argument("commits", type=Path, help="file for the questions")
    arguments = parser.parse_args()
    commits: list[Question] = []
    for repository in read_repositories():
        clone = clone_of(arguments.clones, repository)
        commits += mine_commits(clone, repository)
    write_questions(arguments.commits, commits)
    print(f"{len(commits)} commits", file=sys.stderr)
    return 0


def mine_commits(clone: Path, repository: Repository, limit: int = COMMITS_PER_REPOSITORY) -> list[Question]:
    """Return at most `limit` questions from the commits after the pinned tree, the oldest first.

    Left out: what `messages.question` leaves out, commits by bots, and those with the answers or the words of
    one that is there already. Raises `subprocess.CalledProcessError` if the clone lacks a pinned commit.
    """
    chosen: list[Question] = []
    seen: set[object] = set()
    for candidate in _candidates(clone, repository):
        if not candidate.query or candidate.query in seen or candidate.answers in seen:
            continue
        seen |= {candidate.query, candidate.answers}
        chosen.append(candidate)
        if len(chosen) == limit:
            break
    return chosen


def write_questions(path: Path, questions: Iterable[Question]) -> None:
    """Write one JSON object a line."""
    lines = [json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in questions]
    path.write_text("".join(lines), encoding="utf-8")


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file that `write_questions` wrote."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Question(**{key: row[key] for key in row if key != "issues"} | {"answers": tuple(row["answers"])})
        for row in rows  # `issues` are of files that earlier versions wrote
    ]


def _candidates(clone: Path, repository: Repository) -> Iterator[Question]:
    """Yield each commit whose changed source files are few and, but for new ones, in the pinned tree.

    The query is "" where the message asks nothing.
    """
    tree = _paths(clone, repository.revision)
    for commit in _commits(clone, repository):
        changes = [(status, path) for status, path in commit.changes if language_of(path)]
        answers = tuple(sorted(path for status, path in changes if status != "A"))
        if not answers or len(changes) > ANSWERS_AT_MOST or not tree.issuperset(answers):
            continue
        if any(bot in commit.author.lower() for bot in _BOTS):
            continue
        yield Question(
            query=question(commit.message),
            repo=repository.name,
            revision=repository.revision,
            answers=answers,
            language=language_of(answers[0]),
            split=repository.split,
            commit=commit.id,
        )


def _paths(clone: Path, revision: str) -> set[str]:
    return set(_git(clone, "ls-tree", "-r", "-z", "--name-only", revision).split("\0"))


def _commits(clone: Path, repository: Repository) -> Iterator[_Commit]:
    """Yield the commits from `revision` to `until`, parents first, without merges; a rename is two changes.

    Commits dated before the tree came by a merge of a branch that had left long before: they are left out.
    """
    since = int(_git(clone, "show", "--no-patch", "--format=%ct", repository.revision))
    span = f"{repository.revision}..{repository.until}"
    order = ("--reverse", "--date-order", "--no-merges", f"--since={since}")
    shown = ("--name-status", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", _FORMAT)
    for record in _git(clone, "log", *order, *shown, span).split(_RECORD)[1:]:
        head, author, message, *fields = record.split("\0")
        names = [field.lstrip("\n") for field in fields if field.strip("\n")]
        yield _Commit(head, author, message, tuple(zip(names[::2], names[1::2], strict=True)))


def _git(clone: Path, *arguments: str) -> str:
    done = subprocess.run(git_command(clone, *arguments), stdout=subprocess.PIPE, check=True)
    return os.fsdecode(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
