"""The private and the shared files of a pool: reading them into records, repairing, appending, removing.

A file is known by its inode, so a rotated one is only read on. Reading takes no lock: a file that is renamed
meanwhile is noticed and read again.
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import Busy, StateError
from ..core.system import Stamp, System, latest_time, stamp_of
from ..core.times import timestamp_of
from .edits import EDIT_KINDS, Edit
from .experience import BadField, Experience, clean
from .lines import (
    MAX_LINE_BYTES,
    Damage,
    FileReading,
    PoolLine,
    Quarantine,
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
        """A number that changes whenever the records do."""
        self.repaired_tails = 0
        self.shared = ""
        """The path of the shared file, relative to the root, empty if none is used."""
        self._system = system
        self._root = root
        self._write = write
        self._rotate_bytes = rotate_bytes
        self._problems: dict[str, str] = {}
        self.reader = PoolReader([self.private], system)
        self._shown = (self.reader.records, 0)

    @property
    def records(self) -> Records:
        """The records of the files, as far as they were read."""
        return self.reader.records

    @property
    def problems(self) -> list[str]:
        """The problems, in sentences."""
        return [*self._problems.values(), *filter(None, (source.problem for source in self.reader.sources))]

    def set_problem(self, kind: str, problem: str) -> None:
        """Set a problem, or clear it with an empty text."""
        self._problems.pop(kind, None)
        if problem:
            self._problems[kind] = problem

    def share(self, path: str, *, trusted: bool) -> None:
        """Also read a pool in the repository, or none for an empty path. All files are read again."""
        problem = shared_problem(path, trusted=trusted) if path else ""
        self.set_problem("shared", problem)
        self.shared = "" if problem else path
        sources = [self.private]
        if self.shared:
            sources.append(self._shared_source(path))
        self.reader = PoolReader(sources, self._system)
        self.refresh()

    def refresh(self) -> bool:
        """Read changes and repair damage; returns whether anything changed. Otherwise one stat for each
        file."""
        before = self.generation
        if self.reader.is_current() and "damage" not in self._problems:
            return False
        self.catch_up()
        self.set_problem("damage", self._try_to_repair())
        return self.generation != before

    def catch_up(self) -> None:
        """Read what changed."""
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
        """Return the source for new experiences: the shared file, unless it can't be used now."""
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
        """Lock the file of a source, read and repaired to its end; gives a function that appends durably."""
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
        """Remove the lines of experiences and their edits for good.

        `choose` is called when the sources are locked, so that no line appended meanwhile is lost.
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
            # All files are read again, without the locks.
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
        """Repair the damage found by the last reading; returns the reason if that failed, else empty."""
        try:
            for source in self.reader.sources:
                if source.problem:
                    continue
                if self.reader.torn(source) or source.parts.has_leftovers():
                    # Another process may be writing the torn last line: under its lock it is whole.
                    with source.parts.file.locked() as descriptor:
                        source.parts.remove_leftovers()
                        self.catch_up()
                        self._repair(source, descriptor)
            self._quarantine_damage()
        except (StateError, Busy) as error:
            return str(error)
        return ""

    def _repair(self, source: PoolSource, descriptor: int) -> None:
        """Copy bad lines into quarantine, and complete or move away a torn last line. Needs the lock."""
        reading = self.reader.torn(source)
        if reading is not None:
            line = torn_line(descriptor, reading.offset)
            if line.size > MAX_LINE_BYTES or is_whole(line):
                # Only the line break is missing, or the line is too long to move and stays as a bad line.
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
    """Return offsets and sizes of the lines of some experiences and their edits; empty if there are none.

    With them go the lines that aren't JSON: they are in quarantine, unless too long to be there whole. Lines
    of a newer version stay. Other processes wait for the lock meanwhile, so lines are not fully checked: 5 µs
    each instead of 50.
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
    """Return the id of the experience that a line holds or edits; empty for other lines."""
    kind = fields.get("type", "experience")
    name = "id" if kind == "experience" else "of" if isinstance(kind, str) and kind in EDIT_KINDS else ""
    return " ".join(clean(str(fields.get(name, ""))).split())


def shared_problem(path: str, *, trusted: bool) -> str:
    """Return why a project's `experience.path` isn't used, as a sentence; empty if it may be used.

    `path` is relative to the project's root, from foveal.toml. Only a `.jsonl` file is allowed, since its
    content is read, repaired and rotated as a pool.
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
    """Return a function that raises `StateError` while a symlink leads the folder of `path` out of the
    project."""
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
"""Maximum attempts to read the files; each goes on where the last was disturbed by a rotation or
replacement."""


class PoolSource(Struct):
    """The files of one folder. An unreadable optional source is left out, and `problem` says why.

    `before_writing` prepares a write, or raises `StateError`.
    """

    parts: PoolParts
    optional: bool = False
    before_writing: Callable[[], None] = lambda: None
    problem: str = ""


class _State(Struct):
    """The records, and for each source how far each of its files was read, by inode."""

    records: Records
    readings: list[dict[int, FileReading]]


class _Fresh(Exception):
    """The records are out of date: everything must be read again."""


class PoolReader:
    """Reads the records of some sources. One thread at a time. Raises `StateError` as `PoolFile` does."""

    def __init__(self, sources: Sequence[PoolSource], system: System) -> None:
        self.sources = sources
        self.system = system
        self._known: dict[str, Stamp] | None = None
        self._state = self._empty()

    @property
    def records(self) -> Records:
        """The records of the files, as far as they were read."""
        return self._state.records

    def readings(self) -> Iterator[FileReading]:
        """Yield how far each file was read. Safe from other threads."""
        for readings in self._state.readings:
            yield from tuple(readings.values())

    def torn(self, source: PoolSource) -> FileReading | None:
        """Return the reading of a source's active file if its last line is torn."""
        readings = self._state.readings[self.sources.index(source)]
        return next((reading for reading in readings.values() if reading.torn), None)

    def is_current(self) -> bool:
        """Tell whether no file changed since it was read, by one stat each."""
        if self._known is None or any(source.problem for source in self.sources):
            return False
        active = [source.parts.file.path for source in self.sources]
        return all(self._stamp(path) == self._known.get(path) for path in {*self._known, *active})

    def catch_up(self) -> None:
        """Read new lines, or everything if a file was replaced or edited.

        New records show only when complete. Raises `Busy` if the files change all the time.
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
            return None  # then the file is read, which reports the error

    def _advance(self, state: _State) -> dict[str, Stamp] | None:
        """Read new lines; return the stamps of all files, None if they changed meanwhile. Raises `_Fresh`."""
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
        """Leave out an optional source; raise the error for a required one."""
        if isinstance(error, OSError):
            error = source.parts.file.unusable(f"can't be read: {error.strerror}. Mend that and try again")
        if not source.optional:
            raise error
        source.problem = str(error)

    def _read(
        self,
        source: PoolSource,
        part: PoolPart,
        readings: dict[int, FileReading],
        number: int,
        records: Records,
    ) -> FileReading | None:
        """Read new lines of a file; None if its path names another file now. Raises `_Fresh`."""
        try:
            with source.parts.file.reading(part.path) as descriptor:
                stamp = stamp_of(os.fstat(descriptor))
                if stamp.inode != part.stamp.inode:
                    return None
                reading = readings.setdefault(stamp.inode, FileReading())
                if stamp == reading.stamp and not reading.torn:
                    return reading
                if reading.stamp is not None and not reading.is_continued_by(descriptor, stamp):
                    raise _Fresh
                if reading.stamp is None:
                    source.parts.file.forget_folder()
                reading.stamp, reading.torn = stamp, False
                now = self.system.now()
                latest = timestamp_of(latest_time(now))
                for line in lines_from(descriptor, reading.offset):
                    if part.active and not line.complete:
                        reading.torn = True
                        break
                    for record in _taken(line, os.path.basename(part.path), reading, latest):
                        reading.repeated_lines += not _add(records, record, number)
                written = datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC)
                for record in _dated(reading, timestamp_of(min(written, now))):
                    reading.repeated_lines += not _add(records, record, number)
                reading.remember_tail(descriptor)
                return reading
        except FileNotFoundError:
            return None


def _add(records: Records, record: Experience | Edit, number: int) -> bool:
    return records.add_edit(record) if isinstance(record, Edit) else records.add(record, number)


def _taken(line: PoolLine, file: str, reading: FileReading, latest: str) -> Iterator[Experience | Edit]:
    """Yield what a line holds, or add it to the damage.

    An experience dated after the `latest` possible time was recorded about when the line before it was, or
    the next one: it gets that one's time.
    """
    reading.lines += 1
    reading.offset = line.offset + line.size
    try:
        record = read_line(line)
    except BadField as error:
        reading.bad_lines += 1
        reason = f"{error.field} {error}".strip()
        reading.damage.append(Damage(reading.lines, line, reason, file))
        return
    if record is None:
        reading.unknown_lines += bool(line.data.strip())
    elif isinstance(record, Edit):
        yield record
    elif record.timestamp > latest:
        reading.undated.append(record)
        if reading.latest:
            yield from _dated(reading, reading.latest)
    else:
        reading.latest = record.timestamp
        yield from _dated(reading, record.timestamp)
        yield record


def _dated(reading: FileReading, at: str) -> Iterator[Experience]:
    """Yield the experiences of a reading that have no time yet, with this one."""
    for record in reading.undated:
        yield replace(record, timestamp=at, dated=record.timestamp)
    reading.undated.clear()


def _names(listing: Sequence[Sequence[PoolPart]]) -> list[list[tuple[str, int]]]:
    return [[(part.path, part.stamp.inode) for part in parts] for parts in listing]
