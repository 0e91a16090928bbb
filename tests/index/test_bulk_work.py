"""Work on a project comes in an order that loses nothing: whatever ends it, the next one goes on from there."""

from __future__ import annotations

import errno
import os
import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from foveal.daemon.index import project_index as bulk_work
from foveal.daemon.index import reading_queue
from foveal.daemon.index.crash_guard import DEATHS_MAX
from foveal.daemon.index.lexical_indexer import LexicalWriter
from foveal.daemon.index.store import FILE_NAME, Store
from foveal.daemon.project.records import ScanChanges

from tests.conftest import git, write_files
from tests.indexer_cases import (
    OLD_NS,
    Bench,
    activity,
    check_true,
    imports,
    lexical_files,
    put,
    skipped,
    symbols,
)


def test_names_are_known_before_contents(bench: Bench) -> None:
    bench.start(
        {"a.py": "def f(): ...\n", "sub/b.py": "import a\n", "logo.png": b"\x89PNG\0", "tool": "#!/bin/sh\n"}
    )
    assert bench.states == ["scanning", "indexing", "ready"]
    named = [record.path for delta in bench.deltas for record in delta.upserted if not record.parsed]
    first_read = next(i for i, delta in enumerate(bench.deltas) if any(r.parsed for r in delta.upserted))
    before = {record.path for delta in bench.deltas[:first_read] for record in delta.upserted}
    assert before == {"a.py", "sub/b.py", "logo.png", "tool"} == set(named)
    assert symbols(bench, "a.py") == ["f"]
    assert skipped(bench, "logo.png") == "binary"
    assert bench.tree.files["tool"].language == "bash", "its first line says so"
    assert (bench.progress.total, bench.progress.pending, bench.progress.watch) == (4, 0, "native")
    check_true(bench)


def test_a_warm_start_reads_only_what_changed(bench: Bench, parses: list[bytes]) -> None:
    bench.start({f"f{n}.py": f"def f{n}(): ...\n" for n in range(20)})
    assert bench.files_read() == [f"f{n}.py" for n in sorted(range(20), key=str)]
    bench.start()
    assert (bench.files_read(), bench.deltas) == ([], [])
    assert bench.states == ["scanning", "indexing", "ready"]
    bench.close()
    put(bench.root, {"f3.py": "def changed(): ...\n", "new.py": ""})
    (bench.root / "f4.py").unlink()
    parses.clear()
    bench.start()
    assert bench.files_read() == ["f3.py", "new.py"]
    assert sorted(parses) == [b"", b"def changed(): ...\n"]
    assert {path for delta in bench.deltas for path in delta.removed} == {"f4.py"}
    check_true(bench)


def test_a_file_that_was_only_touched_keeps_its_definitions(bench: Bench, parses: list[bytes]) -> None:
    bench.start({"a.py": "import b\n\ndef f(): ...\n", "b.py": ""})
    parses.clear()
    os.utime(bench.root / "a.py", ns=(OLD_NS + 1, OLD_NS + 1))
    bench.until(lambda: bench.tree.files["a.py"].stamp.mtime_ns == OLD_NS + 1 and not bench.tree.pending)
    assert parses == []
    assert (symbols(bench, "a.py"), imports(bench, "a.py")) == (["f"], [("b.py", False)])
    check_true(bench)


def test_another_parser_reads_all_again_and_goes_on_answering(
    bench: Bench, parses: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, str | bytes] = {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)}
    put(bench.root, files)
    write_files(bench.root, {"touched.py": "def g(): ...\n"})
    bench.start()
    bench.close()
    parses.clear()
    os.utime(bench.root / "touched.py")
    monkeypatch.setattr(bulk_work, "CONTENT_VERSION", "another")
    monkeypatch.setattr(reading_queue, "STEP_FILES", 2)
    bench.open()
    while len(parses) < 3:  # and then the process is killed
        assert symbols(bench, "f5.py") == ["f5"]
        assert bench.work()
    bench.open()
    parses.clear()
    bench.settle()
    expected = [text.encode() for text in files.values() if isinstance(text, str)]
    assert sorted(parses) == sorted([*expected, b"def g(): ...\n"])
    parses.clear()
    bench.start()
    assert [data for data in parses if data != b"def g(): ...\n"] == []


@pytest.mark.parametrize("steps", range(1, 14))
def test_closed_at_any_step_it_ends_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(reading_queue, "STEP_FILES", 1)
    put(bench.root, {f"p{n}/m.py": f"import p{(n + 1) % 7}.m\n\ndef f{n}(): ...\n" for n in range(7)})
    bench.open()
    for _ in range(steps):
        bench.work()
    bench.close()
    put(bench.root, {"p0/m.py": "def changed(): ...\n"})
    shutil.rmtree(bench.root / "p6")
    bench.start()
    assert bench.state == "ready"
    check_true(bench)


def test_the_history_of_git_is_counted(bench: Bench) -> None:
    git(bench.root, "init", "-q", "-b", "main")
    for number in range(3):
        write_files(
            bench.root, {"hot.py": f"x = {number}\n", f"once{number}.py": "", "gone.py": f"{number}\n"}
        )
        git(bench.root, "add", "-A")
        git(bench.root, "commit", "-q", "-m", f"{number}")
    (bench.root / "gone.py").unlink()
    bench.start()
    counts = {path: one.commits for path, one in activity(bench).items()}
    assert counts == {"hot.py": 3, "once0.py": 1, "once1.py": 1, "once2.py": 1}


def test_sweep_finds_changes_without_an_event(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_work, "SWEEP_REST", 0)  # however long a busy machine takes for it
    bench.start({"a.py": "", "b.py": "", "sub/c.py": ""}, sweep_interval_s=60, deaf=True)
    write_files(bench.root, {"a.py": "def f(): ...\n", "new/d.py": "import a\n"})
    shutil.rmtree(bench.root / "sub")
    bench.skip(59)
    assert "new/d.py" not in bench.tree.files
    bench.skip(2)
    assert set(bench.tree.files) == {"a.py", "b.py", "new/d.py"}
    check_true(bench)
    assert 0 < (bench.indexer.patience() or 0) <= 60


@pytest.mark.parametrize(("took", "rest"), [(0.0, 60), (0.3, 300), (5.0, 600)])
def test_after_a_long_sweep_comes_a_long_rest(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, took: float, rest: float
) -> None:
    bench.start({"a.py": ""}, sweep_interval_s=60)
    changes = bench.indexer._index.changes
    sweep = changes.sweep

    def sweep_slowly() -> ScanChanges:
        bench.disk.skipped_s += took
        return sweep()

    monkeypatch.setattr(changes, "sweep", sweep_slowly)
    bench.skip(61)
    assert rest - 10 < (bench.indexer.patience() or 0) <= rest + 10


def test_a_lexical_index_that_can_not_be_written_is_said_and_made_up_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bench.root, {"a.py": "def alpha(): ...\n"})

    def full(folder: str) -> LexicalWriter:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)

    monkeypatch.setattr(LexicalWriter, "create", full)
    bench.start()
    assert bench.state == "ready", "all else is there"
    assert any("lexical index can't be written" in reason for reason in bench.progress.degraded)
    monkeypatch.undo()
    bench.skip(61)
    assert lexical_files(bench, "alpha") == {"a.py"}
    assert bench.progress.degraded == ()


def test_a_root_that_is_not_there_at_first_and_one_that_goes_and_comes_back(bench: Bench) -> None:
    bench.root.rmdir()
    bench.start(poll_interval_ms=500)
    assert bench.state == "degraded"
    bench.root.mkdir()
    put(bench.root, {"a.py": "def f(): ...\n", "sub/b.py": ""})
    bench.skip(0.6)
    assert bench.state == "ready"
    check_true(bench)
    away = bench.root.parent / "away"
    bench.root.rename(away)
    bench.until(lambda: bench.state == "degraded")
    assert f"{bench.root} is gone" in bench.progress.degraded[0]
    assert symbols(bench, "a.py") == ["f"], "what is known goes on answering"
    assert set(bench.tree.files) == {"a.py", "sub/b.py"}
    assert not bench.sync().complete
    bench.skip(0.6)
    assert bench.state == "degraded"
    put(away, {"new.py": ""})
    (away / "sub/b.py").unlink()
    away.rename(bench.root)
    bench.skip(0.6)
    assert (bench.state, bench.progress.watch, bench.progress.degraded) == ("ready", "native", ())
    check_true(bench)
    write_files(bench.root, {"sub/watched.py": ""})
    bench.until(lambda: "sub/watched.py" in bench.tree.files)


# What was begun and cut short

NESTED: dict[str, str | bytes] = {
    f"{folder}m{n}.py": f"def f{n}(): ...\n"
    for folder in ("", "a/", "a/b/", "a/b/c/", "d/")
    for n in range(3)
}


@pytest.mark.parametrize("full", [False, True])
def test_a_scan_that_is_cut_by_reindexing_is_taken_up_again(bench: Bench, full: bool) -> None:
    put(bench.root, NESTED)
    steps, cut = 0, True
    while cut:
        bench.close()
        shutil.rmtree(bench.folder, ignore_errors=True)
        bench.open()
        cut = all(bench.work() for _ in range(steps))
        bench.indexer.reindex(full=full)
        assert bench.state == "scanning"
        bench.settle()
        assert (bench.state, bench.progress.degraded) == ("ready", ())
        assert bench.tree.files.keys() == NESTED.keys(), f"after {steps} steps"
        steps += 1
    assert steps > 5
    check_true(bench)


def test_reading_all_again_is_finished_by_the_next_process(bench: Bench) -> None:
    bench.start(NESTED)
    bench.indexer.reindex(full=True)
    bench.work()
    bench.files_read()
    bench.start()
    assert set(bench.files_read()) == NESTED.keys()
    bench.start()
    assert bench.files_read() == []


def test_a_file_that_ends_each_process_ends_two_when_all_are_read_again(bench: Bench) -> None:
    bench.start(NESTED)
    bench.close()
    with closing(Store(str(bench.folder), bench.disk)) as store:
        store.set_meta(bulk_work.VERSION_KEY, "an older one")
    for _ in range(DEATHS_MAX):
        bench.open()
        bench.work()
        bench.indexer._index.suspects.begin("m0.py")  # and so the process ends
    bench.start()
    assert skipped(bench, "m0.py") == "quarantined"


def test_nothing_makes_a_project_ready_whose_root_is_gone(bench: Bench) -> None:
    bench.start(NESTED)
    put(bench.root, {f"n{number}.py": "def g(): ...\n" for number in range(600)})
    bench.indexer._changes.sweep()
    away = bench.root.rename(bench.root.parent / "away")
    bench.indexer.reindex(full=False)
    bench.settle()
    assert bench.state == "degraded"
    bench.indexer.rebuild_lexical()
    bench.settle()
    assert bench.state == "degraded"
    away.rename(bench.root)
    bench.indexer.reindex(full=False)
    bench.settle()
    assert (bench.state, bench.progress.degraded, bench.progress.watch) == ("ready", (), "native")
    check_true(bench)


# An index that can't be opened is set aside and built anew.


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "empty":
        data.clear()
    elif how == "truncated":
        del data[len(data) // 2 :]
    elif how == "garbage":
        data = bytearray(random.Random(1).randbytes(len(data)))
    else:
        offset = int(how)
        data[offset : offset + 64] = bytes(byte ^ 0xFF for byte in data[offset : offset + 64])
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["empty", "truncated", "garbage", "0", "16", "100", "4096", "8192", "12288"])
def test_a_damaged_index_is_set_aside_and_built_anew(bench: Bench, how: str) -> None:
    bench.start({f"f{n}.py": f"import f{n + 1}\n\ndef f{n}(): ...\n" for n in range(60)})
    generation = bench.indexer.generation
    bench.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{bench.folder / FILE_NAME}{suffix}").unlink(missing_ok=True)
    damage(bench.folder / FILE_NAME, how)
    bench.start()
    assert bench.state == "ready"
    check_true(bench)
    aside = [name for name in os.listdir(bench.folder) if "damaged" in name]
    if how != "empty":
        assert aside, "it is kept"
        assert min(aside, key=len) in bench.progress.degraded[0]
        assert bench.indexer.generation > generation


def test_an_index_that_is_no_file_is_set_aside(bench: Bench) -> None:
    put(bench.root, {"a.py": ""})
    (bench.folder / FILE_NAME).mkdir(parents=True)
    bench.start()
    assert set(bench.tree.files) == {"a.py"}
    assert FILE_NAME in bench.progress.degraded[0]
