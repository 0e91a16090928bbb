"""The order of a run: each code base is indexed, embedded, and asked by every variant and baseline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foveal.daemon.core.storage import database_bytes
from foveal.daemon.index.store import FILE_NAME

from .asking import Asked, Clock
from .baselines import Baseline, BaselineMissing, kept_rank
from .bm25 import ChunkBm25, FileBm25
from .embedding import Embedder, EmbedFigures
from .figures import Searcher, memory, throughput
from .history import put_history
from .indexing import IndexFigures, ensure_index, folder_bytes
from .judged import Project
from .results import Cost, Results
from .ripgrep import Ripgrep
from .semble import Semble
from .variants import VARIANTS, Variant

EMBEDDING_BYTES = 384 * 2 + 16 + 8
"""What one embedding takes in the store: 16 bits a dimension, the content's digest, and an id."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: where what is made is kept, on how many threads to embed, whether to embed at all, to ask
    baselines, and to make the indexes anew. `semble` is the interpreter of the environment that has it."""

    state: Path
    threads: int = 1
    vectors: bool = True
    baselines: bool = True
    semble: Path | None = None
    fresh: bool = False


def run(projects: Sequence[Project], options: Options) -> Results:
    """Ask everything about every project; what was made stays in the state folder."""
    options.state.mkdir(parents=True, exist_ok=True)
    results = Results()
    if not options.vectors:
        results.notes.append("nothing was embedded: the full recipe is that of words and structure alone")
    embedder = Embedder(options.state / "embeddings", options.threads) if options.vectors else None
    try:
        baselines = _baselines(options, embedder, results)
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


def measure(projects: Sequence[Project], options: Options, results: Results) -> dict[str, float]:
    """Return throughput and memory with the largest of the projects, all of which have been asked."""
    largest = max(results.costs, key=lambda cost: cost.contents)
    project = next(project for project in projects if project.name == largest.project)
    embedder = Embedder(options.state / "embeddings", options.threads)
    try:
        rates = throughput(embedder, _folder(project, options))
    finally:
        embedder.close()
    texts = tuple(question.text for question in project.questions)
    searcher = Searcher(options.state / "embeddings", project.name, _folder(project, options), texts)
    return rates | memory(searcher)


def _baselines(options: Options, embedder: Embedder | None, results: Results) -> list[Baseline]:
    if not options.baselines:
        return []
    found: list[Baseline] = [Ripgrep(), ChunkBm25(), FileBm25()]
    if options.semble is None or embedder is None:
        results.notes.append("semble was not asked: that takes --semble and embeddings")
    else:
        folder = options.state / "semble"
        found.append(Semble(options.semble, folder, embedder))
        found.append(Semble(options.semble, folder, embedder, words_only=True))
    results.baselines = tuple(baseline.name for baseline in found)
    return found


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
            _ask_baseline(project, baseline, asked, options.state / "baselines", results)
    finally:
        asked.close()
    results.costs.append(_cost(project, folder, figures, embedded))


def _ask(project: Project, asked: Asked, chosen: Sequence[Variant], results: Results) -> None:
    clock = Clock()
    asked.warm_up([question.text for question in project.questions])
    for question in project.questions:
        evidence = asked.evidence(question.text, clock)
        results.add(question, {variant.name: asked.rank(evidence, variant) for variant in chosen})
    results.add_times(clock.times, clock.busy)


def _ask_baseline(project: Project, baseline: Baseline, asked: Asked, folder: Path, results: Results) -> None:
    try:
        ranked = kept_rank(baseline, project, asked.reader, folder)
    except BaselineMissing as error:
        results.notes.append(f"{baseline.name} has no answers about {project.name}: {error}")
        return
    for question, found in zip(project.questions, ranked.rankings, strict=True):
        results.add(question, {baseline.name: found})
    results.add_times({f"{baseline.name}: a question": ranked.query_ms})
    results.ready_s.setdefault(baseline.name, []).append(ranked.ready_s)


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
        sqlite_mb=database_bytes(str(folder / FILE_NAME)) / 1e6,
        lexical_mb=folder_bytes(folder / "lexical") / 1e6,
        vectors_mb=folder_bytes(folder / "vectors") / 1e6,
        embeddings_mb=embedded.contents * EMBEDDING_BYTES / 1e6,
    )
