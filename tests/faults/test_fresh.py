"""No answer is stale without saying so; a few storms here, `make faults` runs thousands of steps."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.home import home
from foveal.benchmarks.faults.promise import Ground, Outcome, attempt
from foveal.benchmarks.faults.promises.fresh import ASKED, KILLED, ORDERS, OVERFLOW, PROMISE, STORM
from foveal.benchmarks.faults.sequences import IMPATIENT, Sequence
from foveal.benchmarks.faults.storming import Storm


def outcome_of(name: str, factory: pytest.TempPathFactory, count: int) -> Outcome:
    return attempt(PROMISE, PROMISE.test(name), Ground(factory.mktemp("f"), count))


def test_a_storm_of_changes_leads_to_the_index_of_a_first_indexing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    outcome = outcome_of(STORM, tmp_path_factory, 60)
    assert outcome.lost == []
    assert outcome.tried >= 60


def test_what_is_written_twice_within_a_tick_of_the_clock_is_known_though_its_time_was_set_back() -> None:
    storm = Storm()
    try:
        storm.go_deaf()
        for _ in range(4):
            storm.write_unseen("a/m.py", ["wordp", "wordq"])
            storm.sync()
    finally:
        storm.teardown()


def test_a_storm_tells_an_index_that_is_wrong() -> None:
    storm = Storm()
    try:
        storm.go_deaf()
        storm.write("a/m.py", "wordt", "wordq", "d/n.py")
        with pytest.raises(AssertionError, match=r"the definitions of a/m\.py"):
            storm.check()
    finally:
        storm.teardown()


def test_kills_while_indexing_leave_status_and_answers_true(tmp_path_factory: pytest.TempPathFactory) -> None:
    outcome = outcome_of(KILLED, tmp_path_factory, 1)
    assert outcome.lost == []
    assert outcome.tried == 1


def test_no_answer_is_older_than_what_16_writers_had_written(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    outcome = outcome_of(ASKED, tmp_path_factory, 9)
    assert outcome.lost == []
    assert outcome.tried == 9


def test_a_daemon_that_was_stopped_while_files_changed_comes_to_know_them(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    outcome = outcome_of(OVERFLOW, tmp_path_factory, 200)
    assert outcome.lost == []
    assert outcome.tried == 200


def test_what_is_said_to_be_whole_is_so_in_any_order_of_requests_edits_and_kills(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    outcome = outcome_of(ORDERS, tmp_path_factory, 4)
    assert outcome.lost == []
    assert outcome.tried == 4


def test_a_sequence_tells_an_answer_that_is_wrong(tmp_path_factory: pytest.TempPathFactory) -> None:
    with home(tmp_path_factory.mktemp("f"), files={}) as user:
        user.command = IMPATIENT
        sequence = Sequence(user, 1)
        assert sequence.run() == ""
        sequence = Sequence(user, 2)
        assert sequence._end() == ""
        user.end()  # a daemon would hear of the file while it is compared
        (sequence.root / "a0").mkdir(exist_ok=True)
        (sequence.root / "a0/late.py").write_text("def wordp(): ...\n")
        sequence._image = None
        assert "is missing" in sequence._compare()
