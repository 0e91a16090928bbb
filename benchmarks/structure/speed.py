"""Measures times and sizes: a real daemon on a copy of a real code base, asked over the socket."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import psutil
from foveal.ipc.client import Client

from .. import corpus
from ..own_daemon import WAIT_S, environment, running
from ..questions import definitions
from ..statistics import Measure

SEED = 4
QUESTIONS = {
    "what calls X": "what calls {}",
    "what does X call": "what does {} call",
    "where is X defined": "where is {} defined",
}
WARM = 20
"""Questions of each kind that are asked before anything is measured."""

QUERY_P50_MS = 0.5
QUERY_P99_MS = 5.0
VISIBLE_MS = 150.0
FIRST_S = 20.0
FIRST_FILES = 3_000
EDGE_BYTES = 60.0
"""What is aimed at: a query in the daemon at the median and at P99, an edit seen in answers, `FIRST_FILES`
source files read and linked, memory for an edge."""

_GRAPH = ("links", "names")
_BESIDE = ("facts", "consulted", "places", "unlinked")


def run(source: Path, folder: Path, *, quick: bool) -> list[Measure]:
    """Measure everything on a copy of `source` in `folder`; returns the lines of the table."""
    root = corpus.copy(source, folder / "project")
    environ = environment(folder)
    count = 100 if quick else 1_000
    names, files = definitions(root), sum(1 for _ in root.rglob("*.py"))
    with running(environ) as client:
        measures = [_first_index(client, root, files)]
        _queries(client, root, names[:WARM], WARM)  # what any query loads is no part of the graph
        before = _resident(client)
        measures += _queries(client, root, names, count)
        grown = _resident(client) - before
        measures += _edits(client, root, 10 if quick else 100)
        database = Path(next(iter((folder / "state").rglob("index.sqlite"))))
    edges, graph, beside = _sizes(database, folder / "sizes.sqlite")
    note = f"{edges:,} edges"
    memory = Measure("memory that the daemon grew by in queries, an edge", "bytes", [max(grown, 0) / edges])
    memory.target, memory.note = EDGE_BYTES, note
    measures += [
        memory,
        Measure("graph on the disk, an edge", "bytes", [graph / edges], note=note),
        Measure("what linking needs beside it on the disk, an edge", "bytes", [beside / edges], note=note),
    ]
    return measures


def _first_index(client: Client, root: Path, files: int) -> Measure:
    """Measure from nothing to everything read and linked, for as many files as the target speaks of."""
    client.call("Subscribe", {"topics": ["index.progress"]}, WAIT_S)
    started = time.perf_counter()
    client.call("OpenProject", {"path": str(root)}, WAIT_S)
    for event in client.events(WAIT_S):
        if event["data"]["state"] == "ready":
            break
    seconds = time.perf_counter() - started
    client.call("Subscribe", {"topics": []}, WAIT_S)
    note = f"{files:,} Python files, {seconds:.1f} s, {_busy(client):.1f} of the processors' time"
    return Measure(
        f"first parse and link, for {FIRST_FILES:,} files",
        "s",
        [seconds * FIRST_FILES / files],
        FIRST_S,
        note=note,
    )


def _queries(client: Client, root: Path, names: list[str], count: int) -> list[Measure]:
    """Measure each question about names at random: as the daemon timed it, and over the socket."""
    measures: list[Measure] = []
    everything: list[float] = []
    chooser = random.Random(SEED)
    for title, form in QUESTIONS.items():
        inside = Measure(f"{title}: in the daemon")
        outside = Measure(f"{title}: over the socket")
        busy, elsewhere = _busy(client), 0
        for name in chooser.choices(names, k=count):
            started = time.perf_counter()
            reply = _ask(client, root, form.format(name))
            outside.samples.append((time.perf_counter() - started) * 1000)
            inside.samples.append(reply["elapsed_ms"])
            elsewhere += reply["route"] != "structural"
        inside.note = f"{(_busy(client) - busy) / count * 1000:.2f} of the processor's time on average"
        if elsewhere:
            inside.note += f"; {elsewhere} by another route"
        everything += inside.samples
        measures += [inside, outside]
    median = Measure("all of them, in the daemon", samples=everything, target=QUERY_P50_MS)
    tail = Measure("all of them, tail", samples=everything, target=QUERY_P99_MS, which="p99")
    return [median, tail, *measures]


def _edits(client: Client, root: Path, count: int) -> list[Measure]:
    """Measure from the end of a write to the answer that names the caller which it brought."""
    target = root / "visible_callee.py"
    target.write_text("def visible_callee():\n    return 1\n", encoding="utf-8")
    caller = root / "visible_caller.py"
    measures = []
    for fresh in ("shown", "no"):
        measure = Measure(f"edit to its caller in the answer, fresh = {fresh}", target=VISIBLE_MS)
        for number in range(count):
            name = f"caller_{fresh}_{number}"
            caller.write_text(
                f"from visible_callee import visible_callee\n\n\ndef {name}():\n    visible_callee()\n",
                encoding="utf-8",
            )
            started = time.perf_counter()
            while name not in str(_ask(client, root, "what calls visible_callee", fresh)["results"]):
                if time.perf_counter() - started > 10:
                    raise RuntimeError(f"{name} never became visible")
            measure.samples.append((time.perf_counter() - started) * 1000)
        measures.append(measure)
    return measures


def _ask(client: Client, root: Path, text: str, fresh: str = "no") -> dict[str, Any]:
    reply: dict[str, Any] = client.call("Query", {"cwd": str(root), "query": text, "fresh": fresh}, WAIT_S)
    return reply


def _resident(client: Client) -> int:
    """Return the bytes that the daemon has in memory, without what it shares with others."""
    return int(psutil.Process(client.call("Ping")["pid"]).memory_full_info().uss)


def _busy(client: Client) -> float:
    """Return the seconds of processors' time that the daemon and its indexer have taken."""
    status = client.call("Status", {}, WAIT_S)
    times = [psutil.Process(pid).cpu_times() for pid in (client.call("Ping")["pid"], status["indexer_pid"])]
    return sum(each.user + each.system for each in times)


def _sizes(database: Path, copy: Path) -> tuple[int, int, int]:
    """Return how many edges an index has, the bytes of its graph, and of what linking needs beside it: what a
    copy shrinks by when their tables are dropped."""
    with sqlite3.connect(database) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    target.close()
    source.close()
    connection = sqlite3.connect(copy, isolation_level=None)
    try:
        edges = int(connection.execute("SELECT COUNT(*) FROM links").fetchone()[0])
        sizes = [_vacuumed(connection, copy)]
        for group in (_GRAPH, _BESIDE):
            for table in group:
                connection.execute(f"DROP TABLE {table}")
            sizes.append(_vacuumed(connection, copy))
    finally:
        connection.close()
    return max(edges, 1), sizes[0] - sizes[1], sizes[1] - sizes[2]


def _vacuumed(connection: sqlite3.Connection, path: Path) -> int:
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("VACUUM")
    return path.stat().st_size


__all__ = ["run"]
