"""Measures a whole code base with embeddings: contents a second, beside the bare model."""

from __future__ import annotations

import os
import random
import time
from contextlib import closing
from pathlib import Path

from foveal.daemon.index.service import Reader, embedded_text
from foveal.ipc.client import Client

from .bare_model import BareModel
from .bench import Bench, WarmProject
from .own_daemon import (
    all_mb,
    environment,
    is_embedded,
    open_project,
    processes,
    project,
    running,
    wait_until,
)
from .statistics import Measure

SAMPLE = 600
"""Chunks that the bare model embeds beside the index, half of them before it and half behind."""

LEAST_SHARE = 90.0
POLL_S = 0.1


def run(bench: Bench) -> list[Measure]:
    """Measure from OpenProject to the last embedding, on as many threads as the product takes by itself.

    The rate while it only embeds is held against the bare model on one thread a core that the product uses.
    """
    home = bench.new_folder("e")
    root = bench.part(bench.count(1_000_000, 300))
    texts = _chunk_texts(bench.warm, SAMPLE)
    bare = Measure("bare model in a loop, chunks a second", "a second")
    model = BareModel(_threads())
    model.embed(texts[:20])
    _rate(model, texts[: len(texts) // 2], bare)
    with running(environment(home)) as client:
        started = time.perf_counter()
        opening = open_project(client, root)
        linked = time.perf_counter() - started
        rate, busy = _embed(client, root)
        whole = time.perf_counter() - started
        contents, memory = project(client, root)["embedded"], all_mb(client)
    _rate(model, texts[len(texts) // 2 :], bare)
    alone = sum(bare.samples) / len(bare.samples)
    note = f"{opening.files:,} files, {contents:,} contents, {whole:.0f} s, words and links {linked:.0f} s"
    ours = Measure("full index with embeddings: contents a second", "a second", [contents / whole])
    ours.note, ours.baseline, ours.memory_mb = note, bare, memory
    model_only = Measure("full index: share of its time that the bare model would take", "%")
    model_only.samples.append(contents / alone / whole * 100)
    only = Measure("while it only embeds: contents a second", "a second", [rate], baseline=bare)
    share = Measure("while it only embeds: of what the bare model does", "%", [rate / alone * 100])
    share.target, share.least, share.judged = LEAST_SHARE, True, not bench.quick
    inside = Measure("while it only embeds: of its threads' time the embedder has", "%", [busy * 100])
    return [bare, ours, model_only, only, share, inside]


def _chunk_texts(warm: WarmProject, count: int) -> list[str]:
    """Return what the model is given of so many chunks of a project, taken at random."""
    (database,) = (warm.home / "state").rglob("index.sqlite")
    with closing(Reader(str(database.parent))) as reader:
        ids = [chunk.id for chunk in reader.chunks.of_paths(reader.load_files())]
        chosen = random.Random(5).sample(ids, min(count, len(ids)))
        texts = reader.chunks.texts(chosen).values()
        return [embedded_text(chunk.path, chunk.names, chunk.text) for chunk in texts]


def _threads() -> int:
    """Return how many threads the product embeds on by itself (`embedding.threads = 0`)."""
    return max(1, (os.cpu_count() or 2) // 2)


def _rate(model: BareModel, texts: list[str], bare: Measure) -> None:
    started = time.perf_counter()
    model.embed(texts)
    bare.samples.append(len(texts) / (time.perf_counter() - started))


def _embed(client: Client, root: Path) -> tuple[float, float]:
    """Wait for the last embedding; return contents a second since the first ones, and in which share of its
    threads' time the embedder had a processor."""
    # Until the first ones are there the model is being loaded.
    wait_until(lambda: project(client, root)["embedded"] > 0, "the first embeddings", poll_s=POLL_S)
    first = project(client, root)["embedded"]
    embedder = processes(client)["embedder"]
    times = [embedder.cpu_times()]
    started = time.perf_counter()

    def done() -> bool:
        times.append(embedder.cpu_times())
        return is_embedded(project(client, root))

    wait_until(done, f"{root} to be embedded", poll_s=POLL_S)
    seconds = time.perf_counter() - started
    embedded = project(client, root)["embedded"] - first
    taken = times[-1].user + times[-1].system - times[0].user - times[0].system
    return embedded / seconds, taken / seconds / _threads()
