"""A failure or a revert marks what it is about: what it names, and the same decision about the same files."""

from __future__ import annotations

import pytest
from foveal.daemon.memory.batch import marked_by, says_more
from foveal.daemon.memory.edits import Edit, PoolChanges
from foveal.daemon.memory.experience import Experience, Provenance
from foveal.daemon.memory.records import Records
from msgspec.structs import replace

FIRST = Experience("x_a1", "2025-01-01T00:00:00.000Z", "a", "s", "Use WAL", "", ("db.py", "a.py"))
LATER = Experience("x_b2", "2025-01-05T00:00:00.000Z", "b", "t", "Other", outcome="reverted")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"decision": "Revert x_a1"}, ["x_a1"]),
        ({"rationale": "since x_a1, and x_c3, broke it"}, ["x_a1", "x_c3"]),
        ({"outcome": "failure", "error": "x_a1: locked"}, ["x_a1"]),
        ({"decision": "Revert x_a1", "outcome": "success"}, []),
        ({"decision": "Revert x_a1", "outcome": ""}, []),
        ({"decision": "Revert x_a1", "provenance": Provenance("transcript", "", "low")}, []),
        ({"decision": "Revert x_a12 and max_a1"}, []),
        ({"decision": "use  wal", "files_touched": ("a.py", "db.py")}, ["x_a1"]),
        ({"decision": "Use WAL", "files_touched": ("a.py",)}, []),
        ({"decision": "Use files", "files_touched": ("a.py", "db.py")}, []),
        ({"decision": "Use WAL"}, []),
        ({"decision": "Use WAL", "files_touched": ("a.py", "db.py"), "timestamp": "2024"}, []),
    ],
)
def test_what_is_marked(change: dict[str, object], expected: list[str]) -> None:
    records = Records()
    records.add(FIRST)
    records.add(replace(FIRST, id="x_c3", decision="third", files_touched=()))
    later = replace(LATER, **change)
    assert list(marked_by(later, records)) == expected


def test_a_duplicate_says_more_once() -> None:
    records = Records()
    records.add(replace(FIRST, outcome="success"))

    def check(outcome: str, expected: bool, trust: str = "normal") -> None:
        known = records.get("x_a1")
        assert known is not None
        again = replace(FIRST, outcome=outcome, provenance=Provenance("t", "", trust))  # type: ignore[arg-type]
        assert says_more(known, again) is expected

    check("", False)
    check("success", False)
    check("reverted", True)
    check("reverted", False, "low")
    records.add_edit(Edit("e_1", "x_a1", "2025-01-02T00:00:00.000Z", "mark", PoolChanges(outcome="reverted")))
    records.add_edit(
        Edit("e_2", "x_a1", "2025-01-03T00:00:00.000Z", "update", PoolChanges(outcome="success"))
    )
    check("reverted", False)
    check("failure", True)
