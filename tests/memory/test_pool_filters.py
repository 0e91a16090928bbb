"""ExperienceListing of experiences: each must hold, and a time is read in any zone."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.memory.experience import Experience, Provenance
from foveal.daemon.memory.pool_filters import ExperienceListing, time_of

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
        (ExperienceListing(session_id=""), False),
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
def test_what_matches(filters: ExperienceListing, expected: bool) -> None:
    assert bool(filters.matching([ONE])) is expected


def test_times() -> None:
    assert time_of(None, "since") is None
    assert time_of("", "since") is None
    assert time_of("2025-01-02T01:00:00+01:00", "since") == "2025-01-02T00:00:00.000Z"
    with pytest.raises(InvalidRequest, match="until must be a time") as caught:
        time_of("tomorrow", "until")
    assert caught.value.field == "until"
