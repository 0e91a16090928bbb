"""Cursors are kept by the transcript that they are of, and the oldest are forgotten."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.transcripts import cursor as cursor_store
from foveal.daemon.transcripts.cursor import Cursor, CursorStore


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
