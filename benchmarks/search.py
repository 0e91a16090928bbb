"""Measures questions in words: Query, beside ripgrep and bm25s on the same files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .bench import Bench
from .own_daemon import WAIT_S
from .questions import prompts
from .retrieval.ripgrep import words
from .statistics import Measure


def run(bench: Bench) -> list[Measure]:
    """Measure the same questions of all. ripgrep reads the files each time, as one without an index would;
    bm25s has an index in memory that has to be made, and no process to ask."""
    warm, count = bench.warm, bench.count(300, 30)
    asked = prompts(warm.root, count + 5)
    peers = [_ripgrep(bench, warm.root, asked[5:]), *_bm25s(bench, warm.root, asked[5:])]
    ours = Measure("Query in words, over the socket", note=f"{warm.opening.files:,} files")
    for number, text in enumerate(asked):
        if number == 5:  # the first ones load the model and map files
            ours.samples = []
        params = {"cwd": str(warm.root), "query": text}
        ours.time(partial(warm.client.call, "Query", params, WAIT_S))
    ours.memory_mb = warm.memory_mb()
    present = [peer for peer in peers if peer is not None]
    ours.baseline = present[0] if present else None
    return [*present, ours]


def _ripgrep(bench: Bench, root: Path, asked: list[str]) -> Measure | None:
    if shutil.which("rg") is None:
        bench.skip("ripgrep: it isn't installed (Debian's package ripgrep)")
        return None
    command = ["rg", "--ignore-case", "--fixed-strings", "--count-matches", "--no-config", "--file=-", "./"]

    def search(text: str) -> Callable[[], object]:
        given = "\n".join(sorted(words(text))).encode()
        return lambda: subprocess.run(command, cwd=root, input=given, capture_output=True, check=False)

    measure = Measure("ripgrep for the words of a question")
    for text in asked:
        measure.time(search(text))
    return measure


def _bm25s(bench: Bench, root: Path, asked: list[str]) -> list[Measure]:
    try:
        import bm25s  # type: ignore[import-untyped]  # has no annotations
    except ImportError:
        bench.skip("bm25s: it isn't installed (pip install bm25s)")
        return []
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    texts = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    index = bm25s.BM25()

    def build() -> None:
        index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)

    def ask(text: str) -> None:
        tokens = bm25s.tokenize([text], show_progress=False)
        index.retrieve(tokens, k=min(10, len(paths)), show_progress=False)

    built = Measure(f"bm25s: index of {len(paths):,} whole files").time(build)
    measure = Measure("bm25s: a question")
    for text in asked:
        measure.time(partial(ask, text))
    return [built, measure]
