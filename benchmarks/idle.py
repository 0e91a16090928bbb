"""Measures a daemon that nobody asks anything: processors' time and memory, the model unloaded."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil

from .bench import Bench
from .own_daemon import WAIT_S, all_mb, busy_s, daemon_mb, wait_until
from .statistics import Measure

SOON = "[embedding]\nidle_minutes = 0.05\n"
"""So that the embedder, and the model with it, is gone before the measure begins."""


def run(bench: Bench) -> list[Measure]:
    """Measure all processes of the daemon for a while, beside a bare interpreter's memory.

    The warm project's daemon keeps this setting, so no benchmark that asks it comes behind.
    """
    warm, seconds = bench.warm, bench.count(60, 5)
    warm.restart(SOON)
    client = warm.client
    wait_until(lambda: not client.call("Status", {}, WAIT_S)["embedder"]["pid"], "the embedder to end", 60)
    time.sleep(2)  # what follows an opening is over
    busy, started = busy_s(client), time.perf_counter()
    time.sleep(seconds)
    share = (busy_s(client) - busy) / (time.perf_counter() - started) * 100
    note = f"one project of {warm.opening.files:,} files, {seconds} s"
    cpu = Measure("idle: share of a core, all processes", "%", [share], target=0.5, note=note)
    bare = Measure("memory of a bare interpreter", "MB", [_bare_mb()])
    own = Measure("idle: memory of the daemon", "MB", [daemon_mb(client)], target=150.0, baseline=bare)
    everything = Measure("idle: memory of all processes", "MB", [all_mb(client)], target=150.0, baseline=bare)
    everything.note = "what they share counted once"
    cpu.judged = own.judged = everything.judged = bench.is_full_size
    return [cpu, bare, own, everything]


def _bare_mb() -> float:
    """Return the resident memory of an interpreter that waits for its standard input."""
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        resident = psutil.Process(process.pid).memory_info().rss / 1e6
        process.communicate(b"\n")
    return resident
