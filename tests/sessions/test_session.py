"""A session takes the `always` items; what is added or removed by hand stays so, and each change says what it did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from foveal.daemon.core.errors import InvalidRequest, TooLarge
from foveal.daemon.core.times import timestamp_of
from foveal.daemon.rules.records import ItemKey
from foveal.daemon.sessions.session import (
    MAX_ITEMS,
    MAX_NAME_CHARACTERS,
    MAX_NOTE_CHARACTERS,
    MAX_SELECTION_BYTES,
    Session,
    ended,
    idle,
    new_session,
    observed,
    with_always,
    with_fields,
    with_item,
    without_item,
)

A, B, C, X = (ItemKey("rule", name) for name in "ABCX")
AT = "2025-01-01T00:00:00.000Z"
LATER = "2025-01-02T00:00:00.000Z"


def session(*always: ItemKey) -> Session:
    return new_session("s1", "/project", AT, always)


def modes(one: Session) -> list[tuple[str, str]]:
    return [(item.key.name, item.include) for item in one.items]


def test_new_always_items_join_when_they_are_taken_again() -> None:
    made = session(A)
    joined = with_always(made, [X, A])
    assert modes(joined) == [("A", "always"), ("X", "always")]
    assert with_always(joined, [A]) is joined  # those that are no longer `always` are not taken out


def test_a_session_does_not_grow_without_end() -> None:
    many = [ItemKey("rule", str(number)) for number in range(MAX_ITEMS)]
    full = session(*many)
    with pytest.raises(TooLarge, match=r"5,001 items, and at most 5,000 are kept\. Nothing was changed"):
        with_item(full, A, mode="always")
    with pytest.raises(TooLarge, match="5,001 items"):
        session(*many, A)
    room, _ = without_item(full, many[0], mode="always")
    assert len(with_item(room, A, mode="always")[0].items) == MAX_ITEMS


def test_the_oldest_removed_items_are_forgotten() -> None:
    one = session()
    crowded = Session("s1", "/project", AT, removed=tuple(ItemKey("rule", str(n)) for n in range(MAX_ITEMS)))
    one, _ = without_item(with_item(crowded, A, mode="always")[0], A, mode="always")
    assert len(one.removed) == MAX_ITEMS
    assert one.removed[-1] == A


def test_fields_are_set_cleared_and_checked() -> None:
    one = with_fields(
        session(), name=" my\nname ", current_intent=" fix it\nsoon ", env_hint="A=1", selection={"top_n": 3}
    )
    assert (one.name, one.current_intent, one.env_hint) == ("my name", "fix it\nsoon", "A=1")
    assert one.selection == {"top_n": 3}
    assert with_fields(one) == one
    cleared = with_fields(one, name="", current_intent="", env_hint="", selection={})
    assert cleared == session()

    def refused(field: str, value: object) -> None:
        with pytest.raises(InvalidRequest, match=field) as raised:
            with_fields(one, **{field.partition(".")[0]: value})  # type: ignore[arg-type]  # the tests know the fields
        assert raised.value.field == field

    refused("name", "x" * (MAX_NAME_CHARACTERS + 1))
    refused("current_intent", "x" * (MAX_NOTE_CHARACTERS + 1))
    refused("env_hint", "x" * (MAX_NOTE_CHARACTERS + 1))
    refused("selection.preset", {"preset": "loud"})
    refused("selection", {"a": object()})
    refused("selection", {"a": float("nan")})
    refused("selection", {"a": "x" * MAX_SELECTION_BYTES})
    nested: dict[str, object] = {}
    for _ in range(100_000):
        nested = {"a": nested}
    refused("selection", nested)


def test_names_given_at_the_start_are_checked_too() -> None:
    made = new_session("s1", "/project", AT, (), name=" a  b ", agent_name="planner\n", selection="off")
    assert (made.name, made.agent_name, made.selection) == ("a b", "planner", {"preset": "off"})
    with pytest.raises(InvalidRequest, match="agent_name"):
        new_session("s1", "/project", AT, (), agent_name="x" * (MAX_NAME_CHARACTERS + 1))


def test_times_say_when_something_was_heard_of_it() -> None:
    over = ended(idle(session(), LATER), LATER)
    assert (over.ended, over.last_idle) == (LATER, LATER)
    assert ended(over, "2025-01-03T00:00:00.000Z") is over
    alive = observed(over, LATER)
    assert (alive.ended, alive.last_observed) == ("", LATER)


def test_a_time_is_utc_with_milliseconds() -> None:
    moment = datetime(2025, 1, 1, 2, 3, 4, 567_890, timezone(timedelta(hours=2)))
    assert timestamp_of(moment) == "2025-01-01T00:03:04.567Z"
    assert timestamp_of(datetime(2025, 1, 1, tzinfo=UTC)) == AT
