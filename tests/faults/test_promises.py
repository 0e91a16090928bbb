"""Each way to break a promise is tried a few times; `make faults` tries hundreds or thousands of each."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.__main__ import all_tests, main
from foveal.benchmarks.faults.promise import Ground, NotHere, Test, Trial, attempt
from foveal.benchmarks.faults.promises.acknowledged import CUT
from foveal.benchmarks.faults.promises.damaged import STARTED
from foveal.benchmarks.faults.promises.fresh import STORM
from foveal.benchmarks.faults.promises.starts import AT_ONCE
from foveal.benchmarks.faults.promises.strangers import ESCAPES, USERS

TESTS = {test.name: test for _, test in all_tests()}

COUNTS = {CUT: 40, STARTED: 4, STORM: 20, AT_ONCE: 12, USERS: 2, ESCAPES: 40}
"""How many faults `make test` tries; one of each other test."""


@pytest.mark.parametrize("name", TESTS)
def test_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    count = COUNTS.get(name, 1)
    outcome = attempt(TESTS[name], Ground(tmp_path_factory.mktemp("f"), count, 3))
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert outcome.lost == []
    assert outcome.tried >= count


def trials(*trials: Trial) -> Test:
    return Test("t", lambda ground: iter(trials), 5)


def test_an_outcome_counts_faults_and_names_what_was_lost() -> None:
    ground = Ground(None, 3)  # type: ignore[arg-type]  # these trials use no folder
    outcome = attempt(trials(Trial("a"), Trial("b", "broke"), Trial("c", faults=1_000)), ground)
    assert (outcome.tried, outcome.lost, outcome.skipped) == (1_002, ["b: broke"], "")

    def run(ground: Ground) -> None:
        raise NotHere("no strace")

    missing = attempt(Test("t", run, 5), ground)  # type: ignore[arg-type]  # it ends before it would yield
    assert (missing.tried, missing.skipped) == (0, "no strace")


def test_the_command_prints_a_row_for_each_test(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--test", STORM, "--count", "2"]) == 0
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert f"| {STORM} | " in row
