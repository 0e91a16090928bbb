"""Entry point: python -m benchmarks.mutations breaks each promise once, and prints the test that finds it."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .mutation import ROOT, Mutation, mutations
from .tree import FAILED, PASSED, Tree


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation: the test that turned red, or the reason why none did."""

    mutation: Mutation
    red: str
    problem: str
    seconds: float


def main() -> int:
    """Run and print; the exit status is 1 if a test missed its mutation, or couldn't be asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutations", description=__doc__)
    parser.add_argument("--only", action="append", help="only mutations whose name has this; may be repeated")
    parser.add_argument("--output", action="store_true", help="print what pytest says of each mutation")
    arguments = parser.parse_args()
    chosen = [
        mutation
        for mutation in mutations()
        if not arguments.only or any(part in mutation.name for part in arguments.only)
    ]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="fv-", ignore_cleanup_errors=True) as folder:
        for outcome, output in attempts(Tree(ROOT, Path(folder)), chosen):
            outcomes.append(outcome)
            print(f"{outcome.mutation.name}: {outcome.red or outcome.problem}", file=sys.stderr, flush=True)
            if arguments.output or outcome.problem:
                print(output, file=sys.stderr, flush=True)
    print(table(outcomes))
    return 1 if not outcomes or any(outcome.problem for outcome in outcomes) else 0


def attempts(tree: Tree, chosen: list[Mutation]) -> Iterator[tuple[Outcome, str]]:
    """Try each mutation in a tree; gives its outcome and what pytest said."""
    sound: set[str] = set()
    for mutation in chosen:
        begun = time.perf_counter()
        red, problem, output = _attempt(tree, mutation, sound)
        yield Outcome(mutation, red, problem, time.perf_counter() - begun), output


def _attempt(tree: Tree, mutation: Mutation, sound: set[str]) -> tuple[str, str, str]:
    """Return the test that turns red, or a problem, and what pytest said.

    The tests must pass without the mutation; those that do are added to `sound` and not run again.
    """
    if untried := tuple(test for test in mutation.tests if test not in sound):
        run = tree.run(untried)
        if run.status != PASSED:
            return "", f"its tests don't pass without it (status {run.status})", run.output
        sound.update(untried)
    try:
        with tree.mutated(mutation):
            run = tree.run(mutation.tests)
    except ValueError as error:
        return "", str(error), ""
    if run.status == PASSED:
        return "", "no test turns red", run.output
    if run.status != FAILED or not run.red:
        return "", f"its tests don't run with it (status {run.status})", run.output
    return run.red, "", run.output


def table(outcomes: list[Outcome]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| mutation | promise | what breaks it | test that turns red | seconds |",
        "|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        mutation, red = outcome.mutation, f"`{outcome.red}`" if outcome.red else f"**{outcome.problem}**"
        where = f"{mutation.document}: {mutation.promise}"
        lines.append(f"| {mutation.name} | {where} | {mutation.breaks} | {red} | {outcome.seconds:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
