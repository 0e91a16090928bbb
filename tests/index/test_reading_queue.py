"""What waits is read in an order that serves who asks, and what vanishes meanwhile harms nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.index import reading_queue

from tests.indexer_cases import Bench, check_true, open_bench, put, skipped, symbols


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with open_bench(tmp_path, monkeypatch) as opened:
        yield opened


def test_all_hashes_are_known_before_any_file_is_parsed_where_there_are_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "LOOK_FROM", 5)
    files = {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)}
    put(bench.root, {**files, "logo.png": b"\x89PNG\0", ".env": "KEY=1\n", "tool": "#!/bin/sh\n"})
    bench.open()
    bench.until(lambda: not bench.tree.unhashed and len(bench.tree.files) == 9)
    assert bench.tree.pending == 7
    assert not any(record.parsed for record in bench.tree.files.values())
    assert (skipped(bench, "logo.png"), skipped(bench, ".env")) == ("binary", "secret")
    assert bench.tree.files["tool"].language == "bash"
    looked_at = {path: record.hashed for path, record in bench.tree.files.items() if record.hashed}
    bench.settle()
    assert {path: bench.tree.files[path].digest for path in looked_at} == looked_at
    assert not any(record.hashed for record in bench.tree.files.values())
    check_true(bench)


def test_a_killed_process_leaves_its_unread_files_to_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "LOOK_FROM", 5)
    put(bench.root, {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)})
    bench.open()
    bench.until(lambda: len(bench.tree.files) == 6 and not bench.tree.unhashed)
    put(bench.root, {"f1.py": "def other(): ...\n"})
    bench.open()
    assert (bench.tree.pending, bench.tree.unhashed) == (6, 0)
    bench.settle()
    assert symbols(bench, "f1.py") == ["other"]
    check_true(bench)


def test_former_contents_answer_while_files_are_read_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_queue, "LOOK_FROM", 5)
    put(bench.root, {f"f{n}.py": f"def f{n}(): ...\n" for n in range(6)})
    bench.open()
    bench.settle()
    bench.indexer.reindex(full=True)
    while bench.work():
        assert bench.tree.pending == 0


def test_a_file_that_vanishes_between_listing_and_reading(bench: Bench) -> None:
    put(bench.root, {"a.py": "x = 1\n", "b.py": "def f(): ...\n", "sub/c.py": ""})
    bench.disk.before_read[f"{bench.root}/a.py"] = (bench.root / "a.py").unlink
    bench.disk.before_read[f"{bench.root}/sub/c.py"] = lambda: shutil.rmtree(bench.root / "sub")
    bench.open()
    bench.settle()
    assert bench.state == "ready"
    assert bench.sync().complete
    assert set(bench.tree.files) == {"b.py"}
    check_true(bench)


def test_suspects_are_read_last_and_alone(bench: Bench) -> None:
    put(bench.root, {f"f{n}.py": f"x = {n}\n" for n in range(4)})
    bench.open()
    while not bench.tree.files:
        bench.work()
    bench.indexer._index.suspects.blame("f1.py")
    bench.settle()
    read = [[record.path for record in delta.upserted if record.digest] for delta in bench.deltas]
    assert [paths for paths in read if paths] == [["f0.py", "f2.py", "f3.py"], ["f1.py"]]
    assert bench.state == "ready"
