"""Entry point: python -m benchmarks prints one table, with --quick in a minute.

$ python -m benchmarks
$ python -m benchmarks --quick
$ python -m benchmarks --list
$ python -m benchmarks --only hot_context --only search
$ python -m benchmarks --json-file times.json         # which python -m benchmarks.figures takes
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from . import machine
from .bench import Bench
from .machine import Machine
from .statistics import Measure, table

BENCHMARKS = {
    # The warm project is fresh for the first ones; those that restart its daemon come behind them.
    "hot_context": "an unchanged scope over the socket: alone, pipelined, beside a full index",
    "prompt_context": "GetContext for a new prompt, embedding included",
    "scopes": "making a scope in a warm project",
    "structural_query": "questions about the graph",
    "search": "questions in words, beside ripgrep",
    "save_to_visible": "from a save to the context that shows it",
    "start": "daemon start to first answer, and the first scope of a cold project",
    # It leaves the daemon with another setting, so that none that asks it follows.
    "idle": "processors' time and memory while nothing is asked",
    "vector_index": "the nearest of 100 to 100,000 vectors, beside comparing all in numpy",
    "first_index": "from a never-seen project to the first usable answer",
    "full_index": "embeddings of a whole code base beside the bare model",
}
"""What each file of this folder measures that a run has, in the order of the run."""

WHOLE_RUN = frozenset({"full_index"})
"""What a quick run leaves out."""


def main(arguments: list[str] | None = None) -> int:
    """Run and print; the exit status is 1 for a failed benchmark or, in a whole run, a missed target.

    For an unknown name it is 2.
    """
    options = _parser().parse_args(arguments)
    if options.list:
        for name, about in BENCHMARKS.items():
            print(f"{name:18} {'(whole run) ' if name in WHOLE_RUN else ''}{about}")
        return 0
    for name in options.only:
        if name not in BENCHMARKS:
            print(f"no benchmark is called {name}; see: python -m benchmarks --list", file=sys.stderr)
            return 2
    wanted = options.only or (BENCHMARKS.keys() - WHOLE_RUN if options.quick else BENCHMARKS)
    chosen = [name for name in BENCHMARKS if name in wanted]
    seen = machine.look()
    if seen.warning:
        print(f"warning: {seen.warning}", file=sys.stderr)
    with Bench(quick=options.quick, source=options.project) as bench:
        groups = _run(chosen, bench)
        print(_page(seen, bench, groups))
        if options.json_file:
            body = {"machine": seen.description, "date": seen.date, "load": seen.load, "quick": bench.quick}
            body["measures"] = [one.to_map() for group in groups.values() for one in group]
            options.json_file.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    missed = any(one.met is False for group in groups.values() for one in group)
    return int(bool(bench.failed) or (missed and not options.quick))


def _run(chosen: list[str], bench: Bench) -> dict[str, list[Measure]]:
    """Run them in turn; a line on standard error says which, and what it took."""
    groups = {}
    for name in chosen:
        print(f"{name}: {BENCHMARKS[name]} …", file=sys.stderr, flush=True)
        started = time.perf_counter()
        try:
            groups[name] = import_module(f".{name}", __package__).run(bench)
        except Exception as error:  # noqa: BLE001 - the other figures stay, and it is told below them
            traceback.print_exc()
            bench.failed.append(f"{name} failed: {type(error).__name__}: {error}")
        print(f"  {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
    return groups


def _page(seen: Machine, bench: Bench, groups: dict[str, list[Measure]]) -> str:
    size = "a quick run, targets of larger projects aren't judged" if bench.quick else "a whole run"
    load = ", ".join(f"{one:.1f}" for one in seen.load)
    lines = [f"{bench.source.name}, {seen.description}, {seen.date}, load {load} at the start; {size}.", ""]
    if seen.warning:
        lines += [f"**Warning**: {seen.warning}.", ""]
    lines.append(table([one for group in groups.values() for one in group]))
    if bench.skipped or bench.failed:
        lines += ["", "Not run:", "", *(f"- {one}" for one in (*bench.failed, *bench.skipped))]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--list", action="store_true", help="list the benchmarks")
    add("--only", action="append", default=[], metavar="NAME", help="run this one; may be given again")
    add("--quick", action="store_true", help="fewer samples and smaller projects")
    add("--project", type=Path, help="measure on copies of this folder's files instead of Django's")
    add("--json-file", type=Path, metavar="FILE", help="write the figures there too")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # its daemons end with it
    sys.exit(main())
