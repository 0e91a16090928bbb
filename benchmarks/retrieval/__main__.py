"""Entry point: python -m benchmarks.retrieval indexes code bases, asks the judged questions, prints tables.

    $ python -m benchmarks.retrieval --corpora CORPORA --trees TREES --clones CLONES --mined COMMITS.jsonl

Indexes and embeddings are kept in --state and used again: with other weights a run takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from .corpora import SPLITS
from .judged import Judged, Project, chosen, corpus_projects, read_mined, read_written, tree_projects
from .report import markdown
from .running import Options, run


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    options = _parser().parse_args(arguments)
    projects = _projects(options)
    if not projects:
        print("no question is chosen: give --corpora, or --trees with --clones and --mined", file=sys.stderr)
        return 2
    settings = Options(
        state=options.state.absolute(),
        threads=options.threads,
        vectors=not options.lexical_only,
        baselines=not options.no_baselines,
        fresh=options.fresh,
    )
    results = run(projects, settings)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    date = datetime.now(UTC).date().isoformat()
    print(f"{machine}, {date}\n\n{markdown(results)}", flush=True)
    if options.json:
        body = {"machine": machine, "date": date, "scores": results.scores}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.retrieval",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    state = Path(platformdirs.user_cache_dir("foveal-benchmarks")) / "retrieval"
    add = parser.add_argument
    add("--corpora", type=Path, help="folder of the corpora; those that are missing are fetched into it")
    add("--trees", type=Path, help="folder of the pinned trees; those that are missing are written")
    add("--clones", type=Path, help="folder of the trees' full clones")
    add("--mined", type=Path, nargs="+", default=[], metavar="FILE", help="questions about the trees")
    add("--state", type=Path, default=state, help="folder for indexes and embeddings (default: %(default)s)")
    add("--split", choices=SPLITS, nargs="+", default=list(SPLITS), help="which half (default: both)")
    add("--only", nargs="+", default=[], metavar="NAME", help="these corpora and trees only")
    add("--lexical-only", action="store_true", help="embed nothing, leave out what needs vectors")
    add("--no-baselines", action="store_true", help="ask the product only")
    add("--fresh", action="store_true", help="make the indexes anew; embeddings stay")
    add("--threads", type=int, default=1, help="threads that embed (default: 1)")
    add("--json", type=Path, metavar="FILE", help="write the scores there, by method and question")
    return parser


def _projects(options: argparse.Namespace) -> list[Project]:
    found: list[Project] = []
    if options.corpora:
        found += corpus_projects(options.corpora, chosen(read_written(), options.split, options.only))
    if options.trees and options.clones:
        mined: list[Judged] = [question for path in options.mined for question in read_mined(path)]
        found += tree_projects(options.trees, options.clones, chosen(mined, options.split, options.only))
    return found


if __name__ == "__main__":
    sys.exit(main())
