"""Measures questions in words: Query, beside ripgrep on the same files."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

from .bench import Bench
from .own_daemon import WAIT_S
from .questions import prompts
from .retrieval.ripgrep import words
from .statistics import Measure


def run(bench: Bench) -> list[Measure]:
    """Measure the same questions of both; ripgrep reads the files each time, as it has no index."""
    warm, count = bench.warm, bench.count(300, 30)
    asked = prompts(warm.root, count + 5)
    ours = Measure("Query in words, over the socket", note=f"{warm.opening.files:,} files")
    for number, text in enumerate(asked):
        if number == 5:  # the first ones load the model and map files
            ours.samples = []
        params = {"cwd": str(warm.root), "query": text}
        ours.time(partial(warm.client.call, "Query", params, WAIT_S))
    ours.memory_mb = warm.memory_mb()
    if shutil.which("rg") is None:
        bench.skipped.append("ripgrep: it isn't installed (Debian's package ripgrep)")
        return [ours]
    ours.baseline = _ripgrep(warm.root, asked[5:])
    return [ours.baseline, ours]


def _ripgrep(root: Path, asked: list[str]) -> Measure:
    command = ["rg", "--ignore-case", "--fixed-strings", "--count-matches", "--no-config", "--file=-", "./"]
    measure = Measure("ripgrep for the words of a question")
    for text in asked:
        given = "\n".join(sorted(words(text))).encode()
        measure.time(
            partial(subprocess.run, command, cwd=root, input=given, capture_output=True, check=False)
        )
    return measure
