"""The run takes names, its figures are those of its samples, and a missed target fails it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from foveal.benchmarks import corpus
from foveal.benchmarks.__main__ import BENCHMARKS, WHOLE_RUN, main
from foveal.benchmarks.statistics import Measure, table


def test_each_listed_benchmark_is_a_file_that_can_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(BENCHMARKS)
    assert BENCHMARKS.keys() > WHOLE_RUN
    for name in BENCHMARKS:
        assert callable(import_module(f"foveal.benchmarks.{name}").run)


def test_a_name_that_no_benchmark_has_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing"]) == 2
    assert "no benchmark is called nothing" in capsys.readouterr().err


def test_a_benchmark_that_fails_is_told_and_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A folder without a source has nothing to be asked about.
    (tmp_path / "empty").mkdir()
    assert main(["--quick", "--only", "first_index", "--project", str(tmp_path / "empty")]) == 1
    assert "- first_index failed: " in capsys.readouterr().out


def test_a_part_of_a_code_base_begins_with_its_own_python_files(tmp_path: Path) -> None:
    for path in ("tests/a.py", "pkg/b.py", "pkg/c.txt", "docs/d.py", "readme.md"):
        (tmp_path / "source" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / path).write_text(path)
    for count, expected in ((1, {"pkg/b.py"}), (3, {"pkg/b.py", "docs/d.py", "tests/a.py"})):
        root = corpus.part(tmp_path / "source", tmp_path / f"part{count}", count)
        assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == expected


def test_the_table_says_a_line_beside_its_baseline() -> None:
    bare = Measure("bare", samples=[1.0, 1.0, 4.0])
    ours = Measure("ours", samples=[4.0], target=3.0, baseline=bare, memory_mb=51.5, note="why")
    assert ours.tail(3.0).ratio == pytest.approx(1)
    assert table([ours, bare]).splitlines() == [
        "| measure | target | this run | met | baseline | P50 | P99 | max | unit | n | memory MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        "| ours (why) | P50 ≤ 3.00 | 4.00 | **no** | 4.00 x bare | 4.00 | 4.00 | 4.00 | ms | 1 | 51.50 |",
        "| bare |  | 1.00 |  |  | 1.00 | 4.00 | 4.00 | ms | 3 |  |",
    ]
    assert Measure("ours", samples=[1.0], baseline=Measure("never run")).ratio is None
