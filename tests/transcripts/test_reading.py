"""A transcript is read once: what was added later is found, with the turn it belongs to, and nothing else."""

from __future__ import annotations

import json
import os
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.core.system import System
from foveal.daemon.transcripts import cursor as cursor_store
from foveal.daemon.transcripts.cursor import Cursor, CursorStore
from foveal.daemon.transcripts.entry import TranscriptReader
from foveal.daemon.transcripts.plain import PlainTextReader
from foveal.daemon.transcripts.transcript_file import MAX_FILE_BYTES, MAX_LINE_BYTES, lines, opened
from foveal.daemon.transcripts.transcripts import READERS, read, reader_for
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.properties import examples
from tests.transcript_cases import (
    Claude,
    append,
    codex_message,
    codex_meta,
    read_all,
    said_in,
    write,
)

QWEN_CODE, CLAUDE_CODE, CODEX, COPILOT, DROID, GEMINI, OPENCODE, ANTIGRAVITY, PLAIN = READERS


def test_formats_are_recognized_by_content(tmp_path: Path) -> None:
    def check(expected: type[TranscriptReader] | None, *head: Any) -> None:
        assert (
            reader_for([one if isinstance(one, bytes) else json.dumps(one).encode() for one in head])
            is expected
        )

    snapshot = {"type": "file-history-snapshot", "snapshot": {}}
    check(CLAUDE_CODE, snapshot, {"type": "mode", "mode": "x"}, Claude().user("x"))
    check(COPILOT, {"type": "session.start", "data": {}, "id": "e", "parentId": None})
    check(ANTIGRAVITY, {"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "content": "x"})
    check(DROID, {"type": "session_start", "id": "s1", "cwd": "/w", "version": 2})
    check(GEMINI, {"sessionId": "s1", "projectHash": "ab", "kind": "main"})
    check(OPENCODE, {"info": {"id": "m1", "sessionID": "s1", "role": "user"}, "parts": []})
    check(CLAUDE_CODE, b"\n", b"not JSON\n", Claude().text("x"))
    check(CLAUDE_CODE, *[{"type": "summary", "summary": "x", "leafUuid": "y"}] * 500, Claude().user("x"))
    check(CODEX, codex_meta())
    check(PLAIN, {"role": "user", "content": "x"})
    check(PLAIN, {"role": "system", "content": "x"})
    check(PLAIN, {"role": "tool", "tool": {}})
    check(PlainTextReader, b"# Title\n", b"\n", b"## User\n")
    check(PlainTextReader, b"\n", b"User: x\n")
    check(None, b"Hello\n", b"User: x\n")
    check(None, {"role": "user"}, {"role": ["user"], "content": "x"}, {"type": "user"}, b"[]", b"5")
    check(None, snapshot)
    check(None)


def test_unchanged_conversation_gives_no_entries(tmp_path: Path) -> None:
    chat = Claude()
    path = write(tmp_path / "t.jsonl", [chat.user("Fix it"), chat.text("Fixed.")])
    entries, cursor = read_all(path)
    assert len(entries) == 2
    assert read_all(path, cursor) == ([], cursor)
    with read(path, cursor) as reading:
        assert reading.is_unchanged
        assert reading.is_finished
        assert reading.cursor == cursor


def test_grown_conversation_is_read_from_its_last_prompt(tmp_path: Path) -> None:
    chat = Claude()
    path = write(
        tmp_path / "t.jsonl",
        [chat.user("One"), chat.text("First."), chat.user("Two"), chat.call("Bash", {"command": "make"})],
    )
    before, cursor = read_all(path)
    append(path, chat.result("Exit code 2"), chat.text("So I do it otherwise."))
    entries, cursor = read_all(path, cursor)
    assert said_in(entries) == [
        ("user", "Two"),
        ("call", "make"),
        ("result", "Exit code 2"),
        ("agent", "So I do it otherwise."),
    ]
    assert [entry.line for entry in entries] == [3, 4, 5, 6]
    assert entries[:2] == before[2:]
    append(path, chat.user("Three"))
    append(path, chat.user("Four"))
    entries, cursor = read_all(path, cursor)
    assert said_in(entries)[0] == ("user", "Two")
    append(path, chat.text("Ended."))
    assert said_in(read_all(path, cursor)[0]) == [("user", "Four"), ("agent", "Ended.")]


def test_speaker_is_known_in_the_middle_of_a_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl",
        [codex_meta("t1"), codex_message("user", "One"), codex_message("assistant", "First.")],
    )
    _, cursor = read_all(path)
    append(path, codex_message("user", "Two"))
    _, cursor = read_all(path, cursor)
    append(path, codex_message("assistant", "Second."))
    entries, _ = read_all(path, cursor)
    assert [(entry.text, entry.session_id) for entry in entries] == [("Two", "t1"), ("Second.", "t1")]
    child = Claude(agent_id="ab12")
    own = write(tmp_path / "agent-ab12.jsonl", [child.user("One"), child.text("First."), child.user("Two")])
    _, cursor = read_all(own)
    append(own, child.text("Second."))
    with read(own, cursor) as reading:
        entries = list(reading.entries())
        assert (reading.reader.owner, reading.reader.cwd) == ("ab12", "/w/app")
    assert [(entry.text, entry.sidechain) for entry in entries] == [("Two", False), ("Second.", False)]
    text = tmp_path / "chat.md"
    text.write_text("## User\nOne\n## Assistant\nFirst.\n## User\nTwo\n")
    _, cursor = read_all(str(text))
    with text.open("a") as file:
        file.write("## Assistant\nSecond.\n")
    assert said_in(read_all(str(text), cursor)[0]) == [("user", "Two"), ("agent", "Second.")]


def test_replaced_or_cut_file_is_read_from_the_start(tmp_path: Path) -> None:
    def check(path: Path, cursor: Any) -> None:
        assert said_in(read_all(str(path), cursor)[0])[0] == ("user", "One")

    chat = Claude()
    records = [chat.user("One"), chat.text("First."), chat.user("Two"), chat.text("Second.")]
    path = tmp_path / "t.jsonl"
    write(path, records)
    _, cursor = read_all(str(path))
    write(path, records[:3])
    check(path, cursor)
    write(path, [*records[:3], chat.text("Sec0nd.")])
    check(path, cursor)
    write(path, records)
    assert read_all(str(path), cursor)[0] == []
    other = tmp_path / "other"
    write(other, records)
    os.replace(other, path)
    check(path, cursor)
    for wrong in (
        replace(cursor, resume=-5),
        replace(cursor, resume=cursor.size + 1),
        replace(cursor, size=cursor.size + 1),
        replace(cursor, digest=""),
    ):
        check(path, wrong)


def test_long_turn_is_not_read_again(tmp_path: Path) -> None:
    chat = Claude()
    path = write(tmp_path / "t.jsonl", [chat.user("Go")])
    for number in range(100):
        append(path, chat.text(f"Remark {number}"), chat.result("x" * 100_000))
    entries, cursor = read_all(path)
    assert len(entries) == 201
    append(path, chat.text("Done."))
    (again,), _ = read_all(path, cursor)
    assert (again.text, again.line) == ("Done.", 202)


def test_unreadable_lines_are_reported(tmp_path: Path) -> None:
    chat = Claude()
    path = write(tmp_path / "t.jsonl", [chat.user("Fix it")])
    with open(path, "a") as file:
        file.write("\nnot JSON\n\n" + json.dumps(chat.result("y" * MAX_LINE_BYTES)) + "\n")
    append(path, {"type": "brand-new"}, chat.text("Fixed."))
    with read(path) as reading:
        assert said_in(reading.entries()) == [("user", "Fix it"), ("agent", "Fixed.")]
        told = [(line, reason.partition(" bytes")[2] or reason) for line, reason in reading.skipped]
        assert told == [(3, "it is no JSON object"), (5, " are too long for a record")]
        assert reading.skipped_lines == 2
    with open(path, "a") as file:
        file.write("x\n" * 200)
    with read(path) as reading:
        assert len(list(reading.entries())) == 2
        assert (len(reading.skipped), reading.skipped_lines) == (50, 202)


def test_a_file_that_is_cut_meanwhile_ends_there(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"ab\nc\r\nd")
    with opened(str(path)) as (descriptor, _):
        assert [line.size for line in lines(descriptor, 0, 1_000)] == [3, 3, 1]
        assert [line.complete for line in lines(descriptor, 0, 5)] == [True, False]


def test_a_large_file_is_read_in_bounded_memory(tmp_path: Path) -> None:
    chat = Claude()
    path = write(tmp_path / "t.jsonl", [chat.user("Go")])
    with open(path, "a") as file:
        file.writelines(json.dumps(chat.result("z" * 100_000, f"tu{number}")) + "\n" for number in range(150))
    assert os.path.getsize(path) > 15_000_000
    tracemalloc.start()
    try:
        with read(path) as reading:
            count = sum(1 for _ in reading.entries())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 151
    assert peak < 8_000_000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "type", "message", "content", "text", "id", "name", "input", "tool_use_id", "command", "role",
                    "payload", "call_id", "arguments", "output", "summary", "action", "changes", "tool", "paths",
                    "attachment", "prompt", "answers", "questions", "status", "agentId", "source", "subagent",
                )
            ),
            inner | st.sampled_from(
                (
                    "text", "tool_use", "tool_result", "thinking", "message", "assistant", "user", "tool",
                    "function_call", "function_call_output", "custom_tool_call", "local_shell_call", "reasoning",
                    "agent_message", "exec_command_end", "patch_apply_end", "task_complete", "queued_command",
                    "shell", "apply_patch", "Edit", "Bash", "AskUserQuestion", "SubagentHandback", "completed",
                )
            ),
            max_size=6,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=examples(150))
@given(
    kind=st.sampled_from(
        [
            "user",
            "assistant",
            "attachment",
            "system",
            "response_item",
            "event_msg",
            "session_meta",
            "compacted",
        ]
    ),
    fields=_JSON,
)
def test_no_record_ends_a_reading(kind: str, fields: Any) -> None:
    envelope = {"type": kind, "uuid": "u", "sessionId": "s", "payload": fields, "message": fields}
    more = fields if isinstance(fields, dict) else {"content": fields, "role": "tool"}
    for record in (envelope, {**more, **envelope}, {**envelope, **more}, more):
        data = json.dumps(record).encode()
        reader_for([data])
        for found in (*READERS, PlainTextReader):
            reader = found()
            for line in (1, 2):
                assert reader.read(line, data) is not None
            reader.finish()


def test_arbitrary_files_are_read_safely(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for content in (b"\0" * 5_000_000, b"\xff" * 1_000, b"{" * 100_000, b'{"a":' * 10_000, b"\n" * 1_000):
        path.write_bytes(content)
        with pytest.raises(InvalidRequest), read(str(path)):
            pass


# Cursors are kept by the transcript that they are of, and the oldest are forgotten.


class Clock(System):
    """A clock that goes on by a nanosecond whenever it is read."""

    def __init__(self) -> None:
        self._time = 0

    def now(self) -> datetime:
        return datetime.fromtimestamp(0, UTC)

    def time_ns(self) -> int:
        self._time += 1
        return self._time


def cursor(size: int) -> Cursor:
    return Cursor(7, size, "d" * 32, 1, 2)


def test_cursor_roundtrips(tmp_path: Path) -> None:
    path = str(tmp_path / "t.jsonl")
    store = CursorStore(str(tmp_path), Clock())
    assert store.find(path) is None
    assert list(tmp_path.iterdir()) == []
    store.put(path, cursor(10))
    store.put(path, cursor(20))
    store.put(f"{path}2", cursor(30))
    again = CursorStore(str(tmp_path), Clock())
    assert (again.find(path), again.find(f"{path}2"), again.find(f"{path}3")) == (
        cursor(20),
        cursor(30),
        None,
    )


def test_oldest_cursors_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursor_store, "CURSORS_MAX", 3)
    store = CursorStore(str(tmp_path), Clock())
    for name in ("/a", "/b", "/c", "/a", "/d", "/e"):
        store.put(name, cursor(1))
    assert [name for name in ("/a", "/b", "/c", "/d", "/e") if store.find(name)] == ["/a", "/d", "/e"]


def test_damaged_store_loses_only_cursors(tmp_path: Path) -> None:
    (tmp_path / cursor_store.NAME).write_bytes(b"no database" * 1_000)
    store = CursorStore(str(tmp_path), Clock())
    assert store.find("/a") is None
    store.put("/a", cursor(1))
    assert store.find("/a") == cursor(1)


# Only regular files of the user are read, whatever a path names, and in pieces of bounded size.


def refusal(path: str) -> str:
    """Return why a path isn't read."""
    with pytest.raises(InvalidRequest) as caught, read(path):
        pass
    assert caught.value.field == "transcript_path"
    return str(caught.value)


def test_invalid_transcript_paths_are_refused(tmp_path: Path) -> None:
    def check(path: Path | str, *words: str) -> None:
        message = refusal(str(path))
        assert all(word in message for word in words), message

    pipe, folder, empty, prose = (tmp_path / name for name in ("pipe", "folder", "empty", "prose"))
    os.mkfifo(pipe)
    folder.mkdir()
    empty.touch()
    prose.write_text("Dear diary,\ntoday I decided nothing.\n")
    check(tmp_path / "missing", "can't be read", "No such file")
    check("t.jsonl", "no absolute path")
    check("", "no absolute path")
    check(f"{tmp_path}/a\0b", "no absolute path")
    check(f"{tmp_path}/a\ud800b", "a character that no path has")
    check(f"{prose}/x", "can't be read")
    check(tmp_path / ("x" * 300), "can't be read")
    check(folder, "is a folder")
    check(pipe, "not a regular file")
    check("/dev/null", "not a regular file")
    check("/dev/zero", "not a regular file")
    check(empty, "is empty")
    check(prose, "no transcript", "docs/transcripts.md")
    for name, target in (("to-pipe", pipe), ("to-device", Path("/dev/zero")), ("to-folder", folder)):
        (tmp_path / name).symlink_to(target)
        check(tmp_path / name, "folder" if target is folder else "not a regular file")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    check(tmp_path / "loop", "can't be read")


def test_foreign_or_endless_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert "more than" in refusal(str(path))
    write(path, [Claude().user("x")])
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "belongs to the user" in refusal(str(path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write(path, [Claude().user("x")])
    path.chmod(0)
    assert "Permission denied" in refusal(str(path))
