"""The private file of a pool and the one in the repository: read into records, repaired, appended to.

Reading takes no lock: a file that is renamed or replaced meanwhile is noticed and read again. What this
process appends goes right into the records; any other change has all files read anew.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import Busy, InvalidRequest, StateError
from ..core.system import Stamp, System, latest_time, stamp_of
from ..core.times import timestamp_of
from .edits import Edit
from .experience import Experience
from .lines import (
    MAX_LINE_BYTES,
    PoolLine,
    Quarantine,
    Quarantined,
    line_of,
    lines_from,
    quarantined,
    read_line,
)
from .pool_file import PoolFile
from .pool_records import Records
from .shared_pool import guard_of, shared_problem

_ATTEMPTS = 100
"""Maximum attempts to read files that are renamed or replaced meanwhile."""


class PoolContent(Struct):
    """What a pool's files held when they were read, with counts of lines."""

    records: Records = field(default_factory=Records)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)
    """The parts that were read by path, and None for a file that wasn't there."""
    bad_lines: int = 0
    unknown_lines: int = 0
    repeated_lines: int = 0
    damage: list[Quarantined] = field(default_factory=list)
    """Bad lines that aren't in quarantine yet."""
    torn: set[str] = field(default_factory=set)
    """The files whose last line has no end."""


class PoolStore:
    """The files of a pool: the one at `path`, and one in the repository at `root`, if any.

    Blocks; thread-safe for who holds `lock`, as all pools of a repository do that read the same files. Raises
    as `PoolFile` does, for what is shared only when it is written to.
    """

    def __init__(
        self, path: str, system: System, root: str, write: Callable[[int, bytes], int], rotate_bytes: int
    ) -> None:
        self.lock = threading.RLock()
        self.private = PoolFile(path, system, write, rotate_bytes=rotate_bytes)
        self.files = [self.private]
        self.quarantine = Quarantine(f"{path}.quarantine", system, write)
        self.content = PoolContent()
        self.generation = 0
        """A number that changes whenever the records do."""
        self.repaired_tails = 0
        self.shared = ""
        """The path of the shared file, relative to the root, empty if none is used."""
        self.problems: dict[str, str] = {}
        """The problems, in sentences, by what they are of."""
        self._system = system
        self._root = root
        self._write = write
        self._rotate_bytes = rotate_bytes

    @property
    def records(self) -> Records:
        """The experiences of all files."""
        return self.content.records

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
        self.content.stamps = {}
        self.refresh()

    def refresh(self) -> None:
        """Read changes and repair damage. Without changes it takes one stat for each file."""
        self.catch_up()
        try:
            for file in self.files:
                if file.path in self.content.torn:
                    # Another process may be writing the torn last line: under its lock it is whole.
                    with file.locked() as descriptor:
                        self._repair(file, descriptor)
            self._quarantine_damage()
        except (StateError, Busy) as error:
            self.set_problem("damage", str(error))
        else:
            self.set_problem("damage", "")

    def catch_up(self) -> None:
        """Read all files anew if any of them changed. Raises `Busy` if they change all the time."""
        if self._is_current() and "unreadable" not in self.problems:
            return
        self.set_problem("unreadable", "")
        for _ in range(_ATTEMPTS):
            if (content := self._read_all()) is not None:
                self.generation += content.stamps != self.content.stamps
                self.content = content
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
    def appending(self, file: PoolFile) -> Iterator[Callable[[Sequence[Experience | Edit]], None]]:
        """Lock a file, read and repaired to its end; gives a function that appends durably."""
        file.prepare()
        with file.writing() as descriptor:
            self._repair(file, descriptor)
            self.set_problem("damage", "")

            def append(records: Sequence[Experience | Edit]) -> None:
                data = b"".join(map(line_of, records))
                before = os.fstat(descriptor).st_size
                file.append(descriptor, data)
                stamp = stamp_of(os.fstat(descriptor))
                if not self._is_current(but=file.path) or stamp.size != before + len(data):
                    self.catch_up()
                    return
                self.content.stamps[file.path] = stamp
                for record in records:
                    self.records.add(record, shared=file is not self.private)
                self.generation += self.records.settle()

            yield append

    def add_lines(self, lines: Iterable[tuple[bytes, Experience | Edit | None]]) -> int:
        """Append lines of another pool to the private file, those that it lacks, with what they hold; durable
        on return. Returns the number of new experiences."""
        with self.lock, self.private.writing() as descriptor:
            self._repair(self.private, descriptor)
            there = set[bytes]()
            for path in self.private.parts():
                with self.private.reading(path) as part:
                    there.update(line.data for line in lines_from(part, 0) if line.size <= MAX_LINE_BYTES)
            new = [
                (data, record)
                for data, record in lines
                if data not in there and (record is None or not self.records.knows(record))
            ]
            self.private.append(descriptor, b"".join(data for data, _ in new))
            self.catch_up()
            return len({record.id for _, record in new if isinstance(record, Experience)})

    def remove(self, files: Sequence[PoolFile], choose: Callable[[], Collection[str]]) -> None:
        """Remove the lines of experiences and their edits for good.

        `choose` is called when the files are locked, so that no line appended meanwhile is lost. With them go
        the lines that can't be read: they are in quarantine. Lines of a newer version stay.
        """
        try:
            with contextlib.ExitStack() as stack:
                used = [file for file in files if file.parts()]
                for file in used:
                    self._repair(file, stack.enter_context(file.locked()))
                gone = set(choose())
                for file in used if gone else ():
                    for path in file.parts():
                        with file.reading(path) as descriptor:
                            subjects = [_subject_of(line) for line in lines_from(descriptor, 0)]
                        if not gone.isdisjoint(subjects):
                            goes = {None, *gone}
                            file.rewrite(path, [subject not in goes for subject in subjects])
        finally:
            # All files are read again, without the locks.
            self.catch_up()

    def _is_current(self, but: str = "") -> bool:
        """Tell whether no file changed since it was read, by one stat each; `but` isn't looked at."""
        stamps = self.content.stamps
        return bool(stamps) and all(self._stamp(path) == stamps[path] for path in stamps if path != but)

    def _stamp(self, path: str) -> Stamp | None:
        try:
            return stamp_of(self._system.lstat(path))
        except OSError:
            return None

    def _read_all(self) -> PoolContent | None:
        """Read all files; None if one was renamed, replaced or made unreadable meanwhile."""
        content = PoolContent(stamps={file.path: self._stamp(file.path) for file in self.files})
        for file in self.files:
            if file is not self.private and "unreadable" in self.problems:
                continue
            try:
                parts = file.parts()
                for path, listed in parts.items():
                    with file.reading(path) as descriptor:
                        stamp = content.stamps[path] = stamp_of(os.fstat(descriptor))
                        if stamp.inode != listed.inode:
                            return None
                        self._read(descriptor, file, path, stamp, content)
                if _inodes(file.parts()) != _inodes(parts):
                    return None
            except FileNotFoundError:
                return None
            except (StateError, OSError) as error:
                self._leave_out(file, error)
                return None
        content.records.settle()
        return content

    def _leave_out(self, file: PoolFile, error: StateError | OSError) -> None:
        """Leave out a shared file; raise the error for the private one."""
        if isinstance(error, OSError):
            error = file.unusable(f"can't be read: {error.strerror}. Mend that and try again")
        if file is self.private:
            raise error
        self.set_problem("unreadable", str(error))

    def _read(self, descriptor: int, file: PoolFile, path: str, stamp: Stamp, content: PoolContent) -> None:
        """Read the lines of a part. An experience from the future, as by a wrong clock, gets the time
        of the line before it, the first of all the time at which the part was written."""
        now = self._system.now()
        last = timestamp_of(min(datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC), now))
        latest = timestamp_of(latest_time(now))
        for number, line in enumerate(lines_from(descriptor, 0), 1):
            if path == file.path and not line.complete:
                content.torn.add(path)  # or it is being written
                return
            try:
                record = read_line(line)
            except InvalidRequest as error:
                content.bad_lines += 1
                content.damage.append(quarantined(number, line, str(error), os.path.basename(path), now))
                continue
            if record is None:
                content.unknown_lines += bool(line.data.strip())
                continue
            if isinstance(record, Experience):
                record = replace(record, timestamp=last) if record.timestamp > latest else record
                last = record.timestamp
            is_new = content.records.add(record, shared=file is not self.private)
            content.repeated_lines += not is_new

    def _repair(self, file: PoolFile, descriptor: int) -> None:
        """Read a locked file to its end, end a torn last line, and copy bad lines into quarantine."""
        self.catch_up()
        if file.path in self.content.torn:
            file.append(descriptor, b"\n")
            self.repaired_tails += 1
            self.catch_up()
        self._quarantine_damage()

    def _quarantine_damage(self) -> None:
        if self.content.damage:
            self.quarantine.keep(self.content.damage)
            self.content.damage = []


def _inodes(parts: Mapping[str, Stamp]) -> dict[str, int]:
    return {path: stamp.inode for path, stamp in parts.items()}


def _subject_of(line: PoolLine) -> str | None:
    """Return the id of the experience that a line holds or edits, empty for one of a newer version and for
    one so long that quarantine has only its beginning; None for another line that can't be read."""
    if line.size > MAX_LINE_BYTES:
        return ""
    try:
        record = read_line(line)
    except InvalidRequest:
        return None
    return "" if record is None else record.of if isinstance(record, Edit) else record.id
