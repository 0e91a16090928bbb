"""Measures the time from the end of a write to an answer that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable

from .bench import Bench
from .own_daemon import WAIT_S
from .statistics import Measure

LIMIT_S = 10.0


def run(bench: Bench) -> list[Measure]:
    """Measure saves in turn: read back, seen by comparison with the disk, and by the watcher alone."""
    warm, count = bench.warm, bench.count(200, 20)
    path = warm.files[0]
    target = warm.root / path
    text = target.read_text(encoding="utf-8")
    params = {"cwd": str(warm.root), "focus_paths": [path]}

    def shows(fresh: str) -> Callable[[str], bool]:
        asked = {**params, "fresh": fresh}
        return lambda mark: mark in warm.client.call("GetContext", asked, WAIT_S)["context"]

    bare = Measure("reading the file back", note="what only a look at the file takes")
    shown = Measure("save to visible, fresh = shown", target=100.0, baseline=bare)
    watched = Measure("save to visible, fresh = no (the watcher alone)", target=100.0, baseline=bare)
    seers = (
        (bare, lambda mark: mark in target.read_text(encoding="utf-8")),
        (shown, shows("shown")),
        (watched, shows("no")),
    )
    warm.client.call("GetContext", params, WAIT_S)
    for number in range(count):
        for measure, sees in seers:
            mark = f"# mark {measure.name} {number}"
            target.write_text(f"{mark}\n{text}", encoding="utf-8")
            measure.samples.append(_wait(sees, mark))
    target.write_text(text, encoding="utf-8")
    shown.memory_mb = watched.memory_mb = warm.memory_mb()
    return [bare, shown, shown.tail(300.0), watched, watched.tail(300.0)]


def _wait(sees: Callable[[str], bool], mark: str) -> float:
    """Ask until it is seen; return the milliseconds since the write ended."""
    started = time.perf_counter()
    while not sees(mark):
        if time.perf_counter() - started > LIMIT_S:
            raise RuntimeError(f"{mark} never became visible")
    return (time.perf_counter() - started) * 1000
