"""The private file of a pool and the one in the repository: read into records, repaired, appended to.

Reading takes no lock: a file that is renamed or replaced meanwhile is noticed and read again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import Busy, StateError
from ..core.system import Stamp, System, latest_time, stamp_of
from ..core.times import timestamp_of
from .experience import BadField, Experience
from .lines import MAX_LINE_BYTES, Damage, PoolLine, Quarantine, lines_from, read_line, subject_of
from .pool_file import PoolFile
from .pool_records import Records
from .shared_pool import guard_of, shared_problem

_ATTEMPTS = 100
"""Maximum attempts to read files that are renamed or replaced meanwhile."""
_TAIL_BYTES = 64


class PartReading(Struct):
    """How far a file was read: `offset` is the end of the last whole line, `tail` the bytes before it."""

    stamp: Stamp
    offset: int = 0
    tail: bytes = b""
    lines: int = 0
    bad_lines: int = 0
    unknown_lines: int = 0
    repeated_lines: int = 0
    damage: list[Damage] = field(default_factory=list)
    """Bad lines that aren't in quarantine yet."""
    latest: str = ""
    """The time of the last experience that isn't dated in the future."""

    def is_continued_by(self, descriptor: int, stamp: Stamp) -> bool:
        """Tell whether a file is the one that was read, with only lines appended.

        An editor may keep the inode, so the last bytes that were read must still be there; an edit that also
        keeps the size changes the modification time, while a rename changes ctime only.
        """
        is_edited = stamp.size == self.stamp.size and stamp.mtime_ns != self.stamp.mtime_ns
        tail = os.pread(descriptor, len(self.tail), self.offset - len(self.tail))
        return not is_edited and stamp.size >= self.offset and tail == self.tail


class PoolStore:
    """The files of a pool: the one at `path`, and one in the repository at `root`, if any.

    Blocks; not thread-safe. Raises as `PoolFile` does, for what is shared only when it is written to.
    """

    def __init__(
        self, path: str, system: System, root: str, write: Callable[[int, bytes], int], rotate_bytes: int
    ) -> None:
        self.private = PoolFile(path, system, write, rotate_bytes=rotate_bytes)
        self.files = [self.private]
        self.quarantine = Quarantine(f"{path}.quarantine", system, write)
        self.records = Records()
        self.readings: dict[int, PartReading] = {}
        """How far each file was read, by inode."""
        self.generation = 0
        """A number that changes whenever the records do."""
        self.repaired_tails = 0
        self.shared = ""
        """The path of the shared file, relative to the root, empty if none is used."""
        self.problems: dict[str, str] = {}
        """The problems, in sentences, by what they are of."""
        self._known: dict[str, Stamp | None] = {}
        self._version = 0
        self._system = system
        self._root = root
        self._write = write
        self._rotate_bytes = rotate_bytes

    def set_problem(self, kind: str, problem: str) -> None:
        """Set a problem, or clear it with an empty text."""
        self.problems.pop(kind, None)
        if problem:
            self.problems[kind] = problem

    def share(self, path: str, *, trusted: bool) -> None:
        """Also read a pool in the repository, or none for an empty path. All files are read again."""
        problem = shared_problem(path, trusted=trusted) if path else ""
        self.set_problem("shared", problem)
        self.shared = "" if problem else path
        self.files = [self.private]
        if self.shared:
            self.files.append(
                PoolFile(
                    os.path.join(self._root, path),
                    self._system,
                    self._write,
                    guard=guard_of(self._root, path),
                    private=False,
                    rotate_bytes=self._rotate_bytes,
                )
            )
        self._known = {}
        self.refresh()

    def refresh(self) -> None:
        """Read changes and repair damage. Without changes it takes one stat for each file."""
        if self._is_current() and self.problems.keys().isdisjoint({"damage", "unreadable"}):
            return
        self.catch_up()
        try:
            for file in self.files:
                if self._torn(file) is not None or file.was_interrupted():
                    # Another process may be writing the torn last line: under its lock it is whole.
                    with file.locked() as descriptor:
                        self.catch_up()
                        self._repair(file, descriptor)
            self._quarantine_damage()
        except (StateError, Busy) as error:
            self.set_problem("damage", str(error))
        else:
            self.set_problem("damage", "")

    def catch_up(self) -> None:
        """Read new lines, or everything if a file was replaced or edited.

        New records show only when complete. Raises `Busy` if the files change all the time.
        """
        self.set_problem("unreadable", "")
        records, readings = self.records, self.readings
        for _ in range(_ATTEMPTS):
            listing = self._listed()
            inodes = {stamp.inode for _, stamps in listing for stamp in stamps.values()}
            if not (readings.keys() <= inodes and self._advance(listing, records, readings)):
                records, readings = Records(), {}
            elif _names(self._listed()) == _names(listing):
                self._take(records, readings, listing)
                return
        raise Busy(f"The files beside {self.private.path} change all the time. Try again.")

    def target(self) -> PoolFile:
        """Return the file for new experiences: the shared one, unless it can't be used now."""
        self.catch_up()
        self.set_problem("sharing", "")
        if "unreadable" in self.problems:
            return self.private
        try:
            self.files[-1].prepare()
        except StateError as error:
            self.set_problem("sharing", str(error))
            return self.private
        return self.files[-1]

    @contextlib.contextmanager
    def appending(self, file: PoolFile) -> Iterator[Callable[[bytes], None]]:
        """Lock a file, read and repaired to its end; gives a function that appends durably."""
        file.prepare()
        with file.writing() as descriptor:
            self.catch_up()
            self._repair(file, descriptor)
            self.set_problem("damage", "")

            def append(data: bytes) -> None:
                file.append(descriptor, data)
                self.catch_up()

            yield append

    def remove(self, files: Sequence[PoolFile], choose: Callable[[], Collection[str]]) -> None:
        """Remove the lines of experiences and their edits for good.

        `choose` is called when the files are locked, so that no line appended meanwhile is lost. With them go
        the lines that aren't JSON: they are in quarantine, unless too long to be there whole. Lines of a
        newer version stay.
        """
        try:
            with contextlib.ExitStack() as stack:
                self.catch_up()
                used = [file for file, stamps in self._listed() if file in files and stamps]
                for file in used:
                    descriptor = stack.enter_context(file.locked())
                    self.catch_up()
                    self._repair(file, descriptor)
                gone = set(choose())
                for file in used if gone else ():
                    for path in file.parts():
                        with file.reading(path) as descriptor, open(descriptor, "rb", closefd=False) as lines:
                            is_about = any(subject_of(line) in gone for line in lines)
                        if is_about:
                            file.rewrite(path, lambda line: subject_of(line) in {None, *gone})
        finally:
            # All files are read again, without the locks.
            self.catch_up()

    def _is_current(self) -> bool:
        """Tell whether no file changed since it was read, by one stat each."""
        return bool(self._known) and all(self._stamp(path) == stamp for path, stamp in self._known.items())

    def _stamp(self, path: str) -> Stamp | None:
        try:
            return stamp_of(self._system.lstat(path))
        except OSError:
            return None

    def _listed(self) -> list[tuple[PoolFile, dict[str, Stamp]]]:
        """Return the parts of each file. A shared one that can't be read has none, and a problem."""
        listing = []
        for file in self.files:
            stamps: dict[str, Stamp] = {}
            if file is self.private or "unreadable" not in self.problems:
                try:
                    stamps = file.parts()
                except OSError as error:
                    self._leave_out(file, error)
            listing.append((file, stamps))
        return listing

    def _leave_out(self, file: PoolFile, error: StateError | OSError) -> None:
        """Leave out a shared file; raise the error for the private one."""
        if isinstance(error, OSError):
            error = file.unusable(f"can't be read: {error.strerror}. Mend that and try again")
        if file is self.private:
            raise error
        self.set_problem("unreadable", str(error))

    def _advance(
        self,
        listing: list[tuple[PoolFile, dict[str, Stamp]]],
        records: Records,
        readings: dict[int, PartReading],
    ) -> bool:
        """Read new lines; false if the files changed in another way, so that all must be read again."""
        parts = ((file, path, stamp) for file, stamps in listing for path, stamp in stamps.items())
        for file, path, listed in parts:
            if listed.inode in readings and readings[listed.inode].stamp == listed:
                continue
            try:
                with file.reading(path) as descriptor:
                    stamp = stamp_of(os.fstat(descriptor))
                    reading = readings.setdefault(stamp.inode, PartReading(stamp))
                    if stamp.inode != listed.inode or not reading.is_continued_by(descriptor, stamp):
                        return False
                    reading.stamp = stamp
                    self._read(descriptor, file, path, reading, records)
            except FileNotFoundError:
                return False
            except (StateError, OSError) as error:
                self._leave_out(file, error)
                return False
        return True

    def _read(
        self, descriptor: int, file: PoolFile, path: str, reading: PartReading, records: Records
    ) -> None:
        """Read the new lines of a file.

        An experience dated in the future was recorded about when the line before it was, or the next one: it
        gets that one's time.
        """

        def add(experience: Experience, at: str) -> None:
            if at != experience.timestamp:
                experience = replace(experience, timestamp=at, dated=experience.timestamp)
            reading.repeated_lines += not records.add(experience, shared=file is not self.private)

        now, undated = self._system.now(), list[Experience]()
        latest = timestamp_of(latest_time(now))
        for line in lines_from(descriptor, reading.offset):
            if path == file.path and not line.complete:
                break  # it is torn, or being written
            reading.lines += 1
            reading.offset += line.size
            try:
                record = read_line(line)
            except BadField as error:
                reading.bad_lines += 1
                reason = f"{error.field} {error}".strip()
                reading.damage.append(Damage(reading.lines, line, reason, os.path.basename(path)))
                continue
            if record is None:
                reading.unknown_lines += bool(line.data.strip())
            elif not isinstance(record, Experience):
                reading.repeated_lines += not records.add(record)
            elif record.timestamp > latest and not reading.latest:
                undated.append(record)
            else:
                reading.latest = reading.latest if record.timestamp > latest else record.timestamp
                for experience in (*undated, record):
                    add(experience, reading.latest)
                undated.clear()
        written = datetime.fromtimestamp(reading.stamp.mtime_ns / 1e9, UTC)
        for experience in undated:
            add(experience, timestamp_of(min(written, now)))
        size = min(reading.offset, _TAIL_BYTES)
        reading.tail = os.pread(descriptor, size, reading.offset - size)

    def _take(
        self,
        records: Records,
        readings: dict[int, PartReading],
        listing: list[tuple[PoolFile, dict[str, Stamp]]],
    ) -> None:
        records.settle()
        former, self.records, self.readings = self.records, records, readings
        if records is former:
            self.generation += records.version != self._version
        else:
            self.generation += any((len(records), len(former), records.deleted, former.deleted))
        self._version = records.version
        paths = {path: readings[at.inode].stamp for _, stamps in listing for path, at in stamps.items()}
        self._known = {file.path: None for file in self.files} | paths

    def _torn(self, file: PoolFile) -> PartReading | None:
        """Return the reading of a file if its last line is torn."""
        stamp = self._known.get(file.path)
        reading = None if stamp is None else self.readings[stamp.inode]
        return None if reading is None or reading.offset >= reading.stamp.size else reading

    def _repair(self, file: PoolFile, descriptor: int) -> None:
        """Copy bad lines into quarantine, and complete or move away a torn last line. Needs the lock."""
        if (reading := self._torn(file)) is not None:
            line = next(lines_from(descriptor, reading.offset))
            if line.size > MAX_LINE_BYTES or _is_whole(line):
                # Only the line break is missing, or the line is too long to move and stays as a bad line.
                file.append(descriptor, b"\n")
            else:
                name = os.path.basename(file.path)
                self.quarantine.keep([Damage(reading.lines + 1, line, "torn: the line has no end", name)])
                file.cut(descriptor, reading.offset)
                self.repaired_tails += 1
            self.catch_up()
        self._quarantine_damage()

    def _quarantine_damage(self) -> None:
        if damage := [line for reading in self.readings.values() for line in reading.damage]:
            self.quarantine.keep(damage)
            for reading in self.readings.values():
                reading.damage.clear()


def _names(listing: list[tuple[PoolFile, dict[str, Stamp]]]) -> list[dict[str, int]]:
    return [{path: stamp.inode for path, stamp in stamps.items()} for _, stamps in listing]


def _is_whole(line: PoolLine) -> bool:
    """Tell whether a line can be read, so that only its line break is missing."""
    try:
        read_line(line)
    except BadField:
        return False
    return True
