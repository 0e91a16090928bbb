"""The order of a run: each code base is indexed, embedded, and asked by every variant and baseline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foveal.daemon.index.store import FILE_NAME

from .asking import Asked, Clock
from .baselines import Baseline, BaselineMissing
from .bm25 import ChunkBm25, FileBm25
from .embedding import Embedder, EmbedFigures
from .history import put_history
from .indexing import IndexFigures, ensure_index, folder_bytes
from .judged import Project
from .results import Cost, Results
from .ripgrep import Ripgrep
from .variants import VARIANTS, Variant

EMBEDDING_BYTES = 384 * 2 + 16 + 8
"""What one embedding takes in the store: 16 bits a dimension, the content's digest, and an id."""


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
        results.baselines = tuple(baseline.name for baseline in baselines)
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
    figures = ensure_index(project.root, folder, fresh=options.fresh)
    if project.clone is not None:
        put_history(project.clone, project.revision, folder)
    vectors = embedder.vectors(project.name, folder) if embedder is not None else None
    embedded = EmbedFigures(0, 0, 0.0)
    if embedder is not None and vectors is not None:
        embedded = embedder.embed_all(vectors)
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
    results.costs.append(_cost(project, folder, figures, embedded))


def _ask(project: Project, asked: Asked, chosen: Sequence[Variant], results: Results) -> None:
    clock = Clock()
    asked.warm_up([question.text for question in project.questions])
    for question in project.questions:
        evidence = asked.evidence(question.text, clock)
        results.add(question, {variant.name: asked.rank(evidence, variant) for variant in chosen})
    results.add_times(clock.times)


def _ask_baseline(project: Project, baseline: Baseline, asked: Asked, results: Results) -> None:
    try:
        ranked = baseline.rank(project, asked.reader)
    except BaselineMissing as error:
        results.notes.append(f"{baseline.name} has no answers about {project.name}: {error}")
        return
    for question, found in zip(project.questions, ranked.rankings, strict=True):
        results.add(question, {baseline.name: found})
    results.add_times({f"{baseline.name}: a question": ranked.query_ms})


def _folder(project: Project, options: Options) -> Path:
    return options.state / "projects" / project.group / project.name


def _cost(project: Project, folder: Path, figures: IndexFigures, embedded: EmbedFigures) -> Cost:
    return Cost(
        project=project.name,
        files=figures.files,
        chunks=figures.chunks,
        contents=embedded.contents,
        index_s=figures.seconds,
        index_peak_mb=figures.peak_mb,
        embedded=embedded.embedded,
        embed_s=embedded.seconds,
        sqlite_mb=sum(path.stat().st_size for path in folder.glob(f"{FILE_NAME}*")) / 1e6,
        lexical_mb=folder_bytes(folder / "lexical") / 1e6,
        vectors_mb=folder_bytes(folder / "vectors") / 1e6,
        embeddings_mb=embedded.contents * EMBEDDING_BYTES / 1e6,
    )
