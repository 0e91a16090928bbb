"""Owns the files of a pool, the private ones and the shared ones: reading, mending, appending, removing.

Knows what stands in them as records, and not what is asked of a pool.
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct

from ..core.errors import Busy, StateError
from ..core.system import Stamp, System, stamp_of
from .edits import EDIT_KINDS, Edit
from .experience import BadField, clean
from .lines import (
    MAX_LINE_BYTES,
    Damage,
    PoolLine,
    Quarantine,
    Reading,
    is_whole,
    lines_from,
    read_line,
    torn_line,
)
from .pool_file import PoolFile, PoolPart, PoolParts
from .records import Records

SUFFIX = ".jsonl"


class PoolStore:
    """The sources of a pool: the file at `path` with its parts, and one in the repository at `root`, if any.

    Blocks; not thread-safe. Raises as `PoolFile` does, for what is shared only when it is written to.
    """

    def __init__(
        self, path: str, system: System, root: str, write: Callable[[int, bytes], int], rotate_bytes: int
    ) -> None:
        self.private = PoolSource(PoolParts(PoolFile(path, system, write), system, rotate_bytes))
        self.quarantine = Quarantine(f"{path}.quarantine", system, write)
        self.generation = 0
        """A number that is different whenever the records are."""
        self.repaired_tails = 0
        self.shared = ""
        """The path of the shared file, relative to the root, if one is used."""
        self._system = system
        self._root = root
        self._write = write
        self._rotate_bytes = rotate_bytes
        self._problems: dict[str, str] = {}
        self.reader = PoolReader([self.private], system)
        self._shown = (self.reader.records, 0)

    @property
    def records(self) -> Records:
        """What the files come to, as far as they were read."""
        return self.reader.records

    @property
    def problems(self) -> list[str]:
        """What is wrong, in sentences."""
        return [*self._problems.values(), *filter(None, (source.problem for source in self.reader.sources))]

    def set_problem(self, kind: str, problem: str) -> None:
        """Note what is wrong, or with an empty text that it isn't any more."""
        self._problems.pop(kind, None)
        if problem:
            self._problems[kind] = problem

    def share(self, path: str, *, trusted: bool) -> None:
        """Read a pool in the repository too, or none for an empty path. Everything is read anew."""
        problem = shared_problem(path, trusted=trusted) if path else ""
        self.set_problem("shared", problem)
        self.shared = "" if problem else path
        sources = [self.private]
        if self.shared:
            sources.append(self._shared_source(path))
        self.reader = PoolReader(sources, self._system)
        self.refresh()

    def refresh(self) -> bool:
        """Take up what changed and mend it, and say whether anything did; one stat a file if not."""
        before = self.generation
        if self.reader.is_current() and "damage" not in self._problems:
            return False
        self.catch_up()
        self.set_problem("damage", self._try_to_repair())
        return self.generation != before

    def catch_up(self) -> None:
        """Take up what changed."""
        try:
            self.reader.catch_up()
        finally:
            records = self.reader.records
            former, version = self._shown
            if records is former:
                self.generation += records.version != version
            else:
                self.generation += any((len(records), len(former), records.deleted, former.deleted))
            self._shown = (records, records.version)

    def target(self) -> PoolSource:
        """Return where new experiences go: the shared file, unless it can't be used now."""
        self.catch_up()
        last = self.reader.sources[-1]
        self.set_problem("sharing", "")
        if last.problem:
            return self.private
        try:
            last.before_writing()
        except StateError as error:
            self.set_problem("sharing", str(error))
            return self.private
        return last

    @contextlib.contextmanager
    def appending(self, source: PoolSource) -> Iterator[Callable[[bytes], None]]:
        """Lock the file of a source, read and mended to its end; gives what appends to it durably."""
        source.before_writing()
        with source.parts.writing() as descriptor:
            self.catch_up()
            self._repair(source, descriptor)
            self.set_problem("damage", "")

            def append(data: bytes) -> None:
                source.parts.file.append(descriptor, data)
                self.catch_up()

            yield append

    def remove(self, sources: Sequence[PoolSource], choose: Callable[[], Collection[str]]) -> None:
        """Remove the lines of experiences for good, by their ids, with those of their edits.

        They are chosen when the sources are locked, so that nothing is lost that others append meanwhile.
        """
        try:
            with contextlib.ExitStack() as stack:
                self.catch_up()
                used = [source for source in sources if not source.problem and source.parts.listed()]
                for source in used:
                    descriptor = stack.enter_context(source.parts.file.locked())
                    self.catch_up()
                    self._repair(source, descriptor)
                gone = self.records.with_aliases(set(choose()))
                for source in used if gone else ():
                    for part in source.parts.listed():
                        if pieces := pieces_about(source.parts, part, gone):
                            source.parts.rewrite(part, pieces)
        finally:
            # Everything is read anew, for which nobody needs to wait.
            self.catch_up()

    def _shared_source(self, path: str) -> PoolSource:
        full = os.path.join(self._root, path)
        guard = guard_of(self._root, path)
        file = PoolFile(full, self._system, self._write, guard=guard, private=False)

        def prepare() -> None:
            guard()
            try:
                os.makedirs(os.path.dirname(full), exist_ok=True)
            except OSError as error:
                raise file.unusable(f"can't be made: {error.strerror}. Mend that") from error
            if not os.access(full if os.path.exists(full) else os.path.dirname(full), os.W_OK):
                raise file.unusable("can't be written: you may only read it. Mend that")

        parts = PoolParts(file, self._system, self._rotate_bytes)
        return PoolSource(parts, optional=True, before_writing=prepare)

    def _try_to_repair(self) -> str:
        """Repair what the last reading found; return why it could not be done, empty if it was."""
        try:
            for source in self.reader.sources:
                if source.problem:
                    continue
                if self.reader.torn(source) or source.parts.has_leftovers():
                    # A torn last line may be one that another process is writing: under its lock it is whole.
                    with source.parts.file.locked() as descriptor:
                        source.parts.remove_leftovers()
                        self.catch_up()
                        self._repair(source, descriptor)
            self._quarantine_damage()
        except (StateError, Busy) as error:
            return str(error)
        return ""

    def _repair(self, source: PoolSource, descriptor: int) -> None:
        """Copy bad lines to the quarantine file and end or move away a torn last one. Needs the lock."""
        reading = self.reader.torn(source)
        if reading is not None:
            line = torn_line(descriptor, reading.offset)
            if line.size > MAX_LINE_BYTES or is_whole(line):
                # Only the line break is missing, or it is too long to be moved: then it stays as a bad line.
                source.parts.file.append(descriptor, b"\n")
            else:
                name = os.path.basename(source.parts.file.path)
                reason = "torn: the line has no end"
                self.quarantine.keep([Damage(reading.lines + 1, line, reason, name)])
                source.parts.file.cut(descriptor, reading.offset)
                self.repaired_tails += 1
            self.catch_up()
        self._quarantine_damage()

    def _quarantine_damage(self) -> None:
        damage = [line for reading in self.reader.readings() for line in reading.damage]
        if damage:
            self.quarantine.keep(damage)
            for reading in self.reader.readings():
                reading.damage.clear()


def pieces_about(parts: PoolParts, part: PoolPart, experience_ids: Collection[str]) -> list[tuple[int, int]]:
    """Return offsets and sizes of the lines of some experiences and of their edits; empty if there is none.

    Where there is one, the lines that aren't JSON go as well: they lie in the quarantine, but for those that
    are too long to be there whole. Lines of a newer version stay. Others wait for the lock meanwhile, so a
    line is looked at no closer than that takes: 5 µs instead of 50.
    """
    broken: list[PoolLine] = []
    about: list[PoolLine] = []
    with parts.file.reading(part.path) as descriptor:
        for line in lines_from(descriptor, 0):
            if line.size > MAX_LINE_BYTES or not line.data.strip():
                continue
            try:
                fields = json.loads(line.data)
            except (ValueError, RecursionError):
                broken.append(line)
                continue
            if isinstance(fields, dict) and _subject(fields) in experience_ids:
                about.append(line)
    if not about:
        return []
    return sorted((line.offset, line.size) for line in (*about, *broken))


def _subject(fields: dict[str, object]) -> str:
    """Return the id of the experience that a line is or that it edits; empty for another one."""
    kind = fields.get("type", "experience")
    name = "id" if kind == "experience" else "of" if isinstance(kind, str) and kind in EDIT_KINDS else ""
    return " ".join(clean(str(fields.get(name, ""))).split())


def shared_problem(path: str, *, trusted: bool) -> str:
    """Return why a project's `experience.path` isn't used, as a sentence; empty if it may be.

    `path` is relative to the project's root, as foveal.toml has it. Only a `.jsonl` file is taken, since
    whatever stands there is read, mended and set aside as a pool.
    """
    if not trusted:
        return "experience.path is not used: the project is not trusted; foveal trust lets it share a pool."
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or "\0" in path or posixpath.normpath(path) != path:
        return "experience.path is not used: it must be a plain path relative to the project's root."
    if ".." in parts or any(part.casefold() == ".git" for part in parts):
        return "experience.path is not used: it must lie in the project, and not in .git."
    if not path.endswith(SUFFIX) or parts[-1] == SUFFIX:
        return f"experience.path is not used: its file must be named *{SUFFIX}."
    return ""


def guard_of(root: str, path: str) -> Callable[[], None]:
    """Return what raises `StateError` while a symlink leads the folder of `path` out of the project."""
    full = os.path.join(root, path)
    folder = os.path.dirname(full)

    def guard() -> None:
        inside, real = os.path.realpath(root), os.path.realpath(folder)
        if real != inside and not real.startswith(os.path.join(inside, "")):
            raise StateError(
                f"The pool of experiences {full} lies behind a symlink that leads out of the project. "
                "Move it into the project, then try again."
            )
        if ".git" in (part.casefold() for part in real[len(inside) :].split("/")):
            raise StateError(f"The pool of experiences {full} lies in .git. Move it, then try again.")

    return guard


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
