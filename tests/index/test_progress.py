"""How far a project is, and what is wrong with it, is told when it changes and only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from foveal.daemon.project.watcher import WatchSettings

from tests.conftest import write_files
from tests.indexer_cases import Bench, check_true, open_bench, put, symbols


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with open_bench(tmp_path, monkeypatch) as opened:
        yield opened


def test_polling_misses_nothing_and_says_so(bench: Bench) -> None:
    bench.watch_settings = WatchSettings(native=False)
    put(bench.root, {"a.py": "", "sub/b.py": ""})
    bench.open(poll_interval_ms=500, sweep_interval_s=86_400)
    bench.settle()
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
    put(bench.root, {"a.py": "", "b.py": ""})
    bench.open()
    bench.settle()
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
    put(bench.root, {".gitignore": "out/\n", "a.py": "", "out/b.py": ""})
    bench.deaf = True
    bench.open()
    bench.settle()
    assert dict(bench.progress.skipped) == {"ignored": 1}
    put(bench.root, {"node_modules/m.js": ""})
    assert bench.sync().complete
    assert dict(bench.progress.skipped) == {"ignored": 1, "vendored": 1}
