"""The files that an agent reads, edits and names, turn by turn: signs that a shown place was of use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from ..core.vocabulary import words
from .entry import Recent, TranscriptEntry
from .outcomes import named_paths, without_heredocs

Use = Literal["edited", "read", "named"]

ACTIVITY_MAX = 2_000
"""Maximum number of activities of a reading; a busy turn touches some dozen files."""

READERS = words("cat head tail sed nl less more bat awk grep egrep rg ag ack wc diff Get-Content type")
"""Programs that print the files that they are given."""

_SEGMENT = re.compile(r"\|\|?|&&|[;\n]")
_PREFIX = re.compile(r"\s*(?:(?:sudo|command|time|xargs|\w+=\S*)\s+|[({]\s*)*")
_EDITORS = frozenset({"sed", "gsed", "perl"})
_IN_PLACE = re.compile(r"\s(?:-[pnEWrs0]{0,3}i[pne]{0,2}(?:\.\w*)?(?=\s|'|\"|$)|--in-place)")
_WRITTEN = re.compile(r">{1,2}\s*(?P<path>[^\s;&|<>]+)")


class Activity(Struct, frozen=True):
    """What an agent did to a file in a turn: `first` and `last` are times as the host gave them, or empty.

    `path` is as the host wrote it. `line` is that of the record that began the turn.
    """

    how: Use
    path: str
    line: int
    first: str
    last: str
    agent_id: str = ""


class ActivityLog:
    """Collects the activities of a transcript while its entries are read."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, Use, str], Activity] = {}
        self._turns: dict[str, int] = {}
        """The line that began the turn of each agent."""
        self._waiting: Recent[str, TranscriptEntry] = Recent()
        """Calls without a result yet: a failed one touched nothing."""

    def noted(self, entries: Iterable[TranscriptEntry]) -> Iterator[TranscriptEntry]:
        """Yield the entries, and collect what they tell."""
        for entry in entries:
            self._note(entry)
            yield entry

    @property
    def activities(self) -> tuple[Activity, ...]:
        """What was collected, in the order in which it began."""
        return tuple(self._found.values())

    def _note(self, entry: TranscriptEntry) -> None:
        if entry.kind == "user" or entry.agent_id not in self._turns:
            self._turns[entry.agent_id] = entry.line
        if entry.kind in {"agent", "handback"}:
            self._add(entry, (("named", path) for path in named_paths(entry.text)))
        elif entry.kind == "call" and entry.call_id:
            self._waiting.note(entry.call_id, entry)
        elif entry.kind == "call":
            self._add(entry, _touched(entry))
        elif entry.kind == "result" and (call := self._waiting.pop(entry.call_id, None)) and not entry.failed:
            self._add(call, _touched(call))

    def _add(self, entry: TranscriptEntry, found: Iterable[tuple[Use, str]]) -> None:
        for how, path in found:
            line = self._turns[entry.agent_id]
            key = (entry.agent_id, line, how, path)
            known = self._found.get(key)
            if known is None and len(self._found) >= ACTIVITY_MAX:
                return
            first = known.first if known else entry.at
            self._found[key] = Activity(how, path, line, first, entry.at, entry.agent_id)


def _touched(call: TranscriptEntry) -> Iterator[tuple[Use, str]]:
    """Yield the files that a call touches."""
    if call.tool in {"edit", "write"}:
        yield from (("edited", path) for path in call.paths)
    elif call.tool == "read":
        yield from (("read", path) for path in call.paths)
    elif call.tool == "run":
        yield from in_command(call.command)


def in_command(command: str) -> Iterator[tuple[Use, str]]:
    """Yield the files that a shell command writes, prints, or only names."""
    for segment in _SEGMENT.split(without_heredocs(command)):
        written = {path for found in _WRITTEN.finditer(segment) for path in named_paths(found["path"])}
        program = os.path.basename((_PREFIX.sub("", segment, count=1).split(maxsplit=1) or [""])[0])
        in_place = program in _EDITORS and _IN_PLACE.search(segment) is not None
        for path in named_paths(segment):
            if path in written or in_place:
                yield "edited", path
            else:
                yield ("read" if program in READERS else "named"), path
