"""Measures a large tree: names, hashes and symbols, a warm start, memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from foveal.ipc.client import Client

from .bench import Bench
from .own_daemon import (
    WAIT_S,
    all_mb,
    daemon_mb,
    environment,
    is_ready,
    open_project,
    running,
    wait_until,
)
from .statistics import Measure
from .synthetic import function_of, path_of, write_tree
from .trees import read, walk

FILES = 100_000
WITHOUT_MEANING = "[embedding]\nenabled = false\n"
"""Embedding so many files takes hours, and is measured by itself."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What a tree of so many files took: seconds, megabytes, milliseconds by request.

    `daemon` is its memory after the first index, `warm_daemon` after a warm start.
    """

    files: int
    walk: float
    read_all: float
    names: float
    hashed: float
    read: float
    linked: float
    warm_start: float
    compared: float
    daemon: float
    warm_daemon: float
    everything: float
    index: float
    requests: dict[str, Measure]


def run(bench: Bench) -> list[Measure]:
    """Measure a tree of 100,000 files."""
    one = tree(bench, FILES)
    name = f"{one.files:,} files: "
    walked = Measure(name + "os.scandir walk", "s", [one.walk])
    bare = Measure(name + "walking, reading and hashing", "s", [one.read_all])
    names = Measure(name + "all names", "s", [one.names], baseline=walked, memory_mb=one.daemon)
    hashes = Measure(name + "names and hashes", "s", [one.hashed], target=60.0, baseline=bare)
    symbols = Measure(name + "symbols and words", "s", [one.read], baseline=bare)
    linked = Measure(name + "symbols and links", "s", [one.linked], baseline=bare)
    start = Measure(name + "warm start to the first answer", "s", [one.warm_start], target=2.0)
    start.baseline = walked
    compared = Measure(name + "warm start until the tree is compared with the disk", "s", [one.compared])
    compared.baseline = walked
    most = max(one.daemon, one.warm_daemon)
    memory = Measure(name + "memory of the daemon", "MB", [most], target=600.0)
    memory.note = f"{one.daemon:.0f} after the first index, {one.warm_daemon:.0f} after a warm start"
    everything = Measure(name + "memory of all processes", "MB", [one.everything])
    disk = Measure(name + "index on the disk", "MB", [one.index])
    return [
        walked,
        bare,
        names,
        hashes,
        symbols,
        linked,
        start,
        compared,
        memory,
        everything,
        disk,
        *one.requests.values(),
    ]


def tree(bench: Bench, files: int) -> Tree:
    """Write a synthetic tree, open it, start its daemon again; once in a run for each number of files."""
    return bench.kept(("tree", files), lambda: _tree(bench, files))


def _tree(bench: Bench, files: int) -> Tree:
    home = bench.new_folder("t")
    root = write_tree(home / "project", files)
    walked, read_all = _seconds(walk, root), _seconds(read, root)
    environ = environment(home, WITHOUT_MEANING)
    with running(environ) as client:
        opening = open_project(client, root)
        requests = _requests(client, root, files, bench.count(200, 20))
        memory, everything = daemon_mb(client), all_mb(client)
    started = time.perf_counter()
    with running(environ) as client:
        params = {"cwd": str(root), "focus_paths": [path_of(_python(root, files // 2))]}
        client.call("GetContext", params, WAIT_S)
        warm = time.perf_counter() - started
        wait_until(partial(is_ready, client, root), "the tree to be compared")
        compared = time.perf_counter() - started
        warm_memory = daemon_mb(client)
    index = sum(path.stat().st_size for path in (home / "state").rglob("*") if path.is_file()) / 1e6
    return Tree(
        files=opening.files,
        walk=walked,
        read_all=read_all,
        names=opening.names,
        hashed=opening.hashed,
        read=opening.read,
        linked=opening.linked,
        warm_start=warm,
        compared=compared,
        daemon=memory,
        warm_daemon=warm_memory,
        everything=everything,
        index=index,
        requests=requests,
    )


def _requests(client: Client, root: Path, files: int, count: int) -> dict[str, Measure]:
    """Measure the hot answer, a new scope, questions in words and about the graph, spread over the tree."""
    hot = Measure(f"{files:,} files: hot GetContext")
    scope = Measure(f"{files:,} files: scope creation")
    words, callers = Measure(f"{files:,} files: Query in words"), Measure(f"{files:,} files: what calls X")
    params = {"cwd": str(root), "focus_paths": [path_of(_python(root, files // 3))]}
    client.call("GetContext", params, WAIT_S)
    hot.time(lambda: client.call("GetContext", params, WAIT_S), count)
    for number in range(count):
        one = _python(root, files * (number + 1) // count - 1)
        focus = {"cwd": str(root), "focus_paths": [path_of(one)], "constraints": [str(number)]}
        name = function_of(one)
        scope.time(partial(client.call, "GetContext", focus, WAIT_S))
        for measure, query in ((words, name.replace("_", " ")), (callers, f"what calls {name}")):
            asked = {"cwd": str(root), "query": query}
            measure.time(partial(client.call, "Query", asked, WAIT_S))
    return {"hot": hot, "scope": scope, "words": words, "callers": callers}


def _python(root: Path, number: int) -> int:
    """Return the number of a Python file of the tree: this one, or the next one before it."""
    return next(one for one in range(number, -1, -1) if (root / path_of(one)).is_file())


def _seconds(work: Callable[[str], object], root: Path) -> float:
    started = time.perf_counter()
    work(str(root))
    return time.perf_counter() - started
