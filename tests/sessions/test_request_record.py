"""A record becomes a plain map and the same record again; what can't be one is refused with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from foveal.daemon.sessions.request_record import (
    MAX_CONSIDERED,
    ConsideredItem,
    DamagedRecord,
    RequestRecord,
    message_hash,
    new_request_id,
    record_in,
    record_map,
)

from tests.ledger_cases import SEARCH, record_of


def as_read(record: RequestRecord) -> RequestRecord:
    return record_in(json.loads(json.dumps(record_map(record))))


@pytest.mark.parametrize(
    "record",
    [
        record_of(),
        record_of(items=(), considered=(), slices=(), steps_ms={}, degraded=(), agent_name=""),
        record_of(project_root="/home/\udcff/é", message_hash=message_hash("\ud800")),
    ],
)
def test_a_record_survives_its_map(record: RequestRecord) -> None:
    assert as_read(record) == record


def test_the_map_names_things_as_the_wire_does() -> None:
    plain = record_map(record_of())
    assert plain["items"][0] == {"type": "rule", "name": "docs/style.md", "include_mode": "always"}
    assert plain["items"][2] == {
        "type": "tool",
        "name": "search_issues",
        "server_name": "github",
        "include_mode": "agent",
        "similarity_score": 0.71,
    }
    assert plain["considered"][0]["reason"] == "floor"
    assert plain["slices"][0]["path"] == "a.py"
    assert "path" not in plain["slices"][1]


def test_a_later_versions_fields_are_ignored() -> None:
    plain = record_map(record_of())
    plain["new"] = 1
    plain["items"][0]["new"] = 1
    assert record_in(plain) == record_of()


def test_only_the_best_of_the_considered_are_recorded() -> None:
    considered = tuple(ConsideredItem(SEARCH, 1 - n / 1000, "top_n") for n in range(MAX_CONSIDERED + 5))
    assert as_read(record_of(considered=considered)).considered == considered[:MAX_CONSIDERED]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 1),
        ("at", None),
        ("tokens", True),
        ("elapsed_ms", "3"),
        ("elapsed_ms", float("nan")),
        ("elapsed_ms", float("inf")),
        ("steps_ms", {"search": None}),
        ("steps_ms", []),
        ("degraded", [1]),
        ("degraded", None),
        ("items", [1]),
        ("items", [{"type": "pen", "name": "x", "include_mode": "agent"}]),
        ("items", [{"type": "rule", "name": "x", "include_mode": "never"}]),
        ("items", [{"type": "rule", "include_mode": "agent"}]),
        ("considered", [{"type": "rule", "name": "x", "similarity_score": 1, "reason": "?"}]),
        ("considered", [{"type": "rule", "name": "x", "reason": "floor"}]),
        ("slices", [{"id": "x"}]),
        ("slices", {"id": "x"}),
        ("dropped", [{"id": "x", "type": "y", "weight": None, "reason": "budget"}]),
    ],
)
def test_what_is_no_record_is_refused(field: str, value: object) -> None:
    plain: dict[str, Any] = {**record_map(record_of()), field: value}
    with pytest.raises(DamagedRecord):
        record_in(plain)


def test_a_record_that_lacks_a_field_is_refused() -> None:
    plain = record_map(record_of())
    del plain["at"]
    with pytest.raises(DamagedRecord):
        record_in(plain)


def test_a_list_is_no_record() -> None:
    with pytest.raises(DamagedRecord):
        record_in([])


def test_ids_and_hashes() -> None:
    assert len({new_request_id() for _ in range(100)}) == 100
    assert message_hash("a") == message_hash("a") != message_hash("A")
    assert len(message_hash("")) == 32
