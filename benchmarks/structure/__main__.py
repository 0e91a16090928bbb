"""Entry point: python -m benchmarks.structure holds the product's links against independent tools.

    $ python -m benchmarks.structure                     # precision and recall, package by package
    $ python -m benchmarks.structure --split tune --misses

Packages, tools and what the tools said are kept in --state: only the first run takes long.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import platformdirs

from .. import machine
from ..retrieval.corpora import SPLITS, Corpus, read_corpora
from .report import markdown, missed_targets
from .running import LIST, compare


def main(arguments: list[str] | None = None) -> int:
    """Run and print; the exit status is 1 if a target was missed."""
    options = _parser().parse_args(arguments)
    chosen = _chosen(options)
    if not chosen:
        print("no package is chosen", file=sys.stderr)
        return 2
    results = compare(chosen, options.state.absolute())
    seen = machine.look()
    print(f"{seen.description}, {seen.date}\n\n{markdown(results)}")
    if options.misses:
        print("\n".join(["\n### misses\n", *(miss for result in results for miss in result.misses)]))
    return 1 if missed_targets(results) else 0


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
    return parser


if __name__ == "__main__":
    sys.exit(main())
