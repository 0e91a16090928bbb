"""The order of a run: each code base is indexed, embedded, and asked by every variant and baseline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .asking import Asked
from .baselines import Baseline, BaselineMissing
from .bm25 import ChunkBm25, FileBm25
from .embedding import Embedder
from .indexing import ensure_index
from .judged import Project
from .results import Results
from .ripgrep import Ripgrep
from .variants import VARIANTS, Variant


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: where what is made is kept, on how many threads to embed, whether to embed at all, to ask
    baselines, and to make the indexes anew."""

    state: Path
    threads: int = 1
    vectors: bool = True
    baselines: bool = True
    fresh: bool = False


def run(projects: Sequence[Project], options: Options) -> Results:
    """Ask everything about every project; what was made stays in the state folder."""
    options.state.mkdir(parents=True, exist_ok=True)
    results = Results()
    if not options.vectors:
        results.notes.append("nothing was embedded: the full recipe is that of words and structure alone")
    embedder = Embedder(options.state / "embeddings", options.threads) if options.vectors else None
    try:
        baselines: list[Baseline] = [Ripgrep(), ChunkBm25(), FileBm25()] if options.baselines else []
        for number, project in enumerate(projects, 1):
            print(
                f"{number}/{len(projects)} {project.name}: {len(project.questions)} questions",
                file=sys.stderr,
            )
            _run_project(project, baselines, embedder, options, results)
    finally:
        if embedder is not None:
            embedder.close()
    return results


def _run_project(
    project: Project,
    baselines: Sequence[Baseline],
    embedder: Embedder | None,
    options: Options,
    results: Results,
) -> None:
    folder = _folder(project, options)
    ensure_index(project.root, folder, fresh=options.fresh)
    vectors = embedder.vectors(project.name, folder) if embedder is not None else None
    if embedder is not None and vectors is not None:
        embedder.embed_all(vectors)
    asked = Asked(folder, vectors, embedder.model if embedder is not None else None)
    try:
        _ask(
            project,
            asked,
            [variant for variant in VARIANTS if options.vectors or not variant.needs_vectors],
            results,
        )
        for baseline in baselines:
            _ask_baseline(project, baseline, asked, results)
    finally:
        asked.close()


def _ask(project: Project, asked: Asked, chosen: Sequence[Variant], results: Results) -> None:
    for question in project.questions:
        evidence = asked.evidence(question.text)
        results.add(question, {variant.name: asked.rank(evidence, variant) for variant in chosen})


def _ask_baseline(project: Project, baseline: Baseline, asked: Asked, results: Results) -> None:
    try:
        ranked = baseline.rank(project, asked.reader)
    except BaselineMissing as error:
        results.notes.append(f"{baseline.name} has no answers about {project.name}: {error}")
        return
    for question, found in zip(project.questions, ranked, strict=True):
        results.add(question, {baseline.name: found})


def _folder(project: Project, options: Options) -> Path:
    return options.state / "projects" / project.group / project.name
