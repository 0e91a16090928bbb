"""Each change of the files is committed before it is announced, in an order that nobody can misread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.index.messages import Event, ProjectProgress, TreeDelta
from foveal.daemon.project.scan import ScanChanges
from foveal.daemon.project.tree import FileRecord
from foveal.daemon.project.watcher import WatchBatch
from msgspec.structs import replace

from tests.conftest import write_files
from tests.indexer_cases import Bench, open_bench, put


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with open_bench(tmp_path, monkeypatch) as opened:
        yield opened


def test_many_unread_files_are_announced_only_while_not_ready(bench: Bench) -> None:
    put(bench.root, {"a.py": ""})
    bench.deaf = True
    bench.open()
    bench.settle()
    bench.events.clear()
    files = {f"f{n}.py": "x = 1\n" for n in range(30)}
    write_files(bench.root, files)
    bench.tell(WatchBatch(frozenset(str(bench.root / name) for name in files)))
    bench.settle()
    first, second = bench.events[:2]
    assert isinstance(first, ProjectProgress)
    assert (first.state, first.pending) == ("indexing", 30)
    assert isinstance(second, TreeDelta)
    assert len(second.upserted) == 30
    assert bench.states == ["indexing", "ready"]


def test_an_announced_change_is_in_the_index(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[int, int]] = []
    announce = bench._announce

    def hear(event: Event) -> None:
        announce(event)
        if isinstance(event, TreeDelta):
            with bench.reader() as reader, reader.snapshot() as generation:
                heard.append((event.generation, generation))
                assert reader.load_files() == dict(bench.tree.files)

    monkeypatch.setattr(bench, "_announce", hear)
    put(bench.root, {"a.py": "import b\n", "b.py": "", "logo.png": b"\0"})
    bench.open()
    bench.settle()
    write_files(bench.root, {"a.py": "def f(): ...\n", "c.py": "import b\n"})
    (bench.root / "b.py").unlink()
    assert bench.sync().complete
    assert set(bench.tree.files) == {"a.py", "c.py", "logo.png"}
    assert len(heard) > 3
    assert all(told == found for told, found in heard)


def test_unread_files_are_compared_with_their_former_records(bench: Bench) -> None:
    put(bench.root, {"a.py": "def f(): ...\n"})
    bench.open()
    bench.settle()
    files = bench.indexer._index.files
    known = files.known["a.py"]
    for number in (1, 2):
        written = FileRecord("a.py", replace(known.stamp, mtime_ns=number), language="python")
        files.apply(ScanChanges(upserted=(written,)))
        assert (files.known["a.py"].digest, files.unread) == (b"", {"a.py": known})
    files.apply(ScanChanges(removed=("a.py", "nowhere.py")))
    assert (files.known, files.unread) == ({}, {})
