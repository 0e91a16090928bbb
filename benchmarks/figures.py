"""The figures of README.md: written by one program, each with its date and its machine.

    $ python -m benchmarks.figures                       # writes the table of README.md from figures.json
    $ python -m benchmarks.figures --check               # the exit status is 1 if README.md has another table
    $ python -m benchmarks.figures --times times.json --needed needed.json --retrieval retrieval.json

`--times` takes what `python -m benchmarks --json-file` wrote, `--needed` and `--retrieval` what `--json` of
these benchmarks wrote. What a report lacks keeps its value and its date. `python -m benchmarks.structure`
writes no JSON: its row is edited in figures.json by hand, from the table of held-out Python that it prints.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import msgspec

from .retrieval.judged import read_written
from .retrieval.measures import MAIN

README: Final = Path(__file__).resolve().parents[1] / "README.md"
RECORDED: Final = Path(__file__).with_name("figures.json")
BEGIN: Final = "<!-- figures: `python -m benchmarks.figures` writes this table -->\n"
END: Final = "<!-- end of the figures -->\n"

HELD_OUT: Final = "held_out"
TOKENS: Final = 1_000
"""Budget of the contexts whose edited lines README.md tells."""


class Value(msgspec.Struct):
    """One value: whose, as it is shown, when and where it was measured, and its name in the report."""

    who: str
    value: str
    date: str
    machine: str
    source: str = ""


class Figure(msgspec.Struct):
    """A row. `report` is the option that brings new values, "" for none; `of` the number of questions that a
    report must be about, 0 if it isn't counted; `command` is what measures the row."""

    what: str
    ours: Value
    others: list[Value]
    command: str
    report: str = ""
    of: int = 0


class Report(msgspec.Struct):
    """The values that a benchmark wrote, by their names there, and of how many questions they are."""

    date: str
    machine: str
    values: dict[str, str]
    of: int = 0


def times(written: Mapping[str, Any]) -> Report:
    """Read the report of `python -m benchmarks`. Raises `ValueError` for one of a quick run."""
    if written["quick"]:
        raise ValueError("a quick run has smaller projects than the table tells of")
    values = {one["name"]: f"{shown(one['p50'])} {one['unit']}" for one in written["measures"]}
    return Report(written["date"], written["machine"], values)


def needed(written: Mapping[str, Any]) -> Report:
    """Read the report of `python -m benchmarks.needed`: the share of edited lines, held out."""
    tasks = {task["id"] for task in written["tasks"] if task["split"] == HELD_OUT}
    by_system: dict[str, list[float]] = {}
    for score in written["scores"]:
        if score["task"] in tasks and score["budget"] == TOKENS:
            by_system.setdefault(score["system"], []).append(score["lines"])
    values = {system: f"{100 * fmean(lines):.0f} %" for system, lines in by_system.items()}
    return Report(written["date"], written["machine"], values, len(tasks))


def retrieval(written: Mapping[str, Any]) -> Report:
    """Read the report of `python -m benchmarks.retrieval`: NDCG@10 of the written questions, held out."""
    held_out = {question.id for question in read_written() if question.split == HELD_OUT}
    known = {
        method: [of_question[MAIN] for name, of_question in scores.items() if name in held_out]
        for method, scores in written["scores"].items()
    }
    values = {method: f"{fmean(some):.3f}".lstrip("0") for method, some in known.items() if some}
    return Report(written["date"], written["machine"], values, max(map(len, known.values()), default=0))


REPORTS: Final[Mapping[str, Callable[[Mapping[str, Any]], Report]]] = {
    "times": times,
    "needed": needed,
    "retrieval": retrieval,
}


def update(figures: Sequence[Figure], name: str, report: Report) -> None:
    """Take the values of a report. Raises `ValueError` if it is about other questions than a row."""
    for figure in figures:
        if figure.report != name:
            continue
        if figure.of != report.of:
            raise ValueError(f"the report is about {report.of} of the {figure.of} of: {figure.what}")
        for one in (figure.ours, *figure.others):
            if one.source in report.values:
                one.value, one.date, one.machine = report.values[one.source], report.date, report.machine


def table(figures: Sequence[Figure]) -> str:
    """Return the table, and the line below it that tells the machine. A value of another run than that of
    foveal's has its date beside it, a value from another machine that machine."""
    usual = Counter(one.ours.machine for one in figures).most_common(1)[0][0]
    lines = ["| | foveal | others | measured |", "|---|---|---|---|"]
    for figure in figures:
        ours = figure.ours
        others = ", ".join(
            f"{one.who} {one.value}"
            + ("" if (one.date, one.machine) == (ours.date, ours.machine) else f" ({_when(one, usual)})")
            for one in figure.others
        )
        lines.append(f"| {figure.what} | {ours.value} | {others} | {_when(ours, usual)} |")
    return "\n".join([*lines, "", f"Times are medians. Each figure is of the date in its row, on {usual}.\n"])


def shown(value: float) -> str:
    """Return a number with two digits, or all those before its point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}".removeprefix("0")


def rendered(text: str, figures: Sequence[Figure]) -> str:
    """Return README's text with the table between its two comments."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(figures)}\n{END}{after}"


def read() -> list[Figure]:
    """Return the recorded figures."""
    return msgspec.json.decode(RECORDED.read_bytes(), type=list[Figure])


def main(arguments: list[str] | None = None) -> int:
    """Take new values, write the table, or check it; the exit status is 1 if the check fails, 2 for a report
    that can't be used."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="write nothing, compare README.md")
    for name in REPORTS:
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help="report to take new values from")
    options = parser.parse_args(arguments)
    figures, text = read(), README.read_text(encoding="utf-8")
    if options.check:
        if rendered(text, figures) == text:
            return 0
        print("README.md hasn't the recorded figures; run: python -m benchmarks.figures", file=sys.stderr)
        return 1
    try:
        for name, reader in REPORTS.items():
            if path := getattr(options, name):
                update(figures, name, reader(json.loads(path.read_text(encoding="utf-8"))))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    RECORDED.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")
    README.write_text(rendered(text, figures), encoding="utf-8")
    return 0


def _when(one: Value, usual: str) -> str:
    return one.date if one.machine == usual else f"{one.date}, on {one.machine}"


if __name__ == "__main__":
    sys.exit(main())
