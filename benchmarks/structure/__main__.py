"""Entry point: python -m benchmarks.structure holds the product's links against independent tools.

    $ python -m benchmarks.structure                     # precision and recall, package by package
    $ python -m benchmarks.structure --split tune --misses
    $ python -m benchmarks.structure --speed --project DJANGO

Packages, tools and what the tools said are kept in --state: only the first run takes long.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from .. import corpus
from ..retrieval.corpora import SPLITS, Corpus, read_corpora
from ..statistics import table
from . import speed
from .misses import line, summary
from .report import markdown, missed_targets, to_map
from .running import LIST, Options, compare


def main(arguments: list[str] | None = None) -> int:
    """Run and print; the exit status is 1 if a target was missed."""
    options = _parser().parse_args(arguments)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    heading = {"machine": machine, "date": datetime.now(UTC).date().isoformat()}
    return _speed(options, heading) if options.speed else _compare(options, heading)


def _compare(options: argparse.Namespace, heading: dict[str, str]) -> int:
    chosen = _chosen(options)
    if not chosen:
        print("no package is chosen", file=sys.stderr)
        return 2
    results = compare(chosen, Options(options.state.absolute(), peers=not options.no_peers))
    misses = [miss for result in results for miss in result.misses]
    if options.json:
        print(json.dumps(heading | {"packages": to_map(results, misses=options.misses)}, indent=1))
    else:
        print(f"{heading['machine']}, {heading['date']}\n\n{markdown(results)}")
        if options.misses:
            print("\n### misses\n")
            print(summary(misses))
            print("\n### all of them\n")
            print("\n".join(f"{miss.fault} | {miss.reason} | {line(miss)}" for miss in misses))
    return 1 if missed_targets(results) else 0


def _speed(options: argparse.Namespace, heading: dict[str, str]) -> int:
    source = options.project or corpus.fetch()
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        measures = speed.run(source, Path(temporary), quick=options.quick)
    if options.json:
        body = heading | {"project": source.name, "measures": [one.to_map() for one in measures]}
        print(json.dumps(body, indent=1))
    else:
        print(f"{source.name}, {heading['machine']}, {heading['date']}\n\n{table(measures)}")
    return 1 if any(measure.met is False for measure in measures) else 0


def _chosen(options: argparse.Namespace) -> list[Corpus]:
    return [
        one
        for one in read_corpora(LIST)
        if one.split in options.split and (not options.only or one.name in options.only)
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.structure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    state = Path(platformdirs.user_cache_dir("foveal-benchmarks")) / "structure"
    add = parser.add_argument
    add("--state", type=Path, default=state, help="folder for all that is kept (default: %(default)s)")
    add("--split", choices=SPLITS, nargs="+", default=list(SPLITS), help="which half (default: both)")
    add("--only", nargs="+", default=[], metavar="NAME", help="these packages only")
    add("--misses", action="store_true", help="list each wrong link and each call that is not found")
    add("--no-peers", action="store_true", help="don't ask jedi for comparison")
    add("--json", action="store_true", help="print JSON")
    add("--speed", action="store_true", help="measure times and sizes instead")
    add("--project", type=Path, help="measure --speed on this folder (a copy of it) instead of Django")
    add("--quick", action="store_true", help="fewer samples for --speed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
