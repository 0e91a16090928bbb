"""The lines of the pool's file: what is written is read back, damage says why, additions are told apart."""

from __future__ import annotations

import errno
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from foveal.daemon.core.errors import InvalidRequest, StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.edits import Edit, PoolChanges
from foveal.daemon.memory.experience import MAX_TEXT_BYTES, Experience, Provenance
from foveal.daemon.memory.lines import (
    MAX_LINE_BYTES,
    PoolLine,
    Quarantine,
    Quarantined,
    line_of,
    quarantined,
    read_line,
)

LINE = '{"id":"x_1","timestamp":"2025-01-01T00:00:00Z","agent_id":"a","session_id":"s","decision":"d"}'


def line(data: bytes) -> PoolLine:
    return PoolLine(0, len(data), data[: MAX_LINE_BYTES + 1], complete=True)


# --- A line ---


def test_written_lines_are_read_back() -> None:
    def check(record: Experience | Edit) -> None:
        data = line_of(record)
        assert data.index(b"\n") == len(data) - 1
        assert read_line(line(data)) == record

    check(Experience("x_1", "2025-01-01T00:00:00.000Z", "", "", "d"))
    check(Experience("x_1", "2025-01-01T00:00:00.000Z", "", "", '"}\n{"id":"x_forged","decision":"forged"}'))
    check(
        Experience(
            "x_2", "2025-01-01T00:00:00.000Z", "größe", "s", 'one\n"two"\t日本', "👩\u200d💻",
            ("a b.py",), "reverted", "```", "abc", Provenance("transcript", "t.jsonl:7", "low"),
        )
    )  # fmt: skip
    check(Edit("e_1", "x_1", "2025-01-01T00:00:00.000Z", "delete"))
    check(Edit("e_1", "x_1", "2025-01-01T00:00:00.000Z", "mark", PoolChanges(outcome="reverted"), "x_2"))
    check(
        Edit(
            "e_1", "x_1", "2025-01-01T00:00:00.000Z", "update",
            PoolChanges("d", "", (), "failure", "it\nbroke", "low"),
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"garbage", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"<<<<<<< HEAD", "a mark of a conflict that git left"),
        (b">>>>>>> branch\r", "a mark of a conflict that git left"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id": ' + b"9" * 5_000 + b"}", "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"{}", "decision is missing"),
        (LINE.replace('"d"', '""').encode(), "decision is empty"),
        (LINE.replace('"x_1"', '" "').encode(), "id is empty"),
        (LINE.replace("2025-01-01", "yesterday").encode(), "timestamp must be a time"),
        (LINE.replace("}", ',"outcome":"bad"}').encode(), "outcome must be a map"),
        (LINE.replace("}", ',"outcome":{"kind":"odd"}}').encode(), "outcome.kind must be"),
        (LINE.replace("}", ',"provenance":{"trust":"high"}}').encode(), "provenance.trust must be"),
        (b'{"type":"delete","id":"e_1"}', "of is missing"),
        (b'{"type":"mark","id":"e_1","of":"x_1","timestamp":"2025-01-01"}', "outcome is missing"),
        (LINE.replace('"d"', f'"{"d" * (MAX_TEXT_BYTES + 1)}"').encode(), "decision is longer than"),
        (b'{"decision":"' + b"d" * MAX_LINE_BYTES * 2 + b'"}', "longer than 1048576 bytes"),
    ],
)
def test_a_bad_line_says_its_reason(content: bytes, reason: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{reason}"):
        read_line(line(content + b"\n"))


# --- A file of lines ---


AT = "2025-01-01T00:00:00.000Z"


class Failing(System):
    """A disk that from some moment on refuses to make anything durable."""

    fails = False

    def now(self) -> datetime:
        return datetime(2025, 1, 1, tzinfo=UTC)

    def fsync(self, descriptor: int) -> None:
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().fsync(descriptor)


def damage(*data: bytes, file: str = "x.jsonl") -> list[Quarantined]:
    return [
        quarantined(number, PoolLine(0, len(one), one, complete=True), "r", file, Failing().now())
        for number, one in enumerate(data)
    ]


def test_damage_is_copied_once_and_swallows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "quarantine"
    path.write_bytes(b'{"digest":"12')
    system = Failing()
    for quarantine in (Quarantine(str(path), system), Quarantine(str(path), system)):
        quarantine.keep(damage(b"a", b"b", b"a"))
    lines = path.read_bytes().splitlines()
    assert lines[0] == b'{"digest":"12'
    assert [(json.loads(one)["text"], json.loads(one)["line"]) for one in lines[1:]] == [("a", 0), ("b", 1)]
    assert {json.loads(one)["at"] for one in lines[1:]} == {AT}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    system.fails = True
    with pytest.raises(StateError, match="Input/output error"):
        Quarantine(str(path), system).keep(damage(b"a"))
    path.unlink()
    path.mkdir()
    with pytest.raises(StateError, match="quarantine"):
        Quarantine(str(path), System()).keep(damage(b"a"))


def test_the_last_ones_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "quarantine"
    quarantine = Quarantine(str(path), Failing())
    assert quarantine.listed(5) == ((), 0)
    quarantine.keep(damage(b"<<<<<<< HEAD\n", b"\xff\xfe", b"t" * 5_000, file="experiences.2.jsonl"))
    path.write_bytes(path.read_bytes() + b'garbage\n[]\n{"at":"x"}\n{"digest":"12')
    found, total = quarantine.listed(2)
    assert [(one.at, one.file, one.line, one.size, one.shown) for one in found] == [
        (AT, "experiences.2.jsonl", 2, 5_000, "t" * 2_000),
        (AT, "experiences.2.jsonl", 1, 2, "\\xff\\xfe"),
    ]
    assert total == 3
    assert quarantine.listed(5)[0][-1].text == "<<<<<<< HEAD\n"
    assert quarantine.listed(0) == ((), 3)
