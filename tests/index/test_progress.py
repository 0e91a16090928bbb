"""How far a project is, and what is wrong with it, is told when it changes and only then."""

from __future__ import annotations

from foveal.daemon.project.watcher import WatchSettings

from tests.conftest import write_files
from tests.indexer_cases import Bench, check_true, put, symbols


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
