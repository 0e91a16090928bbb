"""Every benchmark of the list is there, the run takes names, and the baselines do what they say."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from foveal.benchmarks import corpus
from foveal.benchmarks.__main__ import main
from foveal.benchmarks.bench import Bench
from foveal.benchmarks.echo import echoing
from foveal.benchmarks.registry import BENCHMARKS, find
from foveal.benchmarks.rendering import chosen_of
from foveal.benchmarks.watchman import WatchmanMissing, watching
from foveal.daemon.context.render import render_markdown


@pytest.mark.parametrize("name", [one.name for one in BENCHMARKS])
def test_each_benchmark_is_a_file_that_can_run(name: str) -> None:
    assert callable(import_module(f"foveal.benchmarks.{name}").run)


def test_the_list_names_each_benchmark_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [one.name for one in BENCHMARKS]
    assert len(set(names)) == len(names)


def test_benchmarks_are_found_by_name_in_the_order_of_the_list() -> None:
    assert [one.name for one in find(["fusion", "scopes"])] == ["scopes", "fusion"]
    with pytest.raises(KeyError):
        find(["nothing"])


def test_a_name_that_no_benchmark_has_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing"]) == 2
    assert "no benchmark is called nothing" in capsys.readouterr().err


def test_one_benchmark_runs_and_its_json_is_written(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    main(["--quick", "--only", "fusion", "--project", str(tmp_path), "--json-file", str(file)])
    text = file.read_text()
    assert '"benchmark": "fusion"' in text
    assert '"name": "RRF of 3 x 100"' in text


def test_what_is_kept_is_made_once_and_the_folder_goes(tmp_path: Path) -> None:
    made = []
    with Bench(quick=True, source=tmp_path) as bench:
        for _ in range(2):
            assert bench.kept("key", lambda: made.append(1) or "made") == "made"  # type: ignore[func-returns-value]  # the point is that it is called
        assert (bench.count(100, 3), made) == (3, [1])
        folder = bench.folder
    assert not folder.exists()


def test_a_part_of_a_code_base_begins_with_its_own_python_files(tmp_path: Path) -> None:
    for path in ("tests/a.py", "pkg/b.py", "pkg/c.txt", "docs/d.py", "readme.md"):
        (tmp_path / "source" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / path).write_text(path)
    for count, expected in ((1, {"pkg/b.py"}), (3, {"pkg/b.py", "docs/d.py", "tests/a.py"})):
        root = corpus.part(tmp_path / "source", tmp_path / f"part{count}", count)
        assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == expected


def test_the_echo_answers_each_request_with_so_many_bytes(tmp_path: Path) -> None:
    with echoing(str(tmp_path / "echo.sock"), b"request", 200_000) as ask:
        for _ in range(3):
            ask()


def test_an_answer_is_rendered_again_from_its_slices() -> None:
    context = "# PROJECT CONTEXT\n\n## Focus Area\n\nfirst\n\nsecond\n"
    names = ("id", "type", "layer", "weight", "compressed")
    slices = [
        dict(zip(names, ("b", "focus", "focus", 0.5, False), strict=True)) | {"span": [41, 48]},
        dict(zip(names, ("a", "focus", "focus", 0.5, True), strict=True)) | {"span": [34, 41]},
        dict(zip(names, ("c", "focus", "focus", 0.5, True), strict=True)),
    ]
    chosen = chosen_of({"context": context, "slices": slices})
    assert [one.id for one, _ in chosen] == ["a", "b"]
    assert render_markdown(chosen) == context


def test_watchman_that_cannot_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WatchmanMissing, match="isn't installed"), watching(tmp_path, tmp_path):
        pass
