"""The lines of the pool's file: what is written is read back, damage says why, additions are told apart."""

from __future__ import annotations

import base64
import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.system import System, stamp_of
from foveal.daemon.memory.edits import Edit, PoolChanges
from foveal.daemon.memory.experience import (
    MAX_FILES,
    MAX_TEXT_BYTES,
    BadField,
    Draft,
    Experience,
    Provenance,
    checked,
)
from foveal.daemon.memory.lines import (
    MAX_LINE_BYTES,
    Damage,
    FileReading,
    PoolLine,
    Quarantine,
    Quarantined,
    digests_in,
    is_whole,
    line_of,
    lines_from,
    read_line,
    record_of,
    torn_line,
)

LINE = '{"id":"x_1","timestamp":"2025-01-01T00:00:00Z","agent_id":"a","session_id":"s","decision":"d"}'


def line(data: bytes) -> PoolLine:
    return PoolLine(0, len(data), data[: MAX_LINE_BYTES + 1], complete=True)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


# --- A line ---


def test_written_lines_are_read_back() -> None:
    def check(record: Experience | Edit) -> None:
        data = line_of(record)
        assert data.index(b"\n") == len(data) - 1
        assert read_line(line(data)) == record
        assert is_whole(line(data[:-1]))
        assert not is_whole(line(data[:-2]))

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


def test_the_largest_draft_fits_a_line() -> None:
    worst = '"' * MAX_TEXT_BYTES
    files = tuple('"' * 1_000 + str(number) for number in range(MAX_FILES + 5))
    largest = Draft(worst, "a", "s", worst, files, "failure", worst)
    found = checked(largest, "2025-01-01T00:00:00.000Z", "/project")
    assert found.files_dropped > 5
    assert len(line_of(found.experience)) < MAX_LINE_BYTES


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"garbage", "not JSON"),
        (b"\x00" * 50, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"<<<<<<< HEAD", "a mark of a conflict that git left"),
        (b"||||||| 1234567", "a mark of a conflict that git left"),
        (b"=======", "a mark of a conflict that git left"),
        (b">>>>>>> branch\r", "a mark of a conflict that git left"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id": ' + b"9" * 5_000 + b"}", "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"{}", "decision is missing"),
        (LINE.replace('"d"', '""').encode(), "decision is empty"),
        (LINE.replace('"d"', "5").encode(), "decision must be a string"),
        (LINE.replace('"x_1"', "null").encode(), "id is missing"),
        (LINE.replace('"x_1"', '" "').encode(), "id is empty"),
        (LINE.replace("2025-01-01", "yesterday").encode(), "timestamp must be a time"),
        (LINE.replace("}", ',"outcome":"bad"}').encode(), "outcome must be a map"),
        (LINE.replace("}", ',"outcome":{"kind":"odd"}}').encode(), "outcome.kind must be"),
        (LINE.replace("}", ',"files_touched":"a"}').encode(), "files_touched must be a list"),
        (LINE.replace("}", ',"provenance":5}').encode(), "provenance must be a map"),
        (LINE.replace("}", ',"provenance":{"trust":"high"}}').encode(), "trust must be normal or low"),
        (b'{"type":"delete","id":"e_1"}', "of is missing"),
        (b'{"type":"delete","id":" ","of":"x_1","timestamp":"2025-01-01"}', "id is empty"),
        (b'{"type":"restore","id":"e_1","of":"x_1"}', "timestamp is missing"),
        (b'{"type":"mark","id":"e_1","of":"x_1","timestamp":"2025-01-01"}', "outcome is missing"),
        (LINE.replace('"d"', f'"{"d" * (MAX_TEXT_BYTES + 1)}"').encode(), "decision is longer than"),
        (b'{"decision":"' + b"d" * MAX_LINE_BYTES * 2 + b'"}', "longer than 1048576 bytes"),
    ],
)
def test_a_bad_line_says_its_reason(content: bytes, reason: str) -> None:
    with pytest.raises(BadField) as caught:
        read_line(line(content + b"\n"))
    assert f"{caught.value.field} {caught.value}".strip().startswith(reason)
    assert not is_whole(line(content))


def test_an_empty_line_and_one_of_a_newer_version_are_no_damage() -> None:
    for data in (b"\n", b"  \r\n", b'{"type":"vote","of":"x_1"}\n'):
        assert read_line(line(data)) is None
    known = read_line(line(f'{LINE[:-1]},"type":"experience","mood":"good"}}\n'.encode()))
    assert known == read_line(line(LINE.encode()))
    assert isinstance(known, Experience)
    assert known.decision == "d"


# --- A file of lines ---


def test_a_file_is_cut_into_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    long = b"x" * (MAX_LINE_BYTES * 2 + 5)

    def check(content: bytes, expected: list[tuple[int, int, bool]], offset: int = 0) -> None:
        path.write_bytes(content)
        with opened(path) as descriptor:
            found = list(lines_from(descriptor, offset))
            os.fstat(descriptor)  # it is still open
        assert [(one.offset, one.size, one.complete) for one in found] == expected
        for one in found:
            assert one.data == content[one.offset :][: min(one.size, MAX_LINE_BYTES + 1)]

    check(b"", [])
    check(b"\n\n", [(0, 1, True), (1, 1, True)])
    check(b"a\r\nbc", [(0, 3, True), (3, 2, False)])
    check(b"a\nbc\n", [(2, 3, True)], offset=2)
    check(b"a\n", [], offset=2)
    check(long + b"\nb\n", [(0, len(long) + 1, True), (len(long) + 1, 2, True)])
    check(long, [(0, len(long), False)])
    check(b"x" * MAX_LINE_BYTES + b"\n", [(0, MAX_LINE_BYTES + 1, True)])


def test_torn_line_follows_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"first\ntorn")
    with opened(path) as descriptor:
        assert torn_line(descriptor, 6) == PoolLine(6, 4, b"torn", complete=False)
    path.write_bytes(b"x" * (MAX_LINE_BYTES + 10))
    with opened(path) as descriptor:
        found = torn_line(descriptor, 0)
    assert (found.size, len(found.data)) == (MAX_LINE_BYTES + 10, MAX_LINE_BYTES)


def test_appended_lines_are_distinguished_from_changes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    content = b"".join(b"line %d\n" % number for number in range(20))

    def check(expected: bool, changed: bytes | None, *, replaced: bool = False) -> None:
        path.write_bytes(content)
        os.utime(path, ns=(1, 1))
        with opened(path) as descriptor:
            reading = FileReading(stamp=stamp_of(os.fstat(descriptor)), offset=len(content))
            reading.remember_tail(descriptor)
            assert content.endswith(reading.tail)
            assert reading.is_continued_by(descriptor, stamp_of(os.fstat(descriptor)))
        if changed is None:
            path.rename(tmp_path / "aside")
            (tmp_path / "aside").rename(path)
        elif replaced:
            (tmp_path / "other").write_bytes(changed)
            os.replace(tmp_path / "other", path)
        else:
            path.write_bytes(changed)
        with opened(path) as descriptor:
            assert reading.is_continued_by(descriptor, stamp_of(os.fstat(descriptor))) is expected
            assert not FileReading().is_continued_by(descriptor, stamp_of(os.fstat(descriptor)))

    check(True, content + b"more\n")
    check(True, None)
    check(False, content)  # of the same size, but with a new time
    check(False, content[:-5])
    check(False, b"")
    check(False, b"before\n" + content)
    check(False, content.replace(b"line 19", b"LINE 19") + b"more\n")
    check(False, content + b"more\n", replaced=True)


# --- The quarantine ---


def test_damage_is_recorded_as_text_where_it_is_text(tmp_path: Path) -> None:
    text = Damage(3, PoolLine(10, 8, b"garb\xc3\xa4ge", complete=True), "not JSON", "experiences.1.jsonl")
    binary = Damage(4, PoolLine(20, 2, b"\xff\n", complete=True), "not JSON")
    records = record_of(text, "2025-01-01T00:00:00.000Z") + record_of(binary, "2025-01-01T00:00:00.000Z")
    first, second = (json.loads(one) for one in records.splitlines())
    assert first == {
        "digest": text.digest,
        "at": "2025-01-01T00:00:00.000Z",
        "file": "experiences.1.jsonl",
        "line": 3,
        "offset": 10,
        "size": 8,
        "reason": "not JSON",
        "text": "garbäge",
    }
    assert base64.b64decode(second["base64"]) == b"\xff\n"
    assert text.digest != binary.digest
    path = tmp_path / "quarantine"
    path.write_bytes(records)
    with opened(path) as descriptor:
        assert digests_in(descriptor) == ({text.digest, binary.digest}, True)
    path.write_bytes(b"nothing of ours\n" + records[:-1])
    with opened(path) as descriptor:
        assert digests_in(descriptor) == ({text.digest, binary.digest}, False)
    path.write_bytes(b"")
    with opened(path) as descriptor:
        assert digests_in(descriptor) == (set(), True)


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


def damage(*data: bytes, file: str = "x.jsonl") -> list[Damage]:
    return [
        Damage(number, PoolLine(0, len(one), one, complete=True), "r", file)
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
    assert total == 3
    assert found == (
        Quarantined(AT, "experiences.2.jsonl", 2, 5_000, "r", "t" * 2_000),
        Quarantined(AT, "experiences.2.jsonl", 1, 2, "r", "\\xff\\xfe"),
    )
    assert quarantine.listed(5)[0][-1].text == "<<<<<<< HEAD\n"
    assert quarantine.listed(0) == ((), 3)
