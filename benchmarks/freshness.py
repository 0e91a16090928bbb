"""Measures a context that reflects every change of an idle tree (fresh = tree)."""

from __future__ import annotations

from .bench import Bench
from .own_daemon import WAIT_S
from .statistics import Measure
from .trees import walk
from .watchman import WatchmanMissing, watching


def run(bench: Bench) -> list[Measure]:
    """Measure it beside a bare walk with a stat a file, and watchman's answer to the same question."""
    warm, count = bench.warm, bench.count(200, 20)
    params = {"cwd": str(warm.root), "focus_paths": warm.files[:1], "fresh": "tree"}
    warm.client.call("GetContext", params, WAIT_S)
    walked = Measure("os.scandir walk with a stat a file").time(lambda: walk(str(warm.root)), count)
    ours = Measure("GetContext with fresh = tree, nothing changed", target=30.0, baseline=walked)
    ours.time(lambda: warm.client.call("GetContext", params, WAIT_S), count)
    ours.note, ours.judged = f"{warm.opening.files:,} files", bench.is_full_size
    ours.memory_mb = warm.memory_mb()
    measures = [walked, ours]
    try:
        with watching(bench.new_folder("m"), warm.root) as watchman:
            clock = watchman.clock()
            peer = Measure("watchman: what changed since a clock, nothing did")
            measures.insert(1, peer.time(lambda: watchman.changed_since(clock), count))
    except WatchmanMissing as error:
        bench.skip(f"watchman: {error}")
    return measures
