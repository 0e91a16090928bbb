"""A pool's files together: what is appended and removed, under locks, with what others write meanwhile."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest
from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.lines import line_of
from foveal.daemon.memory.pool_store import PoolStore


def line(number: int) -> bytes:
    return line_of(Experience(f"x_{number}", f"2025-01-01T00:00:{number:02}.000Z", "a", "s", f"d {number}"))


def store_in(folder: Path, rotate_bytes: int = 10_000_000) -> PoolStore:
    store = PoolStore(str(folder / "x.jsonl"), System(), str(folder), os.write, rotate_bytes)
    store.refresh()
    return store


def ids(store: PoolStore) -> list[str]:
    return [one.id for one in store.records.shown()]


def test_what_is_appended_is_known_at_once(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with store.appending(store.target()) as append:
        append(line(1))
        assert ids(store) == ["x_1"]
        with (tmp_path / "x.jsonl").open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert store.generation == 1
    assert store.refresh() is False


def test_what_others_append_until_the_lock_is_held_outlives_a_removal(tmp_path: Path) -> None:
    store, other = store_in(tmp_path), store_in(tmp_path)
    with store.appending(store.private) as append:
        append(line(1) + line(2))
    with other.appending(other.private) as append:
        append(line(3))
    store.remove([store.private], lambda: {"x_1"} if "x_3" in ids(store) else set())
    assert ids(store) == ["x_3", "x_2"]
    with other.appending(other.private) as append:
        append(line(4))
    store.refresh()
    assert ids(store) == ids(other) == ["x_4", "x_3", "x_2"]


def test_who_waits_for_a_removal_writes_to_the_new_file(tmp_path: Path) -> None:
    store, other = store_in(tmp_path), store_in(tmp_path)
    with store.appending(store.private) as append:
        append(line(1) + line(2))
    started = threading.Event()

    def write() -> None:
        started.set()
        with other.appending(other.private) as append:
            append(line(3))

    thread = threading.Thread(target=write)

    def choose() -> set[str]:
        thread.start()
        started.wait()
        return {"x_1"}

    store.remove([store.private], choose)
    thread.join()
    store.refresh()
    assert ids(store) == ids(store_in(tmp_path)) == ["x_3", "x_2"]


def test_removing_nothing_rewrites_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.remove([store.private], lambda: {"x_1"})
    assert os.listdir(tmp_path) == []
    with store.appending(store.private) as append:
        append(line(1))
    before = (tmp_path / "x.jsonl").stat()
    store.remove([store.private], set)
    store.remove([store.private], lambda: {"x_9"})
    assert (tmp_path / "x.jsonl").stat() == before


def test_problems_are_told_until_they_are_gone(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.share("pool.txt", trusted=True)
    store.set_problem("retention", "It failed.")
    assert [problem[:30] for problem in store.problems] == ["experience.path is not used: i", "It failed."]
    assert store.shared == ""
    store.share("pool.jsonl", trusted=True)
    store.set_problem("retention", "")
    assert (store.problems, store.shared) == ([], "pool.jsonl")
