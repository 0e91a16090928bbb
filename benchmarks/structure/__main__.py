"""Entry point: python -m benchmarks.structure holds the product's links against independent tools.

    $ python -m benchmarks.structure                     # precision and recall, package by package
    $ python -m benchmarks.structure --split tune --misses

Packages, tools and what the tools said are kept in --state: only the first run takes long.
"""

from __future__ import annotations

import argparse
import sys

from .. import machine, options
from ..retrieval.corpora import read_corpora
from .report import markdown, missed_targets
from .running import LIST, compare


def main(arguments: list[str] | None = None) -> int:
    """Run and print; the exit status is 1 if a target was missed."""
    given = _parser().parse_args(arguments)
    chosen = options.chosen(read_corpora(LIST), given)
    if not chosen:
        print("no package is chosen", file=sys.stderr)
        return 2
    results = compare(chosen, given.state.absolute())
    seen = machine.look()
    print(f"{seen.description}, {seen.date}\n\n{markdown(results)}")
    if given.misses:
        print("\n".join(["\n### misses\n", *(miss for result in results for miss in result.misses)]))
    return 1 if missed_targets(results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("structure", __doc__)
    options.add_split(parser)
    add = parser.add_argument
    add("--misses", action="store_true", help="list each wrong link and each call that is not found")
    return parser


if __name__ == "__main__":
    sys.exit(main())
