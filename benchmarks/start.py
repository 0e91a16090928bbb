"""Measures starts: a daemon's first answer with an index on the disk, a cold project's scope."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from .bench import Bench
from .own_daemon import WAIT_S, daemon_mb, is_ready, running, wait_until
from .statistics import Measure


def run(bench: Bench) -> list[Measure]:
    """Start the warm project's daemon again and again, beside a bare interpreter and an opened database."""
    warm, count = bench.warm, bench.count(20, 3)
    warm.stop()
    (database,) = (warm.home / "state").rglob("index.sqlite")
    bare = Measure("python -I -S -c pass").time(lambda: _run("-I", "-S", "-c", "pass"), count)
    opened = Measure("sqlite open, and a count of its files").time(lambda: _count_files(database), count)
    start = Measure("daemon start to its first answer, index on the disk", target=400.0, baseline=bare)
    cold = Measure("scope creation, tree from the disk", target=100.0, baseline=opened)
    compared = Measure("daemon start until the whole tree is compared with the disk", baseline=bare)
    early = 0
    for number in range(count):
        started = time.perf_counter()
        with running(warm.environ) as client:
            up = time.perf_counter()
            # A file of its own each time, so that no scope that is kept can answer.
            params: dict[str, Any] = {"cwd": str(warm.root), "focus_paths": [warm.files[-number - 1]]}
            reply = client.call("GetContext", params, WAIT_S)
            ended = time.perf_counter()
            assert any(one.get("path") == params["focus_paths"][0] for one in reply["slices"])
            early += reply["partial"]
            wait_until(partial(is_ready, client, warm.root), "the tree to be compared", poll_s=0.002)
            compared.samples.append((time.perf_counter() - started) * 1000)
            start.samples.append((ended - started) * 1000)
            cold.samples.append((ended - up) * 1000)
            start.memory_mb = cold.memory_mb = daemon_mb(client)
    start.judged = cold.judged = bench.is_full_size
    start.note = f"{early} of {count} before the tree was compared with the disk, which they tell"
    warm.restart()
    return [bare, start, compared, opened, cold]


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True)


def _count_files(database: Path) -> int:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT COUNT(*) FROM files").fetchone()[0])
    finally:
        connection.close()
