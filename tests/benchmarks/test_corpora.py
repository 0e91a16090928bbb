"""A corpus is the archive that was pinned or nothing, and unpacking it writes files below its folder only."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

from foveal.benchmarks.retrieval import corpora
from foveal.benchmarks.retrieval.corpora import (
    Corpus,
    read_corpora,
    sha256_of,
)

KINDS = ("semantic", "architecture", "symbol", "task", "bug")


def pinned(archive: Path, **changes: object) -> Corpus:
    corpus = Corpus("thing", "pypi", "Thing", "1.0", sha256_of(archive), "python", "tune")
    return dataclasses.replace(corpus, **changes)  # type: ignore[arg-type]


def test_the_list_is_balanced() -> None:
    corpora = read_corpora()
    languages = {
        split: {each.language for each in corpora if each.split == split} for split in ("tune", "held_out")
    }
    assert len(corpora) == 12
    assert [len(languages[split]) for split in languages] == [6, 6]
    assert {"python", "typescript"} <= languages["tune"] & languages["held_out"]
    assert len(languages["tune"] | languages["held_out"]) >= 8


def test_the_questions_ask_about_the_corpora() -> None:
    lines = (corpora.LIST.parent / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    pins = {corpus.name: corpus for corpus in read_corpora()}
    assert len(questions) >= 240
    assert len({question["id"] for question in questions}) == len(questions)
    assert len({question["question"] for question in questions}) == len(questions)
    for question in questions:
        assert set(question) == {"id", "corpus", "language", "kind", "question", "relevant"}
        assert question["id"].startswith(f"{question['corpus']}-")
        assert question["language"] == pins[question["corpus"]].language
        assert max(question["relevant"].values()) == 2
        assert set(question["relevant"].values()) <= {1, 2}
        leave_out = pins[question["corpus"]].leave_out
        assert not any(path.startswith(f"{folder}/") for path in question["relevant"] for folder in leave_out)
    kinds = Counter((pins[question["corpus"]].split, question["kind"]) for question in questions)
    expected = {(split, kind) for split in ("tune", "held_out") for kind in KINDS}
    assert set(kinds) == expected
    assert min(kinds.values()) >= 24
