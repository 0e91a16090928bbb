"""What a host costs with foveal: characters that reach its model, and milliseconds that each hook adds."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..statistics import Measure
from .world import World

MOMENTS = ("prompt_id", "tool_use_id", "turn_id")
"""Fields that say which event of its kind one is; a repeated event costs less."""

COLUMNS = ("start and first prompt", "second prompt, resumed", "subagent", "prompt 10", "after a compaction")


def hook_times(world: World, count: int) -> dict[str, tuple[float, float]]:
    """Send the last payload of each event again, and return the milliseconds beyond a bare interpreter.

    They are given at the median and for the slowest of a hundred.
    """
    program = Path(sys.executable).with_name("foveal")
    last = {one.name: one.fields for one in world.payloads()}
    found = {name: Measure(name) for name in last}
    for number in range(count):
        bare = _timed([sys.executable, "-I", "-S", "-c", "pass"], {}, world)
        for name, fields in last.items():
            changed = {**fields, "replayed": number}
            changed |= {field: f"{number}-{name}" for field in MOMENTS if field in fields}
            command = [str(program), "hook", world.host.host, *([name] if name[:1].islower() else [])]
            found[name].samples.append(_timed(command, changed, world) - bare)
    return {name: (measure.p50, measure.p99) for name, measure in found.items()}


def _timed(command: Sequence[str], fields: Mapping[str, Any], world: World) -> float:
    data = json.dumps(fields).encode()
    started = time.perf_counter()
    subprocess.run(
        command, input=data, env=world.environ, cwd=world.root, stdout=subprocess.DEVNULL, check=True
    )
    return (time.perf_counter() - started) * 1000


def tables(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the two tables for docs/hosts.md."""
    yield f"| host | {' | '.join(COLUMNS)} |"
    yield f"|---|{'---|' * len(COLUMNS)}"
    for title, result in results.items():
        given = result["characters"]
        shown = [f"{given[name]:,}" if name in given else "" for name in COLUMNS]
        yield f"| {title} | {' | '.join(shown)} |"
    yield ""
    yield "| host | milliseconds that each hook adds, P50 / P99 |"
    yield "|---|---|"
    for title, result in results.items():
        times = [f"{name} {p50:.0f} / {p99:.0f}" for name, (p50, p99) in result["hooks"].items()]
        if times:
            yield f"| {title} | {', '.join(times)} |"
