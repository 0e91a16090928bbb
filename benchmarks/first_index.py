"""Measures a project that was never seen: from OpenProject to the first usable answer."""

from __future__ import annotations

import hashlib
import os
import time

from .bench import Bench
from .own_daemon import WAIT_S, all_mb, daemon_mb, environment, open_project, running
from .questions import definitions
from .statistics import Measure

TARGETS = {300: 1.0, 3_000: 8.0}
"""Seconds to words and structure, by files."""


def run(bench: Bench) -> list[Measure]:
    """Measure each size some times, each time a new project of a daemon that runs; embedding is on."""
    measures: list[Measure] = []
    for files, target in TARGETS.items():
        if files == 300 or not bench.quick:
            measures += _measure(bench, files, target)
    return measures


def _measure(bench: Bench, files: int, target: float) -> list[Measure]:
    bare = Measure(f"walking, reading and hashing {files:,} files", "s")
    names = Measure(f"never-seen project of {files:,} files: all names", "s", baseline=bare)
    contents = Measure(f"never-seen project of {files:,} files: all definitions", "s", baseline=bare)
    answer = Measure(f"never-seen project of {files:,} files: first usable answer", "s", baseline=bare)
    answer.target = target
    answer.note = "a definition found by its name, and its callers; memory is that of all processes"
    for _ in range(bench.count(3, 2)):
        root = bench.part(files)
        started = time.perf_counter()
        read(str(root))
        bare.samples.append(time.perf_counter() - started)
        with running(environment(bench.new_folder("f"))) as client:
            client.call("Ping")
            name = definitions(root)[0]
            started = time.perf_counter()
            opening = open_project(client, root)
            for query in (f"where is {name} defined", f"what calls {name}", name.replace("_", " ")):
                reply = client.call("Query", {"cwd": str(root), "query": query}, WAIT_S)
                assert reply["results"] or reply["route"] == "structural", query
            answer.samples.append(time.perf_counter() - started)
            names.samples.append(opening.names)
            contents.samples.append(opening.read)
            answer.memory_mb, names.memory_mb = all_mb(client), daemon_mb(client)
    return [bare, names, contents, answer]


def read(folder: str) -> int:
    """Walk a tree, read each file and hash it; return the bytes that there are."""
    size = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                size += read(entry.path)
            else:
                with open(entry.path, "rb", buffering=0) as file:
                    data = file.read()
                hashlib.blake2b(data, digest_size=16).digest()
                size += len(data)
    return size
