"""Entry point: python -m benchmarks.faults tries to break every promise, and prints what was lost."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import tempfile
import traceback
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from . import promises
from .promise import Ground, Outcome, Promise, Test, Trial, attempt, table


def main() -> int:
    """Run and print; the exit status is 1 if anything was lost or couldn't be tried."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="some 20 faults of each test")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--promise", type=int, action="append", help="only this one; may be repeated")
    parser.add_argument("--test", default="", help="only tests whose name has this in it")
    parser.add_argument("--count", type=int, help="so many faults of each test")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [
        (promise, test)
        for promise in all_promises()
        if not arguments.promise or promise.number in arguments.promise
        for test in promise.tests
        if arguments.test in test.name
    ]
    outcomes = _run(chosen, arguments)
    if arguments.json:
        print(json.dumps({"outcomes": [one.to_map() for one in outcomes]}, indent=2))
    else:
        print(table(outcomes, {promise.number: promise.text for promise, _ in chosen}))
        for one in outcomes:
            for lost in one.lost:
                print(f"\n{one.promise} {one.test}: {lost:.2000}")
    return 1 if any(outcome.lost or outcome.skipped for outcome in outcomes) else 0


def all_promises() -> list[Promise]:
    """Return what the files of `promises` promise, by number."""
    names = [found.name for found in pkgutil.iter_modules(promises.__path__)]
    modules = [importlib.import_module(f"{promises.__name__}.{name}") for name in names]
    return sorted((module.PROMISE for module in modules), key=lambda promise: promise.number)


def _run(chosen: list[tuple[Promise, Test]], arguments: argparse.Namespace) -> list[Outcome]:
    outcomes = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True, soft_wrap=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for promise, test in chosen:
            count = arguments.count or (test.quick if arguments.quick else test.full)
            task = progress.add_task(f"{promise.number} {test.name}", total=count)
            with tempfile.TemporaryDirectory(prefix="fv-", ignore_cleanup_errors=True) as folder:
                ground = Ground(Path(folder), count, arguments.seed)
                told = partial(_tell, progress, task)
                try:
                    outcome = attempt(promise, test, ground, told)
                except Exception as error:  # noqa: BLE001 - told as lost, and the others go on
                    traceback.print_exc()
                    outcome = Outcome(promise.number, test.name, lost=[f"the test ended with {error!r}"])
            outcomes.append(outcome)
            progress.remove_task(task)
            lost = f"{len(outcome.lost)} lost" if outcome.lost else outcome.skipped or "none lost"
            progress.console.print(
                f"{promise.number} {test.name}: {outcome.tried:,} tried, {lost}, {outcome.seconds:.1f} s"
            )
    return outcomes


def _tell(progress: Progress, task: TaskID, trial: Trial) -> None:
    """Show that a trial was made, and at once what it lost."""
    progress.advance(task, trial.faults)
    if trial.lost:
        progress.console.print(f"lost: {trial.name}: {trial.lost}"[:1_000], markup=False)


if __name__ == "__main__":
    sys.exit(main())
