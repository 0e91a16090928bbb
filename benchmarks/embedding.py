"""Measures the embedding model: one text and batches, beside the bare model in a loop."""

from __future__ import annotations

import os
import random
from functools import partial

import numpy as np
from foveal.daemon.core.system import System
from foveal.daemon.embedding.messages import DEFAULT_MODEL
from foveal.daemon.embedding.model import EmbeddingModel, load_model
from foveal.daemon.index.chunks import embedded_text
from foveal.daemon.index.store import Reader

from .bare_model import BareModel
from .bench import Bench, WarmProject
from .machine import peak_mb
from .questions import prompts
from .statistics import Measure

SAME = 0.99
"""The least cosine of the product's embedding of a text with the bare model's."""


def run(bench: Bench) -> list[Measure]:
    """Measure in this process, on as many threads as there are cores; first that both mean the same."""
    warm, count = bench.warm, bench.count(200, 20)
    threads = os.cpu_count() or 1
    model = load_model(DEFAULT_MODEL, str(bench.folder), threads, lambda *step: None, System())
    bare = BareModel(threads)
    texts = [text.ljust(200, ".")[:200] for text in _texts(warm, 100)]
    chunks = chunk_texts(warm, 100)
    _check(model, bare, chunks[:10])
    measures = []
    for name, given, target, times in (
        ("one text of 200 characters", texts[:1], 5.0, count),
        ("a batch of 100 of them", texts, 500.0, count // 10),
        ("a batch of 100 real chunks", chunks, None, count // 10),
    ):
        base, ours = Measure(f"bare model: {name}"), Measure(f"embedding {name}", target=target)
        for number in range(times + 1):  # in turn, so that what the machine does besides reaches both
            base.time(partial(bare.embed, given))
            ours.time(partial(model.embed, given))
            if not number:  # the first call takes what is only taken once
                base.samples, ours.samples = [], []
        ours.baseline = base
        measures += [base, ours]
    measures[-1].memory_mb = peak_mb()
    measures[-1].note = "its memory is the peak of this process, both models in it"
    model.close()
    return measures


def chunk_texts(warm: WarmProject, count: int) -> list[str]:
    """Return what the model is given of so many chunks of a project, taken at random."""
    (database,) = (warm.home / "state").rglob("index.sqlite")
    reader = Reader(str(database.parent))
    try:
        ids = [chunk.id for chunk in reader.chunks.of_paths(reader.load_files())]
        chosen = random.Random(5).sample(ids, min(count, len(ids)))
        return [
            embedded_text(chunk.path, chunk.names, chunk.text)
            for chunk in reader.chunks.texts(chosen).values()
        ]
    finally:
        reader.close()


def _texts(warm: WarmProject, count: int) -> list[str]:
    asked = prompts(warm.root, count * 4)
    return [" ".join(asked[row : row + 4]) for row in range(0, len(asked), 4)]


def _check(model: EmbeddingModel, bare: BareModel, texts: list[str]) -> None:
    least = float(np.min(np.sum(model.embed(texts) * bare.embed(texts), axis=1)))
    if least < SAME:
        raise RuntimeError(f"the bare model embeds something else (cosine {least:.3f}): nothing to compare")
