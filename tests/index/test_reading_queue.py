"""What waits is read in an order that serves who asks, and what vanishes meanwhile harms nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.indexer_cases import Bench, check_true, open_bench, put


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with open_bench(tmp_path, monkeypatch) as opened:
        yield opened


def test_former_contents_answer_while_files_are_read_again(bench: Bench) -> None:
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
