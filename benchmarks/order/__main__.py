"""Entry point: python -m benchmarks.order [collect], see the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    """Collect, or rank and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.order", description=__doc__)
    add = parser.add_argument
    add("action", nargs="?", choices=("collect", "rank"), default="rank")
    add("--state", type=Path, required=True, help="folder of indexes, embeddings, and what was gathered")
    add("--clones", type=Path, help="folder of the repositories' clones")
    add("--corpora", type=Path, help="folder of the published sources")
    add("--only", nargs="+", default=[], metavar="NAME", help="these code bases only")
    add("--embed", action="store_true", help="embed all of them")
    add("--save", type=Path, metavar="FILE", help="write the figures question by question")
    add("--beside", type=Path, metavar="FILE", help="compare with these figures of an earlier run")
    add("--split", choices=("tune", "held_out"), help="this half only")
    options = parser.parse_args(arguments)
    if options.action == "collect":
        return _collect(options)
    from .ranking import run

    return run(options.state, options.only, options.split, options.save, options.beside)


def _collect(options: argparse.Namespace) -> int:
    from ..retrieval.embedding import Embedder
    from .collect import collect, index_folder
    from .projects import corpora, trees, write_tree

    state: Path = options.state.absolute()
    embedder = Embedder(state / "embeddings", 1)
    found = trees(options.clones, state / "trees", options.only) if options.clones else []
    if options.corpora:
        found += [one for one in corpora(options.corpora) if not options.only or one.name in options.only]
    for name in options.only:
        if all(one.name != name for one in found):
            print(f"no such code base: {name}", file=sys.stderr)
    for code in found:
        if code.group == "tree" and not index_folder(state, code).is_dir():
            write_tree(options.clones, state / "trees", code.name)
        collect(code, state, embedder, embed=options.embed)
    embedder.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
