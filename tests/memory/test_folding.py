"""Near-duplicates fold when they are shown: what says the same in other words, and nothing that differs."""

from __future__ import annotations

import pytest
from foveal.benchmarks.experiences.pairs import DIFFERENT, SAME
from foveal.daemon.memory.choice import fold
from foveal.daemon.memory.experience import Experience
from msgspec.structs import replace

ONE = Experience("x_1", "2025-01-01T00:00:00.000Z", "a", "s", "Use WAL mode for the session database")


def made(*decisions: str) -> list[Experience]:
    return [replace(ONE, id=f"x_{number}", decision=text) for number, text in enumerate(decisions)]


def test_the_labelled_pairs() -> None:
    folded = [pair for pair in SAME if len(fold(made(*pair))) == 1]
    assert len(folded) >= 0.95 * len(SAME)
    assert not [pair for pair in DIFFERENT if len(fold(made(*pair))) == 1]


def test_the_first_is_shown_and_the_order_stays() -> None:
    folds = fold(
        made("Cache templates in memory", "Retry uploads", "Cache the templates in memory", "Retry upload")
    )
    assert [(one.shown.id, [other.id for other in one.others]) for one in folds] == [
        ("x_0", ["x_2"]),
        ("x_1", ["x_3"]),
    ]
    assert fold([]) == []


@pytest.mark.parametrize(
    ("change", "folds"),
    [
        ({"agent_id": "b", "session_id": "t", "rationale": "other"}, 1),
        ({"outcome": "success"}, 1),
        ({"outcome": "failure"}, 2),
        ({"outcome": "reverted"}, 2),
        ({"decision": "..."}, 2),
    ],
)
def test_no_failure_hides_behind_a_success(change: dict[str, str], folds: int) -> None:
    assert len(fold([ONE, replace(ONE, id="x_2", **change)])) == folds


def test_decisions_without_a_word_never_fold() -> None:
    assert len(fold(made("...", "!!!"))) == 2


def test_many_are_folded_in_little_time() -> None:
    """Each is compared only with those that share a word; all of them are compared pair by pair in minutes."""
    many = made(*(f"decision about part{number} of module{number}" for number in range(3_000)))
    assert len(fold(many)) == 3_000
