"""The judged questions: which files answer them, and which unpacked code base each of them is about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..needed.projects import provide as provide_tree
from .corpora import provide, read_corpora
from .mining import read_questions
from .repositories import read_repositories

WRITTEN = Path(__file__).parent / "data" / "questions.jsonl"
WRITTEN_COLLECTION = "questions"
"""What the questions of that file are called together; others are called as their file."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One question. `relevant` grades files from 1 up, by their path in the project; `kind` is its collection
    where the collection knows no kinds."""

    id: str
    collection: str
    project: str
    split: str
    language: str
    kind: str
    text: str
    relevant: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Project:
    """A code base that is asked about. `group` tells corpora from trees, which may have the same names."""

    group: str
    name: str
    root: Path
    questions: tuple[Judged, ...]


def read_written(path: Path = WRITTEN) -> list[Judged]:
    """Return the questions that were written about the corpora; the corpus says which split one is in."""
    splits = {corpus.name: corpus.split for corpus in read_corpora()}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Judged(
            id=row["id"],
            collection=WRITTEN_COLLECTION,
            project=row["corpus"],
            split=splits[row["corpus"]],
            language=row["language"],
            kind=row["kind"],
            text=row["question"],
            relevant=row["relevant"],
        )
        for row in rows
    ]


def read_mined(path: Path) -> list[Judged]:
    """Return the questions of a file that `mining` wrote, or of one in its form; all answers are graded 1."""
    name = path.stem
    return [
        Judged(
            id=f"{name}-{mined.commit[:12]}",
            collection=name,
            project=mined.repo,
            split=mined.split,
            language=mined.language,
            kind=name,
            text=mined.query,
            relevant=dict.fromkeys(mined.answers, 1),
        )
        for mined in read_questions(path)
    ]


def corpus_projects(folder: Path, questions: Iterable[Judged]) -> list[Project]:
    """Return the corpora that are asked about; those that `folder` lacks are fetched (`corpora`)."""
    by_name = _by_project(questions)
    return [
        Project("corpora", corpus.name, provide(corpus, folder), by_name[corpus.name])
        for corpus in read_corpora()
        if corpus.name in by_name
    ]


def tree_projects(folder: Path, clones: Path, questions: Iterable[Judged]) -> list[Project]:
    """Return the trees that are asked about, written into `folder` if missing. Raises `FileNotFoundError` for
    one that `clones` lacks."""
    by_name = _by_project(questions)
    return [
        Project(
            "trees",
            repository.name,
            provide_tree(repository, clones, folder).root,
            by_name[repository.name],
        )
        for repository in read_repositories()
        if repository.name in by_name
    ]


def _by_project(questions: Iterable[Judged]) -> dict[str, tuple[Judged, ...]]:
    grouped: dict[str, list[Judged]] = {}
    for question in questions:
        grouped.setdefault(question.project, []).append(question)
    return {name: tuple(asked) for name, asked in grouped.items()}


def chosen(questions: Iterable[Judged], splits: Sequence[str], projects: Sequence[str]) -> list[Judged]:
    """Return the questions of these splits about these projects, of all projects if none is named."""
    return [
        question
        for question in questions
        if question.split in splits and (not projects or question.project in projects)
    ]
