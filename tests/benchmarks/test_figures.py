"""README's table is what the recorded figures give, and takes new values from reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from foveal.benchmarks import figures
from foveal.benchmarks.figures import Figure, needed, read, retrieval, table, update
from foveal.benchmarks.retrieval.judged import read_written
from foveal.benchmarks.statistics import Measure

TIMES: dict[str, Any] = {
    "machine": "8 cores",
    "date": "2027-01-02",
    "quick": False,
    "measures": [
        Measure("hot GetContext", samples=[0.1614, 0.1, 0.3]).to_map(),
        Measure("Query in words, over the socket", samples=[15.2]).to_map(),
    ],
}


def test_readme_has_the_table_of_the_recorded_figures() -> None:
    assert figures.main(["--check"]) == 0


def test_new_values_of_a_report_reach_readme_with_their_date_and_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("README", "RECORDED"):
        copy = tmp_path / getattr(figures, name).name
        copy.write_bytes(getattr(figures, name).read_bytes())
        monkeypatch.setattr(figures, name, copy)
    words = next(
        line for line in (tmp_path / "README.md").read_text().splitlines() if "question in words" in line
    )
    *_, ripgrep, date = (column.strip() for column in words.strip("|").split("|"))
    report = tmp_path / "times.json"
    report.write_text(json.dumps(TIMES))
    assert figures.main(["--times", str(report)]) == 0
    lines = (tmp_path / "README.md").read_text().splitlines()
    when = "2027-01-02, on 8 cores"
    assert f"| a context that didn't change, over the socket | .16 ms |  | {when} |" in lines
    # ripgrep wasn't measured in this run, so that its value keeps its date
    assert f"| a question in words, 3,000 files | 15 ms | {ripgrep} ({date}) | {when} |" in lines
    assert figures.main(["--check"]) == 0
    (tmp_path / "README.md").write_text("\n".join(lines).replace(".16 ms", ".15 ms"))
    assert figures.main(["--check"]) == 1
    report.write_text(json.dumps(TIMES | {"quick": True}))
    assert figures.main(["--times", str(report)]) == 2
    assert "a quick run" in capsys.readouterr().err


def test_shares_are_those_of_the_half_that_nothing_was_tuned_on() -> None:
    figure, second, *_ = read()
    score = {"system": "foveal, context", "budget": 1_000, "task": "a"}
    tasks = [{"id": "a", "split": "held_out"}, {"id": "b", "split": "tune"}]
    scores = [score | {"lines": 0.5}, score | {"task": "b", "lines": 1}, score | {"budget": 500, "lines": 1}]
    report = {"machine": "8 cores", "date": "2027-01-02", "tasks": tasks, "scores": scores}
    with pytest.raises(ValueError, match="about 1 of the 305"):
        update([figure], "needed", needed(report))
    figure.of = 1
    update([figure], "needed", needed(report))
    assert "| 50 % | BM25 over definitions 38 % (2026-11-23" in _row(figure)

    found = {one.id: {"NDCG@10": 0.5 if one.split == "held_out" else 1.0} for one in read_written()}
    update([second], "retrieval", retrieval(report | {"scores": {"ripgrep": found}}))
    assert "ripgrep .500 (2027-01-02" in _row(second)


def _row(figure: Figure) -> str:
    return table([figure]).splitlines()[2]
