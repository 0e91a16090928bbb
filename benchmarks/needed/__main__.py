"""Measure what contexts show of what real commits needed, at five budgets, and print tables.

    $ python -m benchmarks.needed --clones CLONES

What is mined, indexed and embedded is kept in --state. The exit status is 1 if a
baseline shows more of the edited lines at any budget, or nearly as many per token.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .. import machine, options
from ..retrieval.repositories import Repository, clone_of, read_repositories
from .measuring import BUDGETS, Options, measure
from .projects import provide
from .report import is_ahead, markdown, to_map
from .tasks import Task, mine, read_tasks, told, write_tasks

LIST = Path(__file__).parent / "data" / "repositories.toml"
REPORTS = LIST.with_name("reports.toml")

MOST = 26
"""Tasks a repository: the first ones after the pinned tree."""


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    given = _parser().parse_args(arguments)
    repositories = options.chosen(read_repositories(LIST), given)
    state = given.state.absolute()
    tasks = [task for one in repositories for task in _tasks(one, given.clones, state)[: given.most]]
    if given.reports:
        tasks = told(REPORTS, tasks)
        repositories = [one for one in repositories if any(task.project == one.name for task in tasks)]
    if not tasks:
        print("no task is chosen", file=sys.stderr)
        return 2
    codes = [provide(repository, given.clones, state / "projects") for repository in repositories]
    budgets = tuple(given.budgets)
    settings = Options(state, given.ours_only, not given.no_embedding, budgets)
    results = measure(codes, tasks, settings)
    seen = machine.look()
    print(f"{seen.description}, {seen.date}\n\n{markdown(results)}", flush=True)
    if given.json:
        body = {"machine": seen.description, "date": seen.date} | to_map(results)
        given.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0 if given.ours_only or all(is_ahead(results, split) for split in given.split) else 1


def _tasks(repository: Repository, clones: Path, state: Path) -> list[Task]:
    """Return the tasks of a repository, mined once."""
    file = state / "tasks" / f"{repository.name}-{repository.revision[:12]}.jsonl"
    if not file.is_file():
        write_tasks(file, mine(clone_of(clones, repository), repository, MOST))
    return read_tasks(file)


def _parser() -> argparse.ArgumentParser:
    parser = options.parser("needed", __doc__)
    options.add_clones(parser)
    options.add_split(parser)
    add = parser.add_argument
    add("--reports", action="store_true", help="users' reports of what commits fixed, not the messages")
    add("--most", type=int, default=MOST, help="tasks a repository (default: %(default)s)")
    add("--budgets", type=int, nargs="+", default=list(BUDGETS), help="in tokens (default: %(default)s)")
    add("--ours-only", action="store_true", help="ask for contexts only")
    add("--no-embedding", action="store_true", help="by words and names alone")
    add("--json", type=Path, metavar="FILE", help="write everything there, task by task")
    return parser


if __name__ == "__main__":
    sys.exit(main())
