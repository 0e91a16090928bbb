"""ExperienceListing of experiences: each must hold, and a time is read in any zone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.memory.experience import Experience, Provenance
from foveal.daemon.memory.pool_filters import Criteria, ExperienceListing, chosen, cursor_after
from msgspec.structs import replace

ONE = Experience(
    "x_1", "2025-01-02T00:00:00.000Z", "a", "s", "Use WAL", "Readers wait", ("src/db.py",), "failure",
    provenance=Provenance("transcript", "", "low"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (ExperienceListing(), True),
        (ExperienceListing(agent_id="a", session_id="s", outcome="failure", trust="low"), True),
        (ExperienceListing(agent_id="b"), False),
        (ExperienceListing(outcome=""), False),
        (ExperienceListing(trust="normal"), False),
        (ExperienceListing(since="2025-01-02T00:00:00.000Z"), True),
        (ExperienceListing(since="2025-01-02T00:00:00.001Z"), False),
        (ExperienceListing(until="2025-01-02T00:00:00.000Z"), False),
        (ExperienceListing(until="2025-01-02T00:00:00.001Z"), True),
        (ExperienceListing(query="wal READERS db.py"), True),
        (ExperienceListing(query="wal writers"), False),
        (ExperienceListing(query="  "), True),
    ],
)
def test_listing_matches_all_filters(filters: ExperienceListing, expected: bool) -> None:
    assert bool(filters.matching([ONE])) is expected


def test_page_after_a_cursor_even_if_its_experience_is_gone() -> None:
    moments = ("2025-01-03", *("2025-01-02",) * 4, "2025-01-01")
    found = [replace(ONE, id=f"x_{n}", timestamp=f"{day}T00:00:00.000Z") for n, day in enumerate(moments)]

    def page(limit: int | None, before: str) -> list[str]:
        return [one.id for one in ExperienceListing(limit, before=before).page_of(found)]

    assert page(2, "") == ["x_0", "x_1"]
    assert page(2, cursor_after(found[1])) == ["x_2", "x_3"]
    assert page(None, cursor_after(found[3])) == ["x_4", "x_5"]
    assert page(9, cursor_after(found[5])) == []
    cursor = cursor_after(found.pop(2))
    assert page(9, cursor) == ["x_1", "x_3", "x_4", "x_5"], "those of its moment may come again, none is lost"
    with pytest.raises(InvalidRequest, match="no next of a page") as caught:
        page(9, "x_1")
    assert caught.value.field == "before"


NOW = datetime(2025, 1, 31, tzinfo=UTC)


def made(number: int, day: int, outcome: str = "", *files: str) -> Experience:
    return Experience(
        f"x_{number}",
        f"2025-01-{day:02}T00:00:00.000Z",
        "a",
        "s",
        "d",
        "",
        files,
        outcome,  # type: ignore[arg-type]
    )


SHOWN = [
    made(5, 30, "success", "gone.py"),
    made(4, 20, "failure", "here.py", "gone.py"),
    made(3, 10, "success"),
    made(2, 10, "reverted", "gone.py"),
    made(1, 1, "", "here.py"),
]
TRASH = [made(7, 25), made(6, 5, "success", "gone.py")]


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        (Criteria(max_age_days=0), [5, 7, 4, 3, 2, 6, 1]),
        (Criteria(max_age_days=15), [3, 2, 6, 1]),
        (Criteria(max_age_days=10**7), []),
        (Criteria(max_count=0), [5, 7, 4, 3, 2, 6, 1]),
        (Criteria(max_count=3), [2, 6, 1]),
        (Criteria(max_count=4), [6, 1]),
        (Criteria(max_count=4, max_age_days=15), [3, 2, 6, 1]),
        (Criteria(outcomes={"success"}), [5, 3, 6]),
        (Criteria(outcomes={"", "reverted"}), [7, 2, 1]),
        (Criteria(irrelevant=True), [5, 2, 6]),
        (Criteria(irrelevant=True, max_count=1), [2, 6]),
        (Criteria(deleted=True), [7, 6]),
        (Criteria(deleted=True, max_age_days=15), [6]),
    ],
)
def test_criteria_choose_experiences(criteria: Criteria, expected: list[int]) -> None:
    found = chosen(SHOWN, TRASH, criteria, NOW, {"here.py"}.__contains__)
    assert {one.id for one in found} == {f"x_{number}" for number in expected}
    assert found == sorted(found, key=lambda one: (one.timestamp, one.id), reverse=True)
