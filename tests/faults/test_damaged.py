"""Damaged files are told and never fatal; a few of each here, `make faults` tries thousands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from foveal.benchmarks.faults import damages
from foveal.benchmarks.faults.promise import Ground, NotHere, Promise, Test, Trial, attempt, table
from foveal.benchmarks.faults.promises import damaged
from foveal.benchmarks.faults.promises.damaged import OPENED, PROMISE, STARTED, TABLE


def test_a_daemon_starts_on_damaged_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = attempt(PROMISE, PROMISE.test(STARTED), Ground(tmp_path_factory.mktemp("d"), 1, 3))
    assert outcome.lost == []
    assert outcome.tried == 1


def test_stores_open_on_damaged_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = attempt(PROMISE, PROMISE.test(OPENED), Ground(tmp_path_factory.mktemp("s"), 26, 2))
    assert outcome.lost == []
    assert outcome.tried == 26


def test_every_kind_of_file_is_read_damaged_in_every_way(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two rounds of the table; `make faults` makes 200."""
    test = PROMISE.test(TABLE)
    outcome = attempt(PROMISE, test, Ground(tmp_path_factory.mktemp("w"), 2 * test.quick, 4))
    assert outcome.lost == []
    assert outcome.tried == 2 * test.quick


def test_the_table_counts_what_was_lost_by_kind_and_way() -> None:
    row = damages.Row(3)
    row.lost["unsaid"] += 2
    assert (
        damages.table({("index", "1 flip"): row}).splitlines()[-1]
        == "| index | 1 flip | 3 | 0 | 0 | **2** | 0 |"
    )


def test_an_opener_that_crashes_is_told_and_started_again(tmp_path: Path) -> None:
    opener = damaged.Opener()
    try:
        (tmp_path / "version").mkdir()
        assert opener.open("version", tmp_path / "version") == ""
        assert opener.open("no such kind", tmp_path) == "KeyError: 'no such kind'"
        assert opener.process is not None
        opener.process.kill()
        opener.process.wait()
        assert "ended with -9" in opener.open("version", tmp_path / "version")
        assert opener.open("version", tmp_path / "version") == ""
    finally:
        opener.close()


# The frame


def promise(*trials: Trial) -> Promise:
    return Promise(9, "All is well", (Test("t", lambda ground: iter(trials), 5, "here"),))


def test_an_outcome_counts_faults_and_names_what_was_lost(tmp_path: Path) -> None:
    one = promise(Trial("a"), Trial("b", "broke"), Trial("c", faults=1_000))
    outcome = attempt(one, one.test("t"), Ground(tmp_path, 3))
    assert (outcome.tried, outcome.lost) == (1_002, ["b: broke"])
    assert "| 9 All is well | t | 1,002 | **1** |" in table([outcome], {9: one.text})


def test_a_test_that_can_not_run_here_says_why(tmp_path: Path) -> None:
    def run(ground: Ground) -> None:
        raise NotHere("no strace")

    test = Test("t", run, 5, "here")  # type: ignore[arg-type]  # it ends before it would yield
    outcome = attempt(Promise(9, "x", (test,)), test, Ground(tmp_path, 3))
    assert outcome.skipped == "no strace"
    assert "not run: no strace" in table([outcome], {9: "x"})


def test_the_command_names_what_it_would_run() -> None:
    command = [sys.executable, "-m", "foveal.benchmarks.faults", "--test", "none such", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["{", '"outcomes":', "[]", "}"]
