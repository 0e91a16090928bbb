"""A file that ends the indexer twice is left alone until it changes; all others are indexed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from foveal.daemon.core.system import Stamp, System
from foveal.daemon.index.crash_guard import DEATHS_MAX, HANG_S, META_KEY, NOTE_NAME, CrashGuard
from foveal.daemon.index.store import Store
from foveal.daemon.project.records import FileRecord

from tests.indexer_cases import Bench, put

RECORDS = {
    path: FileRecord(path, Stamp(1, 2, 3, number)) for number, path in enumerate(("a.py", "b.py", "č.py"))
}


class Died(BaseException):
    """Ends what runs as the end of the process does."""


def die() -> None:
    raise Died


def start(bench: Bench, *deadly: str) -> bool:
    """Index as a new process does, which files may end; whether it came to the end."""
    bench.close()
    for name in deadly:
        bench.disk.before_read[str(bench.root / name)] = die
    try:
        bench.start()
    except Died:
        return False
    return True


def indexed(bench: Bench) -> set[str]:
    return {path for path, record in bench.tree.files.items() if record.digest}


def test_a_file_that_ends_the_process_twice_is_left_alone(bench: Bench) -> None:
    put(bench.root, {f"m{n}.py": f"def f{n}(): ...\n" for n in range(6)})
    assert not start(bench, "m0.py")
    assert not start(bench, "m0.py")
    assert start(bench, "m0.py"), "it was read a third time"
    assert bench.state == "ready"
    assert bench.tree.files["m0.py"].skipped == "quarantined"
    assert indexed(bench) == {f"m{n}.py" for n in range(1, 6)}
    (said,) = bench.progress.degraded
    assert said.startswith(f"m0.py ended the indexer {DEATHS_MAX} times")
    bench.indexer.sync()
    assert bench.tree.files["m0.py"].skipped == "quarantined"
    bench.disk.before_read.clear()
    assert start(bench), "and it stays so"
    assert bench.tree.files["m0.py"].skipped == "quarantined"


def test_all_others_are_indexed_before_a_suspect(bench: Bench) -> None:
    put(bench.root, {f"m{n}.py": "" for n in range(6)})
    assert not start(bench, "m0.py")
    assert not start(bench, "m0.py")
    with bench.reader() as reader:
        known = reader.load_files()
    assert {path for path, record in known.items() if record.digest} == {f"m{n}.py" for n in range(1, 6)}


@pytest.mark.parametrize("how", ["changed", "full"])
def test_it_is_tried_again_when_it_changed_and_when_all_is_read_again(bench: Bench, how: str) -> None:
    put(bench.root, {"a.py": "x = 1\n", "b.py": ""})
    assert [start(bench, "a.py") for _ in range(3)] == [False, False, True]
    assert bench.progress.degraded
    bench.disk.before_read.clear()
    if how == "changed":
        put(bench.root, {"a.py": "def mended(): ...\n"})
        assert bench.sync().complete
    else:
        bench.indexer.reindex(full=True)
        bench.settle()
    assert indexed(bench) == {"a.py", "b.py"}
    assert bench.progress.degraded == ()


def test_a_single_death_is_forgotten_once_all_is_read(bench: Bench) -> None:
    put(bench.root, {"a.py": "", "b.py": ""})
    assert not start(bench, "a.py")
    bench.disk.before_read.clear()
    assert start(bench)
    assert indexed(bench) == {"a.py", "b.py"}
    put(bench.root, {"b.py": "x = 1\n"})
    bench.indexer.reindex(full=True)
    bench.disk.before_read[str(bench.root / "a.py")] = die
    with pytest.raises(Died):
        bench.settle()
    bench.disk.before_read.clear()
    assert start(bench)
    assert indexed(bench) == {"a.py", "b.py"}


def test_a_file_whose_links_end_the_process_loses_its_contents(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n", "b.py": "from a import f\n"})
    assert start(bench)
    bench.close()
    for _ in range(DEATHS_MAX):  # as a process leaves it that is killed while it links
        store = Store(str(bench.folder), System())
        noted = CrashGuard(str(bench.folder), store, store.load_files())
        noted.begin("a.py")
        noted.close()
        store.close()
    assert start(bench)
    assert bench.tree.files["a.py"].skipped == "quarantined"
    with bench.reader() as reader:
        assert reader.symbols("a.py") == ()


# The note

Making = Callable[[], CrashGuard]


@pytest.fixture
def suspects(tmp_path: Path) -> Iterator[Making]:
    """Return what makes the suspects of one folder, as each process does."""
    folder = tmp_path / "suspects"
    store = Store(str(folder), System())
    with ExitStack() as made:

        def make() -> CrashGuard:
            return made.enter_context(closing(CrashGuard(str(folder), store, RECORDS)))

        yield make
    store.close()


def test_the_disk_is_to_blame_for_its_own_errors(suspects: Making) -> None:
    for error in (sqlite3.OperationalError("database or disk is full"), OSError(28, "No space left")):
        noted = suspects()
        with pytest.raises(type(error)), noted.work():  # noqa: PT012 - what is at work when it comes counts
            noted.begin("a.py")
            raise error
        assert list(suspects()) == []


def test_a_process_that_loses_its_daemon_blames_no_file(suspects: Making) -> None:
    noted = suspects()
    noted.begin("a.py")
    noted.abandon()
    noted.begin("b.py")
    assert list(suspects()) == []


def test_only_the_same_file_as_it_was_counts(suspects: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    suspects().begin("a.py")
    suspects().begin("b.py")
    assert list(suspects()) == ["a.py", "b.py"]
    monkeypatch.setitem(RECORDS, "a.py", FileRecord("a.py", Stamp(1, 2, 9, 0)))
    assert list(suspects()) == ["b.py"]
    suspects().begin("a.py")
    last = suspects()
    assert not last.is_quarantined(RECORDS["a.py"])
    last.begin("a.py")
    assert suspects().is_quarantined(RECORDS["a.py"])


DEEP = b"[" * 30_000


@pytest.mark.parametrize(
    "note",
    [
        *(b"", b"\1", b"\xff\xff\xff\xff[", b"\4\0\0\0[{}]", b"\5\0\0\0[1,2]", b'\x06\0\0\0["\xff",1'),
        *(len(DEEP).to_bytes(4, "little") + DEEP, b'\x20\0\0\0["a.py", Infinity, 1, 1, 1]     '),
    ],
)
def test_an_invalid_note_blames_no_file(suspects: Making, tmp_path: Path, note: bytes) -> None:
    (tmp_path / "suspects/at_work").write_bytes(note)
    assert list(suspects()) == []


@pytest.mark.parametrize("kept", ["", "[", "[1]", '{"a.py": 1}', '{"a.py": []}', '{"a.py": [1]}'])
def test_invalid_stored_suspects_blame_no_file(tmp_path: Path, kept: str) -> None:
    store = Store(str(tmp_path), System())
    store.set_meta(META_KEY, kept)
    made = CrashGuard(str(tmp_path), store, RECORDS)
    assert list(made) == []
    made.close()
    store.close()


def test_the_alarm_is_set_for_each_file_and_taken_back(tmp_path: Path) -> None:
    store = Store(str(tmp_path), System())
    alarms: list[float] = []
    made = CrashGuard(str(tmp_path), store, RECORDS, alarms.append)
    with made.work():
        made.begin("a.py")
        made.begin("b.py")
        assert alarms == [HANG_S, HANG_S]
    assert alarms == [HANG_S, HANG_S, 0.0]
    with made.work():
        made.begin("gone.py")
    assert alarms == [HANG_S, HANG_S, 0.0]
    made.close()
    store.close()


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "loop"])
def test_whatever_lies_in_the_place_of_the_note_the_project_opens(bench: Bench, kind: str) -> None:
    put(bench.root, {"a.py": "def a(): ...\n"})
    assert start(bench)
    bench.close()
    note = bench.folder / NOTE_NAME
    note.unlink()
    make: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(note),
        "folder": note.mkdir,
        "link": lambda: note.symlink_to("/dev/null"),
        "loop": lambda: note.symlink_to(note.name),
    }
    make[kind]()
    assert start(bench)
    assert indexed(bench) == {"a.py"}
    assert list(bench.folder.glob(f"{NOTE_NAME}.damaged-*"))
