"""Entry point: python -m benchmarks.faults tries to break every promise, and prints what was lost."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from . import promises
from .promise import Ground, Outcome, Promise, Test, Trial, attempt


def main(arguments: list[str] | None = None) -> int:
    """Run and print the rows of a table; the exit status is 1 if anything was lost or couldn't be tried."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="some 20 faults of each test")
    parser.add_argument("--promise", type=int, action="append", help="only this one; may be repeated")
    parser.add_argument("--test", default="", help="only tests whose name has this in it")
    parser.add_argument("--count", type=int, help="so many faults of each test")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print("| promise | test | faults tried | lost | seconds |\n|---|---|---|---|---|", flush=True)
    failed = False
    for promise, test in all_tests():
        if options.test not in test.name or promise.number not in (options.promise or [promise.number]):
            continue
        count = options.count or (test.quick if options.quick else test.full)
        outcome = _run(test, count, options.seed)
        tried = f"not run: {outcome.skipped}" if outcome.skipped else f"{outcome.tried:,}"
        lost = f"**{len(outcome.lost):,}**" if outcome.lost else "0"
        name = f"{promise.number} {promise.text}"
        print(f"| {name} | {test.name} | {tried} | {lost} | {outcome.seconds:.1f} |", flush=True)
        failed = failed or bool(outcome.lost or outcome.skipped)
    return int(failed)


def all_tests() -> Iterator[tuple[Promise, Test]]:
    """Yield the tests of all files of `promises`, by the number of their promise."""
    names = [found.name for found in pkgutil.iter_modules(promises.__path__)]
    modules = [importlib.import_module(f"{promises.__name__}.{name}") for name in names]
    for promise in sorted((module.PROMISE for module in modules), key=lambda promise: promise.number):
        yield from ((promise, test) for test in promise.tests)


def _run(test: Test, count: int, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="fv-", ignore_cleanup_errors=True) as folder:
        try:
            return attempt(test, Ground(Path(folder), count, seed), _tell)
        except Exception as error:  # noqa: BLE001 - told as lost, and the others go on
            traceback.print_exc()
            return Outcome(lost=[f"the test ended with {error!r}"])


def _tell(trial: Trial) -> None:
    """Say at once what a trial lost."""
    if trial.lost:
        print(f"lost: {trial.name}: {trial.lost}"[:2_000], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
