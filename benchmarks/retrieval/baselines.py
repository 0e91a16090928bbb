"""The baselines: other ways to find the files for the same questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from foveal.daemon.index.store import Reader

from .judged import Project

DEPTH = 50
"""Files that a baseline is asked for, as many as the product."""


class BaselineMissing(Exception):
    """A baseline can't run here; the message says why and what would help."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a baseline found: for each question its files, best first; the seconds that it took to get ready,
    and the milliseconds for each question, empty where they weren't answered one by one."""

    rankings: list[list[str]]
    ready_s: float
    query_ms: list[float]


class Baseline(Protocol):
    """Another way to find files. `name` stands in the tables, `version` names all that its answers depend on
    beside the files."""

    name: str
    version: str

    def rank(self, project: Project, reader: Reader) -> Ranked:
        """Answer all questions of a project; `reader` reads the product's index of it.

        Raises `BaselineMissing`.
        """
        ...


def kept_rank(baseline: Baseline, project: Project, reader: Reader, folder: Path) -> Ranked:
    """Return what a baseline finds, from `folder` if it was asked the same about the same files before."""
    path = folder / f"{_digest(baseline, project, reader)}.json"
    if path.is_file():
        return Ranked(**json.loads(path.read_text(encoding="utf-8")))
    ranked = baseline.rank(project, reader)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(ranked)), encoding="utf-8")
    return ranked


def files_of_chunks(paths: Sequence[str], scores: Sequence[float]) -> list[str]:
    """Return the files of chunks, best first, each by its best chunk; chunks without a score are left out."""
    best: dict[str, float] = {}
    for path, score in zip(paths, scores, strict=True):
        if score > best.get(path, 0.0):
            best[path] = score
    return sorted(best, key=lambda path: (-best[path], path))[:DEPTH]


def _digest(baseline: Baseline, project: Project, reader: Reader) -> str:
    files = {path: record.digest.hex() for path, record in reader.load_files().items()}
    chunks = [chunk.digest.hex() for chunk in reader.chunks.of_paths(files)]
    asked = [question.text for question in project.questions]
    body = json.dumps([baseline.name, baseline.version, DEPTH, asked, files, chunks])
    return hashlib.blake2b(body.encode(), digest_size=16).hexdigest()
