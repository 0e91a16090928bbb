"""Entry point: python -m benchmarks.retrieval indexes code bases, asks the judged questions, prints tables.

    $ python -m benchmarks.retrieval --corpora CORPORA --trees TREES --clones CLONES --mined COMMITS.jsonl

Indexes and embeddings are kept in --state and used again: with other weights a run takes minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .. import machine, options
from .judged import Judged, Project, chosen, corpus_projects, read_mined, read_written, tree_projects
from .report import markdown
from .running import Options, run


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    given = _parser().parse_args(arguments)
    projects = _projects(given)
    if not projects:
        print("no question is chosen: give --corpora, or --trees with --clones and --mined", file=sys.stderr)
        return 2
    settings = Options(
        state=given.state.absolute(),
        threads=given.threads,
        vectors=not given.lexical_only,
        baselines=not given.no_baselines,
        fresh=given.fresh,
    )
    results = run(projects, settings)
    seen = machine.look()
    print(f"{seen.description}, {seen.date}\n\n{markdown(results)}", flush=True)
    if given.json:
        body = {"machine": seen.description, "date": seen.date, "scores": results.scores}
        given.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("retrieval", __doc__)
    options.add_split(parser)
    add = parser.add_argument
    add("--corpora", type=Path, help="folder of the corpora; those that are missing are fetched into it")
    add("--trees", type=Path, help="folder of the pinned trees; those that are missing are written")
    add("--clones", type=Path, help="folder of the trees' full clones")
    add("--mined", type=Path, nargs="+", default=[], metavar="FILE", help="questions about the trees")
    add("--lexical-only", action="store_true", help="embed nothing, leave out what needs vectors")
    add("--no-baselines", action="store_true", help="ask the product only")
    add("--fresh", action="store_true", help="make the indexes anew; embeddings stay")
    add("--threads", type=int, default=1, help="threads that embed (default: 1)")
    add("--json", type=Path, metavar="FILE", help="write the scores there, by method and question")
    return parser


def _projects(given: argparse.Namespace) -> list[Project]:
    found: list[Project] = []
    if given.corpora:
        found += corpus_projects(given.corpora, chosen(read_written(), given.split, given.only))
    if given.trees and given.clones:
        mined: list[Judged] = [question for path in given.mined for question in read_mined(path)]
        found += tree_projects(given.trees, given.clones, chosen(mined, given.split, given.only))
    return found


if __name__ == "__main__":
    sys.exit(main())
