"""What the lines of a pool come to is the same in whichever order and however often they come."""

from __future__ import annotations

import random

from foveal.daemon.memory.edits import Edit, PoolChanges
from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.records import Records
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace


def one(number: int, decision: str = "", second: int = 0) -> Experience:
    return Experience(
        f"x_{number}",
        f"2025-01-01T00:00:{second or number:02}.000Z",
        "a",
        "s",
        decision or f"decision {number}",
    )


def edit(number: int, of: int, kind: str, **changes: str) -> Edit:
    return Edit(f"e_{number}", f"x_{of}", f"2025-01-02T00:00:{number:02}.000Z", kind, PoolChanges(**changes))  # type: ignore[arg-type]


def records_of(lines: list[Experience | Edit]) -> Records:
    records = Records()
    for line in lines:
        records.add_edit(line) if isinstance(line, Edit) else records.add(line)
    return records


def test_an_experience_is_there_once() -> None:
    records = Records()
    assert records.add(one(1)) is True
    assert records.add(one(1)) is False
    assert records.add(replace(one(1), decision="changed by an editor")) is False
    assert [found.decision for found in records.shown()] == ["decision 1"]
    assert (len(records), records.deleted, records.version) == (1, 0, 1)


def test_the_earliest_stands_for_all_that_say_the_same() -> None:
    late, early = one(1, "same  thing", second=9), one(2, "same thing", second=3)
    change = edit(1, 1, "update", rationale="edited")
    orders: list[list[Experience | Edit]] = [
        [late, early, change],
        [early, late, change],
        [change, late, early],
        [late, change, early],
    ]
    for lines in orders:
        records = records_of(lines)
        [found] = records.shown()
        assert (found.id, found.rationale) == ("x_2", "edited")
        assert records.canonical("x_1") == records.canonical("x_2") == "x_2"
        assert records.known_as(one(7, "same thing")) == "x_2"
        assert records.with_aliases({"x_2"}) == {"x_1", "x_2"}
        known = records.get("x_1")
        assert known is not None
        assert (known.original, len(known.edits), known.deleted) == (early, 1, False)


def test_a_deleted_one_is_in_the_trash_until_it_is_restored() -> None:
    records = records_of([one(1), one(2), edit(1, 1, "delete")])
    assert [found.id for found in records.shown()] == ["x_2"]
    assert [found.id for found in records.trash()] == ["x_1"]
    known = records.get("x_1")
    assert known is not None
    assert known.deleted
    assert (len(records), records.deleted) == (1, 1)
    assert records.known_as(one(1)) == "x_1", "grafting it again is no way around the deletion"
    version = records.version
    assert records.add_edit(edit(2, 1, "restore")) is True
    assert records.add_edit(edit(2, 1, "restore")) is False
    assert [found.id for found in records.shown()] == ["x_2", "x_1"]
    assert records.trash() == []
    assert records.version == version + 1


def test_what_changes_nothing_has_no_new_version() -> None:
    records = records_of([one(1)])
    version = records.version
    records.add_edit(edit(1, 1, "update", decision="decision 1"))
    records.add_edit(edit(2, 5, "delete"))
    assert records.version == version
    assert records.edits == 2


def test_an_edited_one_is_found_by_what_it_says_now() -> None:
    records = records_of([one(1, "about sockets"), edit(1, 1, "update", decision="about tokens")])
    index = records.index
    assert [index.experiences[place].id for place in index.relevant([], [], ["token"], 1)] == ["x_1"]
    assert records.known_as(one(1, "about sockets")) == "x_1", "what was grafted counts, not what it became"
    assert records.known_as(one(1, "about tokens")) is None


def test_edits_go_to_the_last_source_that_has_an_experience() -> None:
    records = Records()
    records.add(one(1), 0)
    records.add(one(1), 1)
    records.add(one(2), 0)
    records.add(one(3, "decision 2", second=1), 1)
    assert [records.source_of(name) for name in ("x_1", "x_3")] == [1, 1]


LINES = st.one_of(
    st.builds(one, st.integers(1, 4), st.sampled_from(["same", "other", ""]), st.integers(1, 3)),
    st.builds(
        edit, st.integers(1, 9), st.integers(1, 5), st.sampled_from(["delete", "restore", "update"]),
        decision=st.sampled_from(["new", "newer"]),
    ),
)  # fmt: skip


@settings(max_examples=200)
@given(
    st.lists(LINES, min_size=1, max_size=12, unique_by=lambda line: line.id),
    st.randoms(use_true_random=False),
)
def test_no_order_and_no_repetition_matters(lines: list[Experience | Edit], chance: random.Random) -> None:
    shuffled = [*lines, *chance.choices(lines, k=len(lines))]
    chance.shuffle(shuffled)
    expected, found = records_of(lines), records_of(shuffled)
    assert sorted(found.shown(), key=str) == sorted(expected.shown(), key=str)
    assert found.trash() == expected.trash()
    assert [line.id for line in found.shown()] == [
        found.index.experiences[place].id for _, place in reversed(found.index.order)
    ]
