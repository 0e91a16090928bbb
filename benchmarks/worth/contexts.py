"""What each prompt's context shows of the needed definitions, and what else: no agent takes part."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from ..host_session import Hook, HostSession
from ..needed.counting import estimate
from ..needed.judge import judge, says_something
from ..needed.projects import CodeBase
from .tasks import NeededDefinition, WorthTask, locate

WRONG_TOKENS = 300
"""A context of more tokens that shows no needed definition is wrong: a list of likely places isn't larger."""

FORMS = ("whole", "part", "line", "nothing")

_PLACE = re.compile(r"([^\s`:]+):(\d+)|([^\s`#]+)#([\w.]+)")


@dataclass(frozen=True, slots=True)
class PromptContext:
    """What one prompt's context showed.

    `forms` says how it shows each needed definition: one of `FORMS`, where `line` is its head, or a row that
    names it. `lines` are shown: lines of files, and rows that name a place; `beside` of them lie in no
    needed definition, `elsewhere` in no file of one.
    """

    project: str
    task: str
    kind: str
    needed: tuple[str, ...]
    forms: tuple[str, ...]
    tokens: int
    lines: int
    beside: int
    elsewhere: int
    text: str

    @property
    def is_wrong(self) -> bool:
        """Whether it shows no needed definition and more than a list of places."""
        return self.tokens > WRONG_TOKENS and set(self.forms) == {"nothing"}


def ask(code: CodeBase, tasks: Sequence[WorthTask], hook: Hook) -> Iterator[PromptContext]:
    """Yield each task's context, each prompt being the first one of a session."""
    for task in tasks:
        session = HostSession(hook, code.root, f"{task.id}-{time.time_ns()}")
        session.start()
        yield look(code, task, session.prompt(task.prompt))
        session.end()


def look(code: CodeBase, task: WorthTask, text: str) -> PromptContext:
    """Judge the text of a context."""
    wanted = [locate(code, each) for each in task.needed]
    paths = {row.path for row in wanted}
    found = judge(text, {path: code.file(path) for path in mentioned(text, code) | paths}, code.paths)
    shown = {(path, number) for path, numbers in found.items() for number in numbers}
    places = list(_places(text, code))
    inside = {(row.path, number) for row in wanted for number in range(row.first, row.last + 1)}
    misplaced = [place for place in places if not any(_names(place, row) for row in wanted)]
    return PromptContext(
        code.name,
        task.id,
        task.kind,
        task.needed,
        tuple(_form(code, definition, found, places) for definition in wanted),
        estimate(text),
        len(shown) + len(places),
        len(shown - inside) + len(misplaced),
        sum(path not in paths for path, *_ in [*shown, *misplaced]),
        text,
    )


def mentioned(text: str, code: CodeBase) -> set[str]:
    """Return the files of a code base whose paths stand in a text."""
    return {path for path in code.paths if path in text}


def table(results: Sequence[PromptContext]) -> str:
    """Return a row a code base, and one for all, as Markdown."""
    names = ["code base", "prompts", "needed", "whole", "in part", "as a line", "nothing", "tokens", "noise"]
    names += ["in other files", f"wrong over {WRONG_TOKENS} tokens", "silent"]
    rows = [names, ["---"] * len(names)]
    groups: dict[str, list[PromptContext]] = {}
    for one in results:
        groups.setdefault(one.project, []).append(one)
    for name, group in (groups | {"all": list(results)}).items():
        forms = [sum(one.forms.count(form) for one in group) for form in FORMS]
        lines = sum(one.lines for one in group)
        shares = [
            sum(getattr(one, kind) for one in group) / max(lines, 1) for kind in ("beside", "elsewhere")
        ]
        counts = [sum(forms), *forms, round(sum(one.tokens for one in group) / len(group))]
        last = [sum(one.is_wrong for one in group), sum(not one.text for one in group)]
        cells = [name, len(group), *counts, *(f"{share:.2f}" for share in shares), *last]
        rows.append([str(cell) for cell in cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def to_maps(results: Sequence[PromptContext]) -> list[Mapping[str, object]]:
    """Return the contexts for JSON, with their texts."""
    return [asdict(one) | {"is_wrong": one.is_wrong} for one in results]


def differing(first: Sequence[PromptContext], second: Sequence[PromptContext]) -> list[str]:
    """Return the tasks whose contexts have other bytes the second time."""
    return [one.task for one, other in zip(first, second, strict=True) if one.text != other.text]


def _places(text: str, code: CodeBase) -> Iterator[tuple[str, int, str]]:
    """Yield path, first line and name of the place in each row outside of headings that names one; the line
    is 0 where only the name is said."""
    for row in text.split("\n"):
        for match in () if row.startswith("#") else _PLACE.finditer(row):
            path = (match[1] or match[3]).strip("*(")
            if path in code.paths:
                yield path, int(match[2] or 0), match[4] or ""
                break


def _names(place: tuple[str, int, str], definition: NeededDefinition) -> bool:
    path, first, name = place
    if path != definition.path:
        return False
    if name:
        return name.rpartition(".")[2] == definition.name.rpartition(".")[2]
    return definition.first <= first <= definition.last


def _form(
    code: CodeBase,
    definition: NeededDefinition,
    found: Mapping[str, set[int]],
    places: Sequence[tuple[str, int, str]],
) -> str:
    lines = code.file(definition.path).lines
    body = {
        number
        for number in range(definition.first, definition.last + 1)
        if says_something(" ".join(lines[number - 1].split()))
    }
    shown = found.get(definition.path, set()) & body
    if body and shown == body:
        return "whole"
    if len(shown) > definition.head:
        return "part"
    return "line" if shown or any(_names(place, definition) for place in places) else "nothing"
