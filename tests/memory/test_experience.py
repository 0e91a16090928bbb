"""The record of an experience: its form as a map, when two count as the same, and how a time is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from foveal.daemon.memory.experience import Experience, Provenance, fields_of, identity_of, timestamp_of
from msgspec.structs import replace

WHOLE = Experience(
    "x_1", "2024-05-06T05:08:09.000Z", "planner", "s1", "Use WAL", "because readers wait",
    ("src/db.py",), "failure", "it locked", "abc123", Provenance("transcript", "t.jsonl:7"),
)  # fmt: skip


def test_the_map_has_every_field_that_is_not_empty() -> None:
    assert fields_of(WHOLE) == {
        "id": "x_1",
        "timestamp": "2024-05-06T05:08:09.000Z",
        "agent_id": "planner",
        "session_id": "s1",
        "decision": "Use WAL",
        "rationale": "because readers wait",
        "files_touched": ("src/db.py",),
        "outcome": {"kind": "failure", "error": "it locked"},
        "commit": "abc123",
        "provenance": {"source": "transcript", "reference": "t.jsonl:7"},
    }
    low = replace(WHOLE, provenance=Provenance("transcript", "t.jsonl:7", "low"))
    assert fields_of(low)["provenance"] == {"source": "transcript", "reference": "t.jsonl:7", "trust": "low"}
    assert fields_of(Experience("x_1", "2024-05-06T05:08:09.000Z", "", "", "d", outcome="success")) == {
        "id": "x_1",
        "timestamp": "2024-05-06T05:08:09.000Z",
        "decision": "d",
        "outcome": {"kind": "success"},
        "provenance": {"source": "client", "reference": ""},
    }


def test_agent_session_and_decision_make_the_identity() -> None:
    def check(same: bool, **change: object) -> None:
        other = replace(WHOLE, **change)
        assert (identity_of(other) == identity_of(WHOLE)) is same

    check(True, id="x_2", timestamp="2025-01-01T00:00:00.000Z", rationale="", files_touched=(), outcome="")
    check(True, decision=" Use\n  WAL ")
    check(False, decision="use WAL")
    check(False, agent_id="coder")
    check(False, session_id="s2")
    check(False, agent_id="planner\0s1", session_id="")


def test_a_time_is_written_in_utc_with_milliseconds() -> None:
    def check(moment: datetime, expected: str) -> None:
        assert timestamp_of(moment) == expected

    check(datetime(2025, 1, 1, tzinfo=UTC), "2025-01-01T00:00:00.000Z")
    check(datetime(2025, 1, 1, 1, 2, 3, 456_789, tzinfo=UTC), "2025-01-01T01:02:03.456Z")
    check(datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), "2024-12-31T23:00:00.000Z")
