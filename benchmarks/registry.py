"""The list of benchmarks: by name what each measures, and whether a quick run has it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from .bench import Bench
from .statistics import Measure


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A file of this folder, by its name; `about` says what it measures."""

    name: str
    about: str
    quick: bool = True

    def run(self, bench: Bench) -> list[Measure]:
        """Run it; its packages are imported only now."""
        measures: list[Measure] = import_module(f".{self.name}", __package__).run(bench)
        return measures


BENCHMARKS = (
    # The warm project is fresh for the first ones; those that restart its daemon come behind them.
    Benchmark("hot_context", "an unchanged scope over the socket: alone, pipelined, beside a full index"),
    Benchmark("prompt_context", "GetContext for a new prompt, embedding included"),
    Benchmark("scopes", "making a scope in a warm project"),
    Benchmark("rendering", "rendering 100 KB, and building it"),
    Benchmark("structural_query", "questions about the graph"),
    Benchmark("search", "questions in words, beside ripgrep and bm25s"),
    Benchmark("freshness", "GetContext with fresh = tree while nothing changes"),
    Benchmark("save_to_visible", "from a save to the context that shows it, beside watchman"),
    Benchmark("start", "daemon start to first answer, and the first scope of a cold project"),
    # It leaves the daemon with another setting, so that none that asks it follows.
    Benchmark("idle", "processors' time and memory while nothing is asked"),
    Benchmark("full_index", "embeddings of a whole code base beside the bare model", quick=False),
    Benchmark("shared_embeddings", "a project embedded on one machine and opened on another beside a Redis"),
    Benchmark("branch_switch", "a checkout that changes a sixth of the files"),
    Benchmark("first_index", "from a never-seen project to the first usable answer"),
    Benchmark("repo_map", "a map of a project for a prompt, beside aider's"),
    Benchmark("embedding", "embedding one text and batches beside the bare model"),
    Benchmark("fusion", "merging three lists of a hundred"),
    Benchmark("vector_query", "the ten nearest of 10,000, 100,000 and a million vectors, beside numpy"),
    Benchmark("filtered_vectors", "the same among a part of them"),
    Benchmark("embeddings_store", "memory and disk of embeddings"),
    Benchmark("hook_process", "a hook's whole process beside a bare interpreter"),
    Benchmark("busy_folder", "two projects beside 80,000 files that change all the time", quick=False),
    Benchmark("large_tree", "a tree of 100,000 files", quick=False),
    Benchmark("growth", "how costs grow with files and vectors, with the exponents", quick=False),
)


def find(names: list[str]) -> list[Benchmark]:
    """Return the benchmarks of these names in their order. Raises `KeyError` for a name that none has."""
    known = {one.name for one in BENCHMARKS}
    for name in names:
        if name not in known:
            raise KeyError(name)
    return [one for one in BENCHMARKS if one.name in names]
