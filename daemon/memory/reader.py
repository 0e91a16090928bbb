"""Owns the reading of a pool's files into records: what was appended since, or all where a file changed.

A file is known by its inode, so one that was set aside meanwhile is only read on. Takes no lock: what is
renamed while it is read is noticed, and read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ..core.errors import Busy, StateError
from ..core.system import Stamp, System, stamp_of
from .edits import Edit
from .fields import BadField
from .lines import Damage, PoolLine, Reading, lines_from, read_line
from .parts import PoolPart, PoolParts
from .records import Records

_ATTEMPTS = 100
"""Each goes on where the last one was disturbed, by a file that was set aside or replaced."""


class PoolSource(Struct):
    """The files of one folder. An optional one that can't be read is left out, and `problem` says why.

    `before_writing` makes what a write needs, or raises `StateError`.
    """

    parts: PoolParts
    optional: bool = False
    before_writing: Callable[[], None] = lambda: None
    problem: str = ""


class _State(Struct):
    """What was read: the records, and for each source how far each of its files, by inode."""

    records: Records
    readings: list[dict[int, Reading]]


class _Fresh(Exception):
    """What was read doesn't hold any more."""


class PoolReader:
    """The records of some sources. One thread at a time. Raises `StateError` as `PoolFile` does."""

    def __init__(self, sources: Sequence[PoolSource], system: System) -> None:
        self.sources = sources
        self.system = system
        self._known: dict[str, Stamp] | None = None
        self._state = self._empty()

    @property
    def records(self) -> Records:
        """What the files come to, as far as they were read."""
        return self._state.records

    def readings(self) -> Iterator[Reading]:
        """Yield how far each file was read; another thread may ask."""
        for readings in self._state.readings:
            yield from tuple(readings.values())

    def torn(self, source: PoolSource) -> Reading | None:
        """Return how far the active file of a source was read, if it ends in the middle of a line."""
        readings = self._state.readings[self.sources.index(source)]
        return next((reading for reading in readings.values() if reading.torn), None)

    def is_current(self) -> bool:
        """Whether all files are what was read, by a stat each."""
        if self._known is None or any(source.problem for source in self.sources):
            return False
        active = [source.parts.file.path for source in self.sources]
        return all(self._stamp(path) == self._known.get(path) for path in {*self._known, *active})

    def catch_up(self) -> None:
        """Read what is new, or everything if something isn't the same any more.

        What is read anew is shown when it is complete. Raises `Busy` if the files never hold still.
        """
        for source in self.sources:
            source.problem = ""
        state = self._state
        for _ in range(_ATTEMPTS):
            try:
                known = self._advance(state)
            except _Fresh:
                state = self._empty()
                continue
            if known is not None:
                self._state, self._known = state, known
                return
        raise Busy(f"The files beside {self.sources[0].parts.file.path} change all the time. Try again.")

    def _empty(self) -> _State:
        return _State(Records(), [{} for _ in self.sources])

    def _stamp(self, path: str) -> Stamp | None:
        try:
            return stamp_of(self.system.lstat(path))
        except OSError:
            return None  # also what can't be looked at is then read, which says why

    def _advance(self, state: _State) -> dict[str, Stamp] | None:
        """Read on; return the stamps of all files, None if they changed meanwhile. Raises `_Fresh`."""
        listing = [self._listed(source) for source in self.sources]
        known: dict[str, Stamp] = {}
        for number, parts in enumerate(listing):
            source, readings = self.sources[number], state.readings[number]
            if not readings.keys() <= {part.stamp.inode for part in parts}:
                raise _Fresh
            for part in parts:
                read = readings.get(part.stamp.inode)
                if read is not None and read.stamp == part.stamp and not read.torn:
                    known[part.path] = part.stamp
                    continue
                try:
                    reading = self._read(source, part, readings, number, state.records)
                except (StateError, OSError) as error:
                    self._leave_out(source, error)
                    if readings:
                        raise _Fresh from error
                    return None
                if reading is None:
                    return None
                assert reading.stamp is not None
                known[part.path] = reading.stamp
        again = [self._listed(source) for source in self.sources]
        return known if _names(again) == _names(listing) else None

    def _listed(self, source: PoolSource) -> list[PoolPart]:
        if source.problem:
            return []
        try:
            return source.parts.listed()
        except OSError as error:
            self._leave_out(source, error)
            return []

    def _leave_out(self, source: PoolSource, error: StateError | OSError) -> None:
        """Go on without an optional source. Raises the error for another one."""
        if isinstance(error, OSError):
            error = source.parts.file.unusable(f"can't be read: {error.strerror}. Mend that and try again")
        if not source.optional:
            raise error
        source.problem = str(error)

    def _read(
        self, source: PoolSource, part: PoolPart, readings: dict[int, Reading], number: int, records: Records
    ) -> Reading | None:
        """Read on in one file; None if its path means another one by now. Raises `_Fresh`."""
        try:
            with source.parts.file.reading(part.path) as descriptor:
                stamp = stamp_of(os.fstat(descriptor))
                if stamp.inode != part.stamp.inode:
                    return None
                reading = readings.setdefault(stamp.inode, Reading())
                if stamp == reading.stamp and not reading.torn:
                    return reading
                if reading.stamp is not None and not reading.is_continued_by(descriptor, stamp):
                    raise _Fresh
                if reading.stamp is None:
                    source.parts.file.forget_folder()
                reading.stamp, reading.torn = stamp, False
                for line in lines_from(descriptor, reading.offset):
                    if part.active and not line.complete:
                        reading.torn = True
                        break
                    _take(line, os.path.basename(part.path), reading, number, records)
                reading.remember_tail(descriptor)
                return reading
        except FileNotFoundError:
            return None


def _take(line: PoolLine, file: str, reading: Reading, number: int, records: Records) -> None:
    """Add one line to the records, or to the damage."""
    reading.lines += 1
    try:
        record = read_line(line)
    except BadField as error:
        reading.bad_lines += 1
        reason = f"{error.field} {error}".strip()
        reading.damage.append(Damage(reading.lines, line, reason, file))
    else:
        if record is None:
            reading.unknown_lines += bool(line.data.strip())
        elif isinstance(record, Edit):
            reading.repeated_lines += not records.add_edit(record)
        else:
            reading.repeated_lines += not records.add(record, number)
    reading.offset = line.offset + line.size


def _names(listing: Sequence[Sequence[PoolPart]]) -> list[list[tuple[str, int]]]:
    return [[(part.path, part.stamp.inode) for part in parts] for parts in listing]
