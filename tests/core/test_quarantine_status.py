"""What was quarantined since the daemon started is named, and what was before is not."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from foveal.daemon.core.quarantine import quarantine_last, set_aside
from foveal.daemon.core.quarantined import NAMED_MAX, QuarantineLog
from foveal.daemon.core.system import System


def test_files_quarantined_since_the_start_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "projects/shop-1"
    folder.mkdir(parents=True)
    (folder / "old").write_text("damaged before")
    set_aside(str(folder / "old"), System())
    quarantine = QuarantineLog(str(tmp_path), System())
    assert quarantine.problem() == ""
    (folder / "index.sqlite").write_text("damaged")
    kept = set_aside(str(folder / "index.sqlite"), System())
    assert f"projects/shop-1/{kept}" in quarantine.problem()
    assert "old" not in quarantine.problem()
    (folder / kept).unlink()
    assert quarantine.problem() == ""


def test_many_are_counted(tmp_path: Path) -> None:
    quarantine = QuarantineLog(str(tmp_path), System())
    for number in range(NAMED_MAX + 2):
        (tmp_path / f"f{number}").write_text("damaged")
        set_aside(str(tmp_path / f"f{number}"), System())
    assert "and 2 more" in quarantine.problem()


def test_of_what_is_derived_the_last_one_is_kept(tmp_path: Path) -> None:
    for number in range(3):
        folder = tmp_path / "lexical"
        folder.mkdir()
        (folder / "segment").write_text(str(number))
        quarantine_last(str(folder), System())
    (kept,) = tmp_path.iterdir()
    assert (kept / "segment").read_text() == "2"


def test_of_folders_that_are_gone_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    quarantine = QuarantineLog(str(tmp_path), System())
    quarantine.problem()
    tracemalloc.start()
    try:
        for number in range(300):
            folder = tmp_path / f"sessions/{number}"
            folder.mkdir()
            quarantine.problem()
            folder.rmdir()
        quarantine.problem()
        assert tracemalloc.get_traced_memory()[0] < 20_000
    finally:
        tracemalloc.stop()
