"""Each way to break a promise is tried a few times; `make faults` tries hundreds or thousands of each."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.__main__ import all_tests, main
from foveal.benchmarks.faults.damages import Reading
from foveal.benchmarks.faults.home import home
from foveal.benchmarks.faults.promise import Ground, NotHere, Test, Trial, attempt
from foveal.benchmarks.faults.promises.acknowledged import CUT
from foveal.benchmarks.faults.promises.damaged import PAIRS, TABLE
from foveal.benchmarks.faults.promises.fresh import OVERFLOW, STORM
from foveal.benchmarks.faults.promises.linking import GRAPHS
from foveal.benchmarks.faults.promises.starts import AT_ONCE
from foveal.benchmarks.faults.promises.strangers import ESCAPES, MODES, USERS
from foveal.benchmarks.faults.sequences import IMPATIENT, Sequence
from foveal.benchmarks.faults.soaking import Taken, grown

TESTS = {test.name: test for _, test in all_tests()}

COUNTS = {CUT: 40, TABLE: PAIRS, STORM: 20, OVERFLOW: 200, GRAPHS: 6, AT_ONCE: 12, USERS: 2, MODES: 20,
          ESCAPES: 40}  # fmt: skip
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
    assert main(["--test", GRAPHS, "--count", "2"]) == 0
    (row,) = capsys.readouterr().out.splitlines()[2:]
    assert f"| {GRAPHS} | 2 | 0 | " in row


def test_a_reader_that_crashes_is_told_and_started_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    reading, folder = Reading(), tmp_path_factory.mktemp("r")
    try:
        assert reading.read("items", folder) == {"found": {}, "said": ""}
        assert reading.read("no such kind", folder) == {"error": "KeyError: 'no such kind'"}
        assert reading._process is not None
        reading._process.kill()
        assert "ended with -9" in reading.read("items", folder)["error"]
        assert reading.read("items", folder) == {"found": {}, "said": ""}
    finally:
        reading.close()


def test_a_sequence_tells_an_answer_that_is_wrong(tmp_path_factory: pytest.TempPathFactory) -> None:
    with home(tmp_path_factory.mktemp("f"), files={}) as user:
        user.command = IMPATIENT
        sequence = Sequence(user, 2)
        assert sequence._end() == ""
        user.end()  # a daemon would hear of the file while it is compared
        (sequence.root / "a0").mkdir(exist_ok=True)
        (sequence.root / "a0/late.py").write_text("def wordp(): ...\n")
        sequence._image = None
        assert "is missing" in sequence._compare()


def test_what_grows_is_noticed() -> None:
    flat = [Taken(90 << 20, 70 << 20, 40 << 20)] * 40
    assert grown(flat) == ""
    rising = [Taken(90 << 20, 70 << 20, (40 + number) << 20) for number in range(40)]
    assert grown(rising) == "state grew from 57.1 to 78.1 MB"
