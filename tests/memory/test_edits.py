"""Edits: what a client may change, and what edits in the order of their times make of an experience."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.memory.edits import (
    Edit,
    PoolChanges,
    applied,
    changes_of,
    time_after,
)
from foveal.daemon.memory.experience import MAX_TEXT_BYTES, Experience

ONE = Experience("x_1", "2025-01-01T00:00:00.000Z", "a", "s", "Use WAL", "readers wait", ("a.py",), "success")


def at(second: int) -> str:
    return f"2025-01-02T00:00:{second:02}.000Z"


def test_a_map_becomes_changes() -> None:
    def check(fields: dict[str, object], expected: PoolChanges) -> None:
        assert changes_of(fields, "/project") == expected

    check({"decision": " Use\r\nfiles "}, PoolChanges(decision="Use\nfiles"))
    check({"rationale": ""}, PoolChanges(rationale=""))
    check({"files_touched": ["/project/a.py", "./b.py"]}, PoolChanges(files_touched=("a.py", "b.py")))
    check({"files_touched": []}, PoolChanges(files_touched=()))
    check({"outcome": {}}, PoolChanges(outcome=""))
    check({"outcome": {"kind": "failure", "error": "e"}}, PoolChanges(outcome="failure", error="e"))
    check({"trust": "low", "more": 5, "decision": None}, PoolChanges(trust="low"))
    check({"commit": "0123abcd"}, PoolChanges(commit="0123abcd"))
    check({"commit": ""}, PoolChanges(commit=""))
    check({"decision": "use " + "ghp_" + "a1B2c3D4e5" * 4}, PoolChanges(decision="use [masked]32+"))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "decision"),
        ({"decision": " "}, "decision"),
        ({"rationale": "r" * (MAX_TEXT_BYTES + 1)}, "rationale"),
        ({"files_touched": ["../a.py"]}, "files_touched"),
        ({"outcome": "failure"}, "outcome"),
        ({"outcome": {"kind": "odd"}}, "outcome.kind"),
        ({"trust": "high"}, "trust"),
        ({"commit": "HEAD"}, "commit"),
    ],
)
def test_invalid_changes_name_their_field(fields: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        changes_of(fields, "/project")
    assert caught.value.field == field


def test_the_last_change_of_a_field_holds() -> None:
    edits = [
        Edit("e_1", "x_1", at(1), "update", PoolChanges("Use files", outcome="failure", error="slow")),
        Edit("e_2", "x_1", at(2), "update", PoolChanges(rationale="r", files_touched=("b.py",), trust="low")),
        Edit("e_3", "x_1", at(3), "update", PoolChanges("Use Redis", outcome="")),
    ]
    found, deleted = applied(ONE, edits)
    assert (found.decision, found.rationale, found.files_touched) == ("Use Redis", "r", ("b.py",))
    assert (found.outcome, found.error, found.provenance.trust) == ("", "", "low")
    assert (found.id, found.timestamp, deleted) == (ONE.id, ONE.timestamp, False)
    assert applied(ONE, []) == (ONE, False)


def test_the_time_of_an_edit_is_after_those_before_it() -> None:
    before = [Edit("e_1", "x_1", at(5), "delete")]
    assert time_after([], at(1)) == at(1)
    assert time_after(before, at(6)) == at(6)
    assert time_after(before, at(5)) == "2025-01-02T00:00:05.001Z"
    assert time_after(before, at(1)) == "2025-01-02T00:00:05.001Z", "the clock went back"
    last = "9999-12-31T23:59:59.999Z"
    assert time_after([Edit("e_1", "x_1", last, "delete")], at(1)) == last
