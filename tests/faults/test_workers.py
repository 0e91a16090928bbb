"""Processes that die come back, and a file that ends one twice is left alone; `make faults` tries more."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, Outcome, attempt
from foveal.benchmarks.faults.promises.workers import ABANDONED, KILLED, PROMISE


def outcome_of(name: str, factory: pytest.TempPathFactory, count: int) -> Outcome:
    return attempt(PROMISE, PROMISE.test(name), Ground(factory.mktemp("w"), count))


def test_killed_processes_come_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = outcome_of(KILLED, tmp_path_factory, 3)
    assert outcome.lost == []
    assert outcome.tried == 3


def test_an_indexer_that_hangs_ends_after_its_daemon_and_the_file_is_left_alone(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    outcome = outcome_of(ABANDONED, tmp_path_factory, 1)
    assert outcome.lost == []
    assert outcome.tried == 1
