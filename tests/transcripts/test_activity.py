"""What agents do to files is collected from the transcripts of all hosts, a turn at a time."""

from __future__ import annotations

import pytest
from foveal.daemon.transcripts.activity import Activity, ActivityLog, in_command
from foveal.daemon.transcripts.entry import EntryKind, TranscriptEntry


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat src/a.py", {("read", "src/a.py")}),
        ("cd src && sed -n '1,80p' a.py | head -20", {("read", "a.py")}),
        ("FOO=1 sudo tail -f log/app.log", {("read", "log/app.log")}),
        ("sed -i 's/x/y/' src/a.py", {("edited", "src/a.py")}),
        ("echo x > src/b.py; pytest tests/test_b.py", {("edited", "src/b.py"), ("named", "tests/test_b.py")}),
        ("cat > src/c.py <<'EOF'\nimport a.py\nEOF\n", {("edited", "src/c.py")}),
        ("cat src/a.py >> all.txt", {("read", "src/a.py"), ("edited", "all.txt")}),
        ("git commit -m 'Change a.py'", set()),
        ("", set()),
    ],
)
def test_files_in_commands(command: str, expected: set[tuple[str, str]]) -> None:
    assert set(in_command(command)) == expected


def entry(kind: EntryKind, line: int, **fields: object) -> TranscriptEntry:
    return TranscriptEntry(kind, line, at=f"2026-01-31T12:00:{line:02}Z", **fields)  # type: ignore[arg-type] # its fields


def collected(*entries: TranscriptEntry) -> tuple[Activity, ...]:
    log = ActivityLog()
    assert list(log.noted(entries)) == list(entries)
    return log.activities


def test_activities_of_a_turn_are_counted_once() -> None:
    read = {"tool": "read", "paths": ("/w/a.py",)}
    found = collected(
        entry("user", 1),
        entry("call", 2, call_id="1", **read),
        entry("result", 3, call_id="1"),
        entry("call", 4, call_id="2", **read),
        entry("result", 5, call_id="2"),
        entry("user", 6),
        entry("call", 7, call_id="3", **read),
        entry("result", 8, call_id="3"),
    )
    times = [(item.line, item.first[-3:], item.last[-3:]) for item in found]
    assert times == [(1, "02Z", "04Z"), (6, "07Z", "07Z")]


def test_calls_that_failed_or_have_no_result_touch_nothing() -> None:
    edit = {"tool": "edit", "paths": ("/w/a.py",)}
    assert not collected(
        entry("call", 1, call_id="1", **edit),
        entry("result", 2, call_id="1", failed=True),
        entry("call", 3, call_id="2", **edit),
        entry("result", 4, call_id="unknown"),
    )
    assert collected(entry("call", 5, **edit)), "a host that keeps no results"
