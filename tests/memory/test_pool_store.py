"""A pool's files together: what is appended and removed, under locks, with what others write meanwhile."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foveal.daemon.core.errors import Busy, StateError
from foveal.daemon.core.system import System
from foveal.daemon.memory.edits import Edit
from foveal.daemon.memory.experience import Experience
from foveal.daemon.memory.lines import MAX_LINE_BYTES, line_of
from foveal.daemon.memory.pool_file import PoolFile, PoolParts
from foveal.daemon.memory.pool_store import (
    PoolReader,
    PoolSource,
    PoolStore,
    guard_of,
    pieces_about,
    shared_problem,
)


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


def source_in(folder: Path, system: System, *, optional: bool = False) -> PoolSource:
    folder.mkdir(exist_ok=True)
    return PoolSource(PoolParts(PoolFile(str(folder / "x.jsonl"), system), system), optional)


class Counting(System):
    """Notes which folders are listed; `disturb` is called with each listing."""

    def __init__(self) -> None:
        self.listed = 0

    def disturb(self, path: str) -> None:
        """Change what is there."""

    @contextmanager
    def scandir(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        self.listed += 1
        self.disturb(path)
        with super().scandir(path) as entries:
            yield entries


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    reader = PoolReader([source_in(tmp_path, System())], System())
    assert not reader.is_current()
    reader.catch_up()
    assert reader.is_current()
    path.write_bytes(line(1))
    assert not reader.is_current()
    reader.catch_up()
    records = reader.records
    with path.open("ab") as file:
        file.write(line(2))
    reader.catch_up()
    assert reader.records is records
    assert len(records) == 2
    path.rename(tmp_path / "x.1.jsonl")
    path.write_bytes(line(3))
    reader.catch_up()
    assert reader.records is records, "a file that was set aside is the one that was read"
    assert [one.id for one in records.shown()] == ["x_3", "x_2", "x_1"]
    (tmp_path / "x.1.jsonl").write_bytes(line(1))
    reader.catch_up()
    assert reader.records is not records
    assert [one.id for one in reader.records.shown()] == ["x_3", "x_1"]
    assert sum(reading.lines for reading in reader.readings()) == 2


def test_a_torn_end_is_only_told_of_the_file_that_is_appended_to(tmp_path: Path) -> None:
    source = source_in(tmp_path, System())
    (tmp_path / "x.1.jsonl").write_bytes(line(1)[:-1])
    (tmp_path / "x.jsonl").write_bytes(line(2) + b'{"id":"x_3"')
    reader = PoolReader([source], System())
    reader.catch_up()
    torn = reader.torn(source)
    assert torn is not None
    assert torn.offset == len(line(2))
    assert len(reader.records) == 2
    (tmp_path / "x.jsonl").write_bytes(line(2))
    reader.catch_up()
    assert reader.torn(source) is None


def test_files_that_are_renamed_while_they_are_listed(tmp_path: Path) -> None:
    class Renaming(Counting):
        def disturb(self, path: str) -> None:
            if self.listed in (2, 4):
                os.rename(tmp_path / "x.jsonl", tmp_path / f"x.{self.listed}.jsonl")
                (tmp_path / "x.jsonl").write_bytes(line(self.listed))

    system = Renaming()
    (tmp_path / "x.jsonl").write_bytes(line(1))
    reader = PoolReader([source_in(tmp_path, system)], system)
    reader.catch_up()
    assert [one.id for one in reader.records.shown()] == ["x_4", "x_2", "x_1"]


def test_files_that_never_hold_still_are_busy(tmp_path: Path) -> None:
    class Restless(Counting):
        def disturb(self, path: str) -> None:
            (tmp_path / "new").write_bytes(line(1))
            os.replace(tmp_path / "new", tmp_path / "x.jsonl")

    system = Restless()
    reader = PoolReader([source_in(tmp_path, system)], system)
    with pytest.raises(Busy, match="change all the time"):
        reader.catch_up()


def test_an_optional_source_that_can_not_be_read_is_left_out(tmp_path: Path) -> None:
    private = source_in(tmp_path / "private", System())
    shared = source_in(tmp_path / "shared", System(), optional=True)
    (tmp_path / "private" / "x.jsonl").write_bytes(line(1))
    (tmp_path / "shared" / "x.jsonl").write_bytes(line(2))
    reader = PoolReader([private, shared], System())
    reader.catch_up()
    assert len(reader.records) == 2
    (tmp_path / "shared" / "x.jsonl").rename(tmp_path / "shared" / "y")
    (tmp_path / "shared" / "x.jsonl").symlink_to("y")
    for _ in range(2):
        reader.catch_up()
        assert [one.id for one in reader.records.shown()] == ["x_1"]
        assert "is a symlink" in shared.problem
        assert not reader.is_current(), "it may be mended at any time"
    records = reader.records
    (tmp_path / "shared" / "x.jsonl").unlink()
    reader.catch_up()
    assert (shared.problem, reader.records is records) == ("", True)
    assert reader.is_current()
    os.replace(tmp_path / "private" / "x.jsonl", tmp_path / "private" / "y")
    (tmp_path / "private" / "x.jsonl").symlink_to("y")
    with pytest.raises(StateError, match="is a symlink"):
        reader.catch_up()


AT = "2025-01-01T00:00:00.000Z"


def test_which_lines_go(tmp_path: Path) -> None:
    lines = [
        line_of(Experience("x_1", AT, "a", "s", "one")),
        line_of(Experience("x_2", AT, "a", "s", "two")),
        b"garbage\n",
        b"\n",
        line_of(Edit("e_1", "x_1", AT, "delete")),
        line_of(Edit("e_2", "x_9", AT, "delete")),
        b'{"type":"vote","of":"x_1"}\n',
        b"x" * (MAX_LINE_BYTES + 1) + b"\n",
        line_of(Experience("x_3", AT, "a", "s", "three"))[:-1],
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(lines))
    parts = PoolParts(PoolFile(str(path), System()), System())
    [part] = parts.listed()

    def check(ids: set[str], expected: list[int]) -> None:
        offsets = [(sum(map(len, lines[:number])), len(lines[number])) for number in expected]
        assert pieces_about(parts, part, ids) == offsets

    check(set(), [])
    check({"x_5"}, [])
    check({"x_1"}, [0, 2, 4])
    check({"x_9"}, [2, 5])
    check({"x_2", "x_3"}, [1, 2, 8])


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("decisions.jsonl", ""),
        (".foveal/experiences.jsonl", ""),
        ("docs/größe.jsonl", ""),
        ("/etc/decisions.jsonl", "a plain path"),
        ("../decisions.jsonl", "must lie in the project"),
        ("a/../../decisions.jsonl", "a plain path"),
        ("./decisions.jsonl", "a plain path"),
        ("a//decisions.jsonl", "a plain path"),
        ("a\\decisions.jsonl", "a plain path"),
        ("a\0.jsonl", "a plain path"),
        (".git/decisions.jsonl", "not in .git"),
        ("a/.GIT/decisions.jsonl", "not in .git"),
        ("src/main.py", "must be named"),
        ("decisions.jsonl/", "a plain path"),
        (".jsonl", "must be named"),
        ("a/.jsonl", "must be named"),
    ],
)
def test_which_paths_are_taken(path: str, problem: str) -> None:
    found = shared_problem(path, trusted=True)
    assert (problem in found) if problem else (found == "")
    assert "foveal trust" in shared_problem(path, trusted=False)


def test_no_symlink_leads_out_of_the_project(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "root-outside"
    for folder in (root / "inside", root / ".git", outside):
        folder.mkdir(parents=True)
    (root / "out").symlink_to(outside)
    (root / "in").symlink_to("inside")
    (root / "hidden").symlink_to(".git")
    (tmp_path / "link").symlink_to("root")

    def check(path: str, problem: str = "", root: Path = root) -> None:
        guard = guard_of(str(root), path)
        if not problem:
            guard()
            return
        with pytest.raises(StateError, match=problem):
            guard()

    check("x.jsonl")
    check("inside/x.jsonl")
    check("new/deep/x.jsonl")
    check("in/x.jsonl")
    check("x.jsonl", root=tmp_path / "link")
    check("out/x.jsonl", "leads out of the project")
    check("out/deep/x.jsonl", "leads out of the project")
    check("hidden/x.jsonl", r"lies in \.git")
