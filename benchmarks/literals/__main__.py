"""Ask a real daemon for what stands in the source word for word, and print how often its place comes first.

    $ python -m benchmarks.literals --clones CLONES

The exit status is 1 if fewer than 95 of 100 come first.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import platformdirs

from ..needed.product import Product, running
from ..needed.projects import CodeBase, provide
from ..retrieval.repositories import SPLITS, read_repositories
from .sampling import Question, questions

LIST = Path(__file__).parent / "data" / "repositories.toml"

LITERALS, NAMES = 16, 8
"""Questions for each repository."""

TARGET = 0.95


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    options = _parser().parse_args(arguments)
    chosen = [
        one
        for one in read_repositories(LIST)
        if one.split in options.split and (not options.only or one.name in options.only)
    ]
    state = options.state.absolute()
    asked: Counter[tuple[str, str]] = Counter()
    first: Counter[tuple[str, str]] = Counter()
    with running(state / "daemon", embed=options.embed) as product:
        for repository in chosen:
            code = provide(repository, options.clones, state / "projects")
            product.open(code.root)
            for question in questions(code, LITERALS, NAMES, options.seed):
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
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.literals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    state = Path(platformdirs.user_cache_dir("foveal-benchmarks")) / "literals"
    add = parser.add_argument
    add("--clones", type=Path, required=True, help="folder of the repositories' full clones")
    add("--state", type=Path, default=state, help="folder that keeps what was made (default: %(default)s)")
    add("--split", nargs="+", choices=SPLITS, default=list(SPLITS), help="which half is asked")
    add("--only", nargs="+", metavar="NAME", default=[], help="only these projects")
    add("--seed", type=int, default=1, help="which questions are drawn (default: %(default)s)")
    add("--embed", action="store_true", help="also search by meaning")
    return parser


if __name__ == "__main__":
    sys.exit(main())
