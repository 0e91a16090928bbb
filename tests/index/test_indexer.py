"""Whatever is asked and seen meanwhile, the index is what the files say in the end."""

from __future__ import annotations

import errno
import os
import random
import shutil
import threading

import pytest
from foveal.daemon.index import indexer as indexing
from foveal.daemon.index import tree_changes
from foveal.daemon.index.messages import Refreshed
from foveal.daemon.project import scan
from foveal.daemon.project.records import WatchBatch
from foveal.daemon.project.watcher import WatchSettings

from tests.conftest import write_files
from tests.indexer_cases import (
    GENEROUS_S,
    Bench,
    check_true,
    lexical_files,
    put,
    skipped,
    symbols,
)


def test_reindex_in_full_reads_all_again(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n", "b.py": "", "c.bin": b"\0", "locked.py": "x = 1\n"})
    bench.disk.refused[f"{bench.root}/locked.py"] = PermissionError(errno.EACCES, "refused")
    bench.start()
    assert skipped(bench, "locked.py") == "unreadable"
    bench.files_read()
    bench.disk.refused.clear()
    bench.indexer.reindex(full=False)
    bench.settle()
    assert bench.files_read() == []
    bench.indexer.reindex(full=True)
    assert bench.state == "scanning"
    bench.settle()
    assert bench.files_read() == ["a.py", "b.py", "c.bin", "locked.py"]
    assert bench.state == "ready"
    check_true(bench)


def test_source_is_read_before_tests_and_prose(bench: Bench) -> None:
    source = "def f(): ...\n"
    bench.start({"docs/a.md": "# A\n", "pkg/b.py": source, "tests/c.py": source, "z.py": source})
    read = [path.removeprefix(f"{bench.root}/") for path in bench.disk.reads]
    first = [path for path in dict.fromkeys(read) if path.endswith((".py", ".md"))]
    assert set(first[:2]) == {"pkg/b.py", "z.py"}, first


def test_words_are_known_when_all_that_was_read_is_found_by_them(bench: Bench) -> None:
    names = [f"{number}.py" for number in range(40)]
    put(bench.root, dict.fromkeys(names, "def shop(): ...\n"))
    bench.open()
    assert bench.work()
    assert not bench.progress.words
    bench.until(lambda: bench.progress.words)
    assert bench.progress.pending == 0
    assert lexical_files(bench, "shop") == set(names)
    bench.settle()
    assert bench.progress.words


@pytest.mark.parametrize("in_steps", [False, True])
def test_random_changes_lead_to_the_same_index(
    bench: Bench, in_steps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_steps:  # as in a large tree
        monkeypatch.setattr(tree_changes, "SWEPT_NOW", 2)
        monkeypatch.setattr(scan, "LISTED_NOW", 2)
        monkeypatch.setattr(scan, "SLICE_ENTRIES", 2)
    chance = random.Random(7)
    names = [
        f"{folder}{name}" for folder in ("", "a/", "a/b/", "c/") for name in ("m.py", "n.py", "o.ts", "p.md")
    ]

    def content(name: str) -> str:
        other = chance.choice(names).removesuffix(".py").replace("/", ".")
        return (
            f"import {other}\n\ndef f{chance.randrange(3)}(): ...\n"
            if name.endswith(".py")
            else f"# {other}\n"
        )

    def change() -> None:
        name = chance.choice(names)
        path = bench.root / name
        match chance.randrange(7):
            case 0 | 1 | 2:
                write_files(bench.root, {name: content(name)})
            case 3 if path.exists():
                path.unlink()
            case 4 if path.exists():
                path.rename(bench.root / f"moved{chance.randrange(3)}.py")
            case 5:
                shutil.rmtree(bench.root / chance.choice(["a", "a/b", "c"]), ignore_errors=True)
            case 6:
                (bench.root / ".gitignore").write_text(chance.choice(["", "c/\n", "*.md\n", "m.py\n"]))

    bench.open()
    for _ in range(12):
        for _ in range(chance.randrange(1, 8)):
            change()
            if chance.random() < 0.5:
                bench.work()
        if chance.random() < 0.3:
            bench.indexer.refresh([chance.choice(names)])
        bench.settle()
        assert bench.sync().complete
        check_true(bench)


def test_refresh_reads_only_the_requested_files(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n", "b.py": "def g(): ...\n"})
    bench.open()
    while not bench.tree.files:
        bench.work()
    reply = bench.indexer.refresh(["a.py", "a.py", "../outside.py", "nowhere.py", ""])
    assert reply == Refreshed(bench.indexer.generation, complete=True)
    assert bench.files_read() == ["a.py"]
    assert symbols(bench, "a.py") == ["f"]
    bench.settle()
    check_true(bench)


def test_sync_brings_in_all_that_is_on_the_disk(bench: Bench) -> None:
    put(bench.root, {"a.py": ""})
    bench.open()
    assert not bench.sync().complete, "the names aren't known yet"
    bench.settle()
    for number in range(5):
        write_files(bench.root, {f"n{number}/x{n}/f.py": "def f(): ...\n" for n in range(10)})
        (bench.root / "a.py").write_text(f"def a{number}(): ...\n")
        assert bench.sync() == Refreshed(bench.indexer.generation, complete=True)
        assert len(bench.tree.files) == 1 + 10 * (number + 1)
        assert symbols(bench, "a.py") == [f"a{number}"]
        assert not bench.tree.pending
    bench.settle()
    check_true(bench)


def test_sync_says_when_it_could_not_read_all(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "SYNC_FILES", 3)
    bench.start(deaf=True)
    write_files(bench.root, {f"f{n}.py": "" for n in range(5)})
    assert not bench.sync().complete
    assert bench.tree.pending == 2


def test_sync_reads_earlier_events(bench: Bench) -> None:
    bench.start(deaf=True)
    files = {f"f{n}.py": f"def walrus_{n}(): ...\n" for n in range(100)}
    write_files(bench.root, files)
    bench.tell(WatchBatch(frozenset(str(bench.root / name) for name in files)))
    assert bench.work()
    assert bench.tree.pending == 100, "so many are left for later"
    assert bench.sync().complete
    assert bench.tree.pending == 0
    assert len(lexical_files(bench, "walrus")) == 100


def test_words_are_found_as_soon_as_a_change_is_known(bench: Bench) -> None:
    bench.start({"a.py": "def alpha(): ...\n", "b.py": "def alpha(): ...\n"})
    assert lexical_files(bench, "alpha") == {"a.py", "b.py"}
    bench.deaf = True
    write_files(bench.root, {"a.py": "def beta(): ...\n", "c.py": "def beta(): ...\n"})
    bench.indexer.refresh(["a.py"], words=True)
    assert (lexical_files(bench, "alpha"), lexical_files(bench, "beta")) == ({"b.py"}, {"a.py"})
    (bench.root / "b.py").unlink()
    bench.sync()
    assert (lexical_files(bench, "alpha"), lexical_files(bench, "beta")) == (set(), {"a.py", "c.py"})


def test_a_lexical_index_that_somebody_found_damaged_is_filled_again(bench: Bench) -> None:
    bench.start({"a.py": "def alpha(): ...\n"})
    shutil.rmtree(bench.folder / "lexical")
    bench.files_read()
    bench.indexer.rebuild_lexical()
    bench.settle()
    assert lexical_files(bench, "alpha") == {"a.py"}
    assert bench.files_read() == [], "from the store"
    assert (bench.state, bench.progress.degraded) == ("ready", ())


def test_writers_and_events_at_once(bench: Bench) -> None:
    bench.start()
    ended = threading.Barrier(5)

    def write(writer: int) -> None:
        for number in range(40):
            write_files(bench.root, {f"w{writer}/d{number % 5}/f.py": f"def f{number}(): ...\n"})
            if number % 10 == 9:
                shutil.rmtree(bench.root / f"w{writer}/d{number % 5}")
        ended.wait(GENEROUS_S)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    while ended.n_waiting < 4:
        bench.work()
    ended.wait(GENEROUS_S)
    for thread in threads:
        thread.join()
    bench.settle()
    assert bench.sync().complete
    check_true(bench)


# What is written of a file is what it holds, or why that isn't known.


def test_files_of_secrets_are_not_read_unless_they_may_be_shown(bench: Bench) -> None:
    bench.start({".env": "CANARY=1\n", "conf/credentials.json": "{}\n", "a.py": "def f(): ...\n"})
    assert bench.files_read() == ["a.py"]
    assert (skipped(bench, ".env"), skipped(bench, "a.py")) == ("secret", "")
    with bench.reader() as reader:
        assert reader.chunks.of_paths([".env", "conf/credentials.json"]) == []
    for shown, read in (((".env",), [".env", "a.py"]), ((), ["a.py"])):
        bench.close()
        bench.start(show_files=shown)
        assert sorted(bench.files_read()) == read, "what was kept with other settings is read again"
        with bench.reader() as reader:
            assert [chunk.path for chunk in reader.chunks.of_paths([".env"])] == list(shown)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_a_file_that_cant_be_read_is_skipped_until_it_can(bench: Bench, number: int) -> None:
    bench.start({"a.py": "def f(): ...\n"})
    path = f"{bench.root}/a.py"
    bench.disk.refused[path] = OSError(number, os.strerror(number), path)
    bench.indexer.reindex(full=True)
    bench.settle()
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("unreadable", [])
    assert not bench.tree.pending
    bench.disk.refused.clear()
    os.utime(path)  # the same content, which must not count as known
    assert bench.sync().complete
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("", ["f"])
    check_true(bench)


def test_a_file_that_grows_above_the_limit_while_it_is_read(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n"})
    bench.disk.before_read[f"{bench.root}/a.py"] = lambda: (bench.root / "a.py").write_text(
        "x = 1\n" * 10_000
    )
    bench.start()
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("too_large", [])
    put(bench.root, {"a.py": "def f(): ...\n"})
    assert bench.sync().complete
    assert (skipped(bench, "a.py"), symbols(bench, "a.py")) == ("", ["f"])
    check_true(bench)


def test_former_contents_answer_while_files_are_read_again(bench: Bench) -> None:
    bench.start({f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)})
    bench.indexer.reindex(full=True)
    while bench.work():
        assert bench.tree.pending == 0


def test_a_file_that_vanishes_between_listing_and_reading(bench: Bench) -> None:
    put(bench.root, {"a.py": "x = 1\n", "b.py": "def f(): ...\n", "sub/c.py": ""})
    bench.disk.before_read[f"{bench.root}/a.py"] = (bench.root / "a.py").unlink
    bench.disk.before_read[f"{bench.root}/sub/c.py"] = lambda: shutil.rmtree(bench.root / "sub")
    bench.start()
    assert bench.state == "ready"
    assert bench.sync().complete
    assert set(bench.tree.files) == {"b.py"}
    check_true(bench)


# How far a project is, and what is wrong with it, is told when it changes and only then.


def test_polling_misses_nothing_and_says_so(bench: Bench) -> None:
    bench.watch_settings = WatchSettings(native=False)
    bench.start({"a.py": "", "sub/b.py": ""}, poll_interval_ms=500, sweep_interval_s=86_400)
    assert (bench.state, bench.progress.watch) == ("ready", "polling")
    assert "native events are switched off" in bench.progress.degraded
    for number in range(3):
        write_files(bench.root, {f"sub/deep{number}/c.py": "", "a.py": f"def f{number}(): ...\n"})
        bench.skip(0.6)
        assert symbols(bench, "a.py") == [f"f{number}"]
    assert set(bench.tree.files) == {"a.py", "sub/b.py", *(f"sub/deep{n}/c.py" for n in range(3))}
    (bench.root / "sub/b.py").unlink()
    assert bench.sync().complete
    assert "sub/b.py" not in bench.tree.files
    check_true(bench)


def test_unchanged_progress_is_not_reported_again(bench: Bench) -> None:
    bench.start({"a.py": "", "b.py": ""})
    progress = bench.indexer._index.progress
    bench.events.clear()
    progress.report()
    assert bench.events == []
    progress.reasons["root"] = "it is gone"
    progress.report()
    progress.report()
    assert [bench.progress] == bench.events
    assert (bench.state, bench.progress.degraded, bench.progress.total) == ("ready", ("it is gone",), 2)


def test_left_out_files_are_counted_after_a_new_scan(bench: Bench) -> None:
    bench.start({".gitignore": "out/\n", "a.py": "", "out/b.py": ""}, deaf=True)
    assert dict(bench.progress.skipped) == {"ignored": 1}
    put(bench.root, {"node_modules/m.js": ""})
    assert bench.sync().complete
    assert dict(bench.progress.skipped) == {"ignored": 1, "vendored": 1}
