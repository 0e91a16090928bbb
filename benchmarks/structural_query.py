"""Measures questions about the graph: as the daemon times them, and over the socket."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from .bench import Bench
from .own_daemon import WAIT_S
from .questions import definitions
from .statistics import Measure

SEED = 4
WARM_UP = 20
QUESTIONS = {
    "what calls X": "what calls {}",
    "what does X call": "what does {} call",
    "where is X defined": "where is {} defined",
}


def run(bench: Bench) -> list[Measure]:
    """Measure questions about names at random, beside one indexed look-up in the same database."""
    warm, count = bench.warm, bench.count(1_000, 60)
    names = definitions(warm.root)
    (database,) = (warm.home / "state").rglob("index.sqlite")
    bare = Measure("bare sqlite: links of a name").time(_look_up(database, names), count)
    inside: list[float] = []
    outside: list[float] = []
    kinds = []
    for title, form in QUESTIONS.items():
        chooser = random.Random(SEED)
        kind = Measure(f"{title}: over the socket")
        elsewhere = 0
        for number, name in enumerate(chooser.choices(names, k=count + WARM_UP)):
            params = {"cwd": str(warm.root), "query": form.format(name), "fresh": "no"}
            started = time.perf_counter()
            reply = warm.client.call("Query", params, WAIT_S)
            taken = (time.perf_counter() - started) * 1000
            if number >= WARM_UP:
                kind.samples.append(taken)
                inside.append(reply["elapsed_ms"])
                elsewhere += reply["route"] != "structural"
        if elsewhere:
            kind.note = f"{elsewhere} by another route"
        outside += kind.samples
        kinds.append(kind)
    memory = warm.memory_mb()

    def line(name: str, samples: list[float], target: float, which: str = "p50") -> Measure:
        return Measure(
            name, "ms", samples, target, which, baseline=bare, memory_mb=memory, judged=bench.is_full_size
        )

    return [
        bare,
        line("structural query, in the daemon", inside, 0.5),
        line("structural query, in the daemon, tail", inside, 5.0, "p99"),
        line("structural query, over the socket", outside, 0.5),
        line("structural query, over the socket, tail", outside, 5.0, "p99"),
        *kinds,
    ]


def _look_up(database: Path, names: list[str]) -> Callable[[], object]:
    """Return what looks up the definitions of a name at random, with an open connection."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    chooser = random.Random(SEED)

    def look_up() -> object:
        return connection.execute(_LOOK_UP, (chooser.choice(names),)).fetchall()

    return look_up


_LOOK_UP = "SELECT links.* FROM names JOIN links ON links.name = names.id WHERE names.name = ?"
