"""The code bases that are asked about: pinned trees and published sources, with their questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..needed.projects import provide
from ..retrieval.corpora import read_corpora
from ..retrieval.judged import read_written
from ..retrieval.mining import mine_commits
from ..retrieval.repositories import Repository, clone_of, read_repositories

DATA = Path(__file__).parent / "data"
REPOSITORIES = DATA / "repositories.toml"
QUESTIONS = DATA / "questions.jsonl"
"""Written about the pinned trees; those of benchmarks/retrieval are about published sources."""

TRANSLATED = DATA / "translated.jsonl"
TRANSLATED_KINDS = ("german", "spanish", "chinese")
"""Some of `QUESTIONS` in other languages, in a table of their own and not part of the fit."""

COMMITS_MAX = 30


@dataclass(frozen=True, slots=True)
class Asked:
    """One question. `relevant` grades files from 1 up; `kind` is `commit` or the kind of a written one."""

    id: str
    project: str
    split: str
    language: str
    kind: str
    text: str
    relevant: dict[str, int]


@dataclass(frozen=True, slots=True)
class CodeBase:
    """A code base, where its files lie or will lie, and what is asked about it."""

    name: str
    group: str
    root: Path
    split: str
    questions: tuple[Asked, ...]


def corpora(folder: Path) -> list[CodeBase]:
    """Return the published sources in `folder` that questions were written about."""
    found = []
    for corpus in read_corpora():
        questions = tuple(
            Asked(one.id, one.project, corpus.split, one.language, one.kind, one.text, dict(one.relevant))
            for one in read_written()
            if one.project == corpus.name
        )
        if (folder / corpus.name).is_dir():
            found.append(CodeBase(corpus.name, "corpus", folder / corpus.name, corpus.split, questions))
    return found


def trees(clones: Path, folder: Path, only: Sequence[str] = ()) -> list[CodeBase]:
    """Return the pinned trees with their commits and written questions; trees are written if missing."""
    found = []
    for repository in read_repositories(REPOSITORIES):
        if only and repository.name not in only:
            continue
        questions = (*_commits(clone_of(clones, repository), repository), *written(repository))
        found.append(
            CodeBase(
                repository.name,
                "tree",
                folder / repository.name,
                repository.split,
                questions,
            )
        )
    return found


def write_tree(clones: Path, folder: Path, name: str) -> None:
    """Write a pinned tree if it isn't there."""
    for repository in read_repositories(REPOSITORIES):
        if repository.name == name:
            provide(repository, clones, folder)


def written(repository: Repository) -> list[Asked]:
    """Return the questions that were written about a tree."""
    files = [file for file in (QUESTIONS, TRANSLATED) if file.is_file()]
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [
        Asked(
            f"{repository.name}-{number:02}",
            repository.name,
            repository.split,
            repository.languages[0],
            row["kind"],
            row["question"],
            row["relevant"],
        )
        for number, row in enumerate(row for row in rows if row["project"] == repository.name)
    ]


def _commits(clone: Path, repository: Repository) -> list[Asked]:
    return [
        Asked(
            f"{repository.name}-{one.commit[:12]}",
            repository.name,
            repository.split,
            repository.languages[0],
            "commit",
            one.query,
            dict.fromkeys(one.answers, 1),
        )
        for one in mine_commits(clone, repository, COMMITS_MAX)
    ]
