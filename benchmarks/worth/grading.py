"""The grades of answers: a sheet that doesn't tell the arm, and what both arms read for their grades."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..retrieval.bootstrap import Interval, difference, ratio
from .seats import ARMS, SEED, Seat
from .tasks import TaskSet, WorthTask

READ = ("prompt", "start", "context", "run", "added")
"""Kinds of a log's rows that an agent reads."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One arm's work on a task. `grade` is None until it is graded."""

    commands: int
    characters: int
    grade: float | None


def code_of(seat: Seat, task: str) -> str:
    """Return the name of an answer on the sheet, which tells neither seat nor arm."""
    return sha256(f"{SEED} {seat.folder.name} {task}".encode()).hexdigest()[:8]


def write_sheet(sets: Sequence[TaskSet], seats: Sequence[Seat], folder: Path) -> None:
    """Write `sheet.md` with the answers of each task in an order by chance, and `grades.json` to be filled
    in: the points for each fact of an answer's key."""
    parts: list[str] = []
    grades: dict[str, list[None]] = {}
    for each in sets:
        for task in each.tasks:
            found = {code_of(seat, task.id): seat.answer(task.id) for seat in seats if _has(seat, each, task)}
            parts.append(f"# {task.id}\n\n{task.prompt}\n\nKey:\n")
            parts += [f"- {fact.points}: {fact.text}" for fact in task.key]
            for code, path in sorted(found.items()):
                text = re.sub("foveal", "(a tool)", path.read_text(encoding="utf-8"), flags=re.IGNORECASE)
                parts.append(f"\n## Answer {code}\n\n{text}\n")
                grades[code] = [None] * len(task.key)
    (folder / "sheet.md").write_text("\n".join(parts), encoding="utf-8")
    rows = (f" {json.dumps(code)}: {json.dumps(points)}" for code, points in grades.items())
    (folder / "grades.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def report(sets: Sequence[TaskSet], seats: Sequence[Seat], graders: Sequence[Path]) -> str:
    """Return a table of the tasks that both arms answered, by code base and for all, as Markdown.

    Of several graders' points the mean counts. Intervals hold 95 % of the resamples of tasks.
    """
    given = [json.loads(path.read_text(encoding="utf-8")) for path in graders]
    pairs = {each.name: list(_pairs(each, seats, given)) for each in sets}
    names = [
        "code base",
        "tasks",
        *(f"commands {arm}" for arm in ARMS),
        *(f"characters {arm}" for arm in ARMS),
    ]
    names += ["ratio", *(f"grade {arm}" for arm in ARMS), "difference"]
    rows = [names, ["---"] * len(names)]
    pairs["all"] = [pair for each in sets for pair in pairs[each.name]]
    for name, group in pairs.items():
        if group:
            rows.append([name, str(len(group)), *_cells(group)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _has(seat: Seat, each: TaskSet, task: WorthTask) -> bool:
    return seat.project == each.name and seat.answer(task.id).is_file()


def _pairs(
    each: TaskSet, seats: Sequence[Seat], given: Sequence[Mapping[str, list[float | None]]]
) -> Iterator[tuple[Attempt, Attempt]]:
    by_arm = {seat.arm: seat for seat in seats if seat.project == each.name}
    logs = {arm: _read(seat.log) for arm, seat in by_arm.items()}
    for task in each.tasks:
        if len(by_arm) == len(ARMS) and all(_has(seat, each, task) for seat in by_arm.values()):
            ours, theirs = (
                _attempt(logs[arm], task, [grades.get(code_of(by_arm[arm], task.id), []) for grades in given])
                for arm in ARMS
            )
            yield ours, theirs


def _attempt(
    rows: Iterable[Mapping[str, str]], task: WorthTask, grades: Sequence[Sequence[float | None]]
) -> Attempt:
    """Sum up the last attempt at a task."""
    commands = characters = 0
    for row in rows:
        if row["task"] == task.id and row["kind"] in READ:
            if row["kind"] == "start":  # the first row of an attempt
                commands = characters = 0
            commands += row["kind"] == "run"
            characters += len(row["text"])
    whole = [sum(points) for points in grades if points and None not in points]  # type: ignore[arg-type]
    return Attempt(commands, characters, sum(whole) / len(whole) if whole else None)


def _cells(pairs: Sequence[tuple[Attempt, Attempt]]) -> Iterator[str]:
    for value in ("commands", "characters"):
        yield from (f"{sum(getattr(pair[arm], value) for pair in pairs):,}" for arm in (0, 1))
    characters = [[float(pair[arm].characters) for pair in pairs] for arm in (0, 1)]
    yield _said(ratio(*characters))
    graded = [
        (ours.grade, theirs.grade)
        for ours, theirs in pairs
        if ours.grade is not None and theirs.grade is not None
    ]
    if not graded:
        yield from ("", "", "")
        return
    ours, theirs = zip(*graded, strict=True)
    yield from (f"{sum(ours):g} of {10 * len(graded)}", f"{sum(theirs):g} of {10 * len(graded)}")
    yield _said(difference(ours, theirs))


def _said(interval: Interval) -> str:
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _read(log: Path) -> list[dict[str, str]]:
    if not log.is_file():
        return []
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
