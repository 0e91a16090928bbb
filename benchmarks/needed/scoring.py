"""The value of a text for a task: which share of the needed lines it shows, and what else it shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .counting import estimate
from .judge import File, judge, says_something
from .projects import CodeBase
from .tasks import Place, Task


@dataclass(frozen=True, slots=True)
class Score:
    """What one system's text for one task at one budget shows.

    `edits` is the share of the edited definitions whose body is shown whole, `lines` that of the edited
    lines, `reads` that of the read definitions whose first line is shown (None where none is read), `pure`
    the share of the shown lines that lie in needed files (None where none is shown). `tokens` are estimated.
    """

    system: str
    budget: int
    task: str
    edits: float
    lines: float
    reads: float | None
    pure: float | None
    shown: int
    tokens: int


def score(code: CodeBase, task: Task, system: str, budget: int, text: str) -> Score:
    """Judge a text. Raises `ValueError` for one that is over the budget: it could not be compared."""
    tokens = estimate(text)
    if tokens > budget:
        raise ValueError(f"{system} gave {tokens} tokens for {task.id}, the budget is {budget}")
    files = _Files(code)
    found = judge(text, files, code.paths)
    edited = [(path, number) for path, numbers in task.lines.items() for number in numbers]
    hit = sum(number in found.get(path, set()) for path, number in edited)
    whole = sum(_is_whole(found, code, place) for place in task.edits)
    read = sum(_shows_head(found, code, place) for place in task.reads)
    count = sum(map(len, found.values()))
    needed = sum(len(one) for path, one in found.items() if path in task.files)
    return Score(
        system,
        budget,
        task.id,
        whole / len(task.edits),
        hit / len(edited),
        read / len(task.reads) if task.reads else None,
        needed / count if count else None,
        count,
        tokens,
    )


class _Files(Mapping[str, File]):
    """All files of a code base, read as they are asked for."""

    def __init__(self, code: CodeBase) -> None:
        self._code = code

    def __getitem__(self, path: str) -> File:
        if path not in self._code.paths:
            raise KeyError(path)
        return self._code.file(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._code.paths)

    def __len__(self) -> int:
        return len(self._code.paths)


def _is_whole(found: Mapping[str, set[int]], code: CodeBase, place: Place) -> bool:
    lines = _body(code.file(place.path).lines, place)
    return bool(lines) and all(number in found.get(place.path, set()) for number in lines)


def _shows_head(found: Mapping[str, set[int]], code: CodeBase, place: Place) -> bool:
    lines = _body(code.file(place.path).lines, place)
    return bool(lines) and lines[0] in found.get(place.path, set())


def _body(lines: Sequence[str], place: Place) -> list[int]:
    """Return the lines of a definition that have words: others say nothing."""
    return [number for number in range(place.first, place.last + 1) if says_something(lines[number - 1])]
