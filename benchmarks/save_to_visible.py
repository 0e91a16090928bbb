"""Measures the time from the end of a write to an answer that shows it, beside watchman on the same tree."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from .bench import Bench
from .own_daemon import WAIT_S
from .statistics import Measure
from .watchman import Watchman, WatchmanMissing, watching

LIMIT_S = 10.0


def run(bench: Bench) -> list[Measure]:
    """Measure saves in turn: seen by comparison with the disk, by the watcher alone, and by watchman."""
    warm, count = bench.warm, bench.count(200, 20)
    path = warm.files[0]
    target = warm.root / path
    text = target.read_text(encoding="utf-8")
    params = {"cwd": str(warm.root), "focus_paths": [path]}
    lines = {
        "read": Measure("reading the file back"),
        "shown": Measure("save to visible, fresh = shown", target=100.0),
        "no": Measure("save to visible, fresh = no (the watcher alone)", target=100.0),
    }

    def shows(fresh: str) -> Callable[[str], bool]:
        asked = {**params, "fresh": fresh}
        return lambda mark: mark in warm.client.call("GetContext", asked, WAIT_S)["context"]

    with ExitStack() as stack:
        seers = {
            "read": lambda mark: mark in target.read_text(encoding="utf-8"),
            "shown": shows("shown"),
            "no": shows("no"),
        }
        watchman = _watchman(bench, warm.root, stack)
        if watchman is not None:
            lines["watchman"] = Measure("watchman: save to named by a query since a clock")
        warm.client.call("GetContext", params, WAIT_S)
        for number in range(count):
            for name, measure in lines.items():
                mark = f"# mark {name} {number}"
                sees = _named_by(watchman, path) if name == "watchman" and watchman else seers[name]
                target.write_text(f"{mark}\n{text}", encoding="utf-8")
                measure.samples.append(_wait(sees, mark))
    target.write_text(text, encoding="utf-8")
    return _with_tails(lines, warm.memory_mb())


def _with_tails(lines: dict[str, Measure], memory_mb: float) -> list[Measure]:
    measures = []
    for name, line in lines.items():
        measures.append(line)
        if line.target is not None:
            line.baseline, line.memory_mb = lines["watchman" if "watchman" in lines else "read"], memory_mb
            tail = Measure(f"{line.name}, tail", samples=line.samples, target=300.0, which="p99")
            tail.baseline = line.baseline
            measures.append(tail)
        if name == "read":
            line.note = "what only a look at the file takes"
    return measures


def _wait(sees: Callable[[str], bool], mark: str) -> float:
    """Ask until it is seen; return the milliseconds since the write ended."""
    started = time.perf_counter()
    while not sees(mark):
        if time.perf_counter() - started > LIMIT_S:
            raise RuntimeError(f"{mark} never became visible")
    return (time.perf_counter() - started) * 1000


def _named_by(watchman: Watchman, path: str) -> Callable[[str], bool]:
    """Return what asks watchman for changes since now; to be made before the write."""
    clock = watchman.clock()
    return lambda mark: path in watchman.changed_since(clock)


def _watchman(bench: Bench, root: Path, stack: ExitStack) -> Watchman | None:
    try:
        return stack.enter_context(watching(bench.new_folder("m"), root))
    except WatchmanMissing as error:
        bench.skip(f"watchman: {error}")
        return None
