"""Measures a context for a prompt that was never asked before, embedding and search included."""

from __future__ import annotations

from .bench import Bench
from .own_daemon import WAIT_S
from .questions import prompts
from .statistics import Measure

WARM_UP = 5
"""Prompts that are asked before anything is measured: the model is loaded, files are mapped."""


def run(bench: Bench) -> list[Measure]:
    """Measure new prompts without a file in focus, and beside them the Query that is a part of each."""
    warm, count = bench.warm, bench.count(500, 60)
    asked = iter(prompts(warm.root, count * 2 + WARM_UP))
    query = Measure("Query of a new prompt", note="words, meaning and names")
    whole = Measure("GetContext, new prompt", target=30.0, judged=bench.is_full_size, baseline=query)
    for number in range(count + WARM_UP):
        if number == WARM_UP:
            query.samples, whole.samples = [], []
        whole.time(lambda: warm.client.call("GetContext", _params(warm.root, next(asked)), WAIT_S))
        if number >= WARM_UP:
            query.time(
                lambda: warm.client.call("Query", {"cwd": str(warm.root), "query": next(asked)}, WAIT_S)
            )
    whole.note = f"{warm.opening.files:,} files, {warm.opening.contents:,} contents embedded"
    whole.memory_mb = warm.memory_mb()
    return [query, whole, whole.tail(80.0)]


def _params(root: object, prompt: str) -> dict[str, object]:
    return {"cwd": str(root), "prompt": prompt}
