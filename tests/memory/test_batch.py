"""A batch adds what is new, once, and marks what came to nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

from foveal.daemon.memory.batch import GraftBatch, new_edit_id
from foveal.daemon.memory.edits import Edit
from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.records import Records
from msgspec.structs import replace

NOW = "2025-01-31T00:00:00.000Z"
ONE = Experience("", "2025-01-01T00:00:00.000Z", "a", "s", "Use WAL", files_touched=("db.py",))


def ids() -> Iterator[str]:
    return (f"x_{number}" for number in count())


def taken(records: Records, *experiences: Experience) -> tuple[GraftBatch, list[dict[str, object]]]:
    batch = GraftBatch(records, ids().__next__, NOW)
    for number, experience in enumerate(experiences):
        batch.take(number, experience)
    return batch, [json.loads(line) for line in batch.lines().splitlines()]


def test_what_is_new_gets_a_line() -> None:
    batch, lines = taken(Records(), ONE, replace(ONE, agent_id="b"), replace(ONE, decision="Use  WAL"))
    assert [one.id for one in batch.new.values()] == ["x_0", "x_1"]
    assert [line["id"] for line in lines] == ["x_0", "x_1"]
    assert batch.warnings == []
    assert taken(Records())[0].lines() == b""


def test_what_is_known_gets_none() -> None:
    records = Records()
    records.add(replace(ONE, id="x_known"))
    assert taken(records, ONE, replace(ONE, rationale="other", outcome="success"))[1] == []
    records.add_edit(Edit("e_1", "x_known", NOW, "delete"))
    batch, lines = taken(records, replace(ONE, agent_id="b"), ONE)
    assert len(lines) == 1
    assert batch.warnings == [(1, "it was deleted as x_known, which can be restored")]


def test_a_failure_marks_each_other_once() -> None:
    records = Records()
    records.add(replace(ONE, id="x_known"))
    failed = replace(ONE, agent_id="b", outcome="failure", error="e", timestamp=NOW)
    _, lines = taken(records, failed, replace(ONE, outcome="reverted"), replace(ONE, outcome="reverted"))
    assert [(line.get("type"), line.get("of"), line.get("by")) for line in lines] == [
        (None, None, None),
        ("mark", "x_known", "x_0"),
        ("mark", "x_known", None),
    ]
    assert lines[1]["outcome"] == {"kind": "failure", "error": "e"}
    assert str(lines[2]["timestamp"]) > str(lines[1]["timestamp"])


def test_ids_of_edits() -> None:
    assert new_edit_id().startswith("e_")
    assert new_edit_id() != new_edit_id()
