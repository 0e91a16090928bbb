"""Ask a real daemon for what stands in the source word for word, and print how often its place comes first.

    $ python -m benchmarks.literals --clones CLONES

The exit status is 1 if fewer than 95 of 100 come first.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from .. import options
from ..needed.product import Product, running
from ..needed.projects import CodeBase, provide
from ..retrieval.repositories import read_repositories
from .sampling import Question, questions

LIST = Path(__file__).parent / "data" / "repositories.toml"

LITERALS, NAMES = 16, 8
"""Questions for each repository."""

TARGET = 0.95


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    given = _parser().parse_args(arguments)
    chosen = options.chosen(read_repositories(LIST), given)
    state = given.state.absolute()
    asked: Counter[tuple[str, str]] = Counter()
    first: Counter[tuple[str, str]] = Counter()
    with running(state / "daemon", embed=given.embed) as product:
        for repository in chosen:
            code = provide(repository, given.clones, state / "projects")
            product.open(code.root)
            for question in questions(code, LITERALS, NAMES, given.seed):
                right = _is_first(product, code, question)
                for key in ((repository.split, question.kind), (repository.split, "all")):
                    asked[key] += 1
                    first[key] += right
            product.close(code.root)
    for split, kind in sorted(asked):
        number = asked[split, kind]
        share = first[split, kind] / number
        print(f"{split:9} {kind:15} {first[split, kind]:4} of {number:4} first, {share:.3f}")
    met = all(first[key] >= TARGET * asked[key] for key in asked if key[1] == "all")
    return 0 if met else 1


def _is_first(product: Product, code: CodeBase, question: Question) -> bool:
    """Whether the first of ten results is a place of what was asked for."""
    return any(
        hit.path == path and hit.first <= line <= hit.last
        for hit in product.hits(code.root, question.text, 10)[:1]
        for path, line in question.places
    )


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("literals", __doc__)
    options.add_clones(parser)
    options.add_split(parser)
    add = parser.add_argument
    add("--seed", type=int, default=1, help="which questions are drawn (default: %(default)s)")
    add("--embed", action="store_true", help="also search by meaning")
    return parser


if __name__ == "__main__":
    sys.exit(main())
