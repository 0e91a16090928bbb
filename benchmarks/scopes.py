"""Measures making a scope in a warm project; that of a cold one is taken with the starts."""

from __future__ import annotations

import itertools

from .bench import Bench
from .own_daemon import WAIT_S
from .statistics import Measure


def run(bench: Bench) -> list[Measure]:
    """Measure the first context of a file that was not in focus before; it is durable when it is answered."""
    warm, count = bench.warm, bench.count(400, 40)
    # Such a scope was made by nobody before, since its constraints are new.
    numbers = itertools.count()
    files = itertools.cycle(warm.files)
    ping = Measure("Ping").time(lambda: warm.client.call("Ping"), count)

    def make() -> None:
        params = {"cwd": str(warm.root), "focus_paths": [next(files)], "constraints": [f"{next(numbers)}"]}
        assert not warm.client.call("GetContext", params, WAIT_S)["cached"]

    scope = Measure("scope creation, warm project", target=5.0, baseline=ping).time(make, count)
    scope.memory_mb, scope.judged = warm.memory_mb(), bench.is_full_size
    status = warm.client.call("Status", {}, WAIT_S)
    counted = status["scopes_bytes"] / 1e6 / max(status["scopes"], 1)
    memory = Measure("memory counted for a scope", "MB", [counted], target=10.0)
    memory.note = f"{status['scopes']} scopes"
    return [scope, memory]
