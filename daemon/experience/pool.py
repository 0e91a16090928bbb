"""Owns a project's experiences in memory and what they are asked for; knows no tree and no file system.

The file is the only truth and is only appended to, so that a field which this version doesn't know stays
where it is. It can be mended with a text editor.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from ..errors import Busy, InvalidRequest, StateError
from ..system import System, stamp_of
from .draft import BadField, Draft, checked, normal_timestamp
from .experience import Experience, identity_of, timestamp_of
from .lines import MAX_LINE_BYTES, Damage, Line, Reading, is_whole, line_of, lines_from, read_line, torn_line
from .pool_file import PoolFile
from .relevance import ASKED_CHARACTERS, Index, contains, keys_of, words_of


@dataclass(frozen=True, slots=True)
class GraftResult:
    """What became of a batch: counts, the new ids in the order of their drafts, and what was left out.

    `skipped` and `warnings` are pairs of a draft's index and a sentence; a draft with a warning was grafted.
    """

    grafted: int
    duplicates: int
    skipped: tuple[tuple[int, str], ...]
    ids: tuple[str, ...]
    warnings: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """Sizes in bytes, the rest counts.

    `bad_lines` lie in the file and are skipped, `unknown_lines` are of a newer version, `repeated_lines` have
    the id of an earlier one; `repaired_tails` counts torn last lines moved away since the pool was opened.
    `problem` says why damage could not be put into quarantine yet, empty when all is well.
    """

    experiences: int
    size_bytes: int
    bad_lines: int
    unknown_lines: int
    repeated_lines: int
    repaired_tails: int
    generation: int
    problem: str


class Pool:
    """The experiences of one project.

    `path` is the JSONL file; its folder must exist, the file is created by the first graft. `root` is the
    project's root, by which absolute paths are made relative. Damage found on opening is repaired then.
    `graft` and `refresh` block (a lock of other processes for at most 10 s, the disk) and belong into a
    thread of their own; `list`, `relevant` and `statistics` only wait for memory. All are thread-safe.

    Raises `StateError` for a file that is a symlink, not a regular file, someone else's, or unreadable.
    """

    def __init__(
        self,
        path: str,
        system: System,
        *,
        root: str = "",
        new_id: Callable[[], str] = lambda: f"x_{secrets.token_hex(8)}",
        write: Callable[[int, bytes], int] = os.write,
    ) -> None:
        self._file = PoolFile(path, system, write)
        self._system = system
        self._root = root
        self._new_id = new_id
        self._writing = threading.Lock()
        self._memory = threading.Lock()
        self._index = Index()
        self._reading = Reading()
        self._generation = 0
        self._shown = 0
        self._repaired_tails = 0
        self._problem = ""
        self.refresh()

    @property
    def generation(self) -> int:
        """A number that is different whenever `list` or `relevant` may answer differently."""
        return self._generation

    def graft(self, drafts: Sequence[Draft]) -> GraftResult:
        """Append what is valid and new, in one write; on return it is on the disk.

        A draft is a duplicate if the pool or the batch has the same decision, spaces aside, by the same agent
        in the same session. Files outside the root are left out with a warning.

        Raises `StateError` if the disk refused it, and then the file is as it was before; `Busy` if another
        process kept the file locked.
        """
        skipped: list[tuple[int, str]] = []
        warnings: list[tuple[int, str]] = []
        valid: list[Experience] = []
        now = timestamp_of(self._system.now())
        for number, draft in enumerate(drafts):
            try:
                experience, dropped = checked(draft, now, self._root)
            except BadField as error:
                skipped.append((number, f"{error.field} {error}"))
                continue
            valid.append(experience)
            if dropped:
                warnings.append(
                    (number, f"{dropped} of its files were left out: outside the project, or too many")
                )
        new = self._store(valid) if valid else ()
        ids = tuple(experience.id for experience in new)
        return GraftResult(len(ids), len(valid) - len(ids), tuple(skipped), ids, tuple(warnings))

    def refresh(self) -> bool:
        """Take up what other processes or an editor changed, and say whether anything did; one stat if not.

        Raises as the constructor does. Damage that can't be repaired now (a full disk) is named in the
        statistics, not raised: the pool stays readable, and nothing is lost.
        """
        with self._writing:
            before = self._generation
            try:
                if self._reading.stamp == self._file.stamp() and not self._problem:
                    return False
                with self._file.reading() as descriptor:
                    self._catch_up(descriptor)
            except FileNotFoundError:
                self._replace(Index(), Reading())
            except OSError as error:
                raise self._file.unusable(
                    f"can't be read: {error.strerror}. Mend that and try again"
                ) from error
            self._problem = self._try_to_repair()
            return self._generation != before

    def list(
        self,
        *,
        agent_id: str | None = None,
        session_id: str | None = None,
        outcome: str | None = None,
        since: str | None = None,
        query: str | None = None,
        limit: int | None = None,
    ) -> tuple[tuple[Experience, ...], int]:
        """Return the matching experiences, newest first and at most `limit`, and how many match in all.

        `since` is ISO 8601 and inclusive. Each word of `query` must occur, whatever its case, in the
        decision, the rationale or the files. Raises `InvalidRequest` for a `since` that is no time.
        """
        try:
            start = normal_timestamp(since) if since else ""
        except BadField as error:
            raise InvalidRequest(f"since {error}.", "since") from error
        words = (query or "").casefold().split()
        with self._memory:
            newest_first = [self._index.experiences[place] for _, place in reversed(self._index.order)]
        found = [
            experience
            for experience in newest_first
            if (agent_id is None or experience.agent_id == agent_id)
            and (session_id is None or experience.session_id == session_id)
            and (outcome is None or experience.outcome == outcome)
            and experience.timestamp >= start
            and (not words or contains(experience, words))
        ]
        return tuple(found if limit is None else found[: max(limit, 0)]), len(found)

    def relevant(
        self, focus: Collection[str], neighbours: Collection[str], words: Collection[str], limit: int = 5
    ) -> tuple[Experience, ...]:
        """Return the experiences that matter most to a focus, newest first.

        `focus` are paths of files and folders, `neighbours` those of the files that import them or that they
        import, `words` any words or texts. They rank, first to last:

        1. those that touched a file of the focus, or one in a folder of it;
        2. those that touched a neighbour, or a file in the same folder as one of the focus;
        3. those that share words with `words`;
        4. the rest.

        Within a rank more shared words (three count as many) come first, then failures and reverts, then the
        newer one; within the last rank only the newer one. Time counts by order, never by the clock, so that
        the same pool gives the same answer tomorrow. Of a rank, file, folder or word with more than 1,000
        experiences the last 1,000 in the file are looked at, which bounds the time.
        """
        wanted = words_of(" ".join(words)[:ASKED_CHARACTERS])
        with self._memory:
            places = self._index.relevant(focus, neighbours, wanted, limit)
            return tuple(self._index.experiences[place] for place in places)

    def statistics(self) -> PoolStatistics:
        """Return the pool's figures."""
        with self._memory:
            return PoolStatistics(
                len(self._index.experiences),
                self._reading.stamp.size if self._reading.stamp else 0,
                self._reading.bad_lines,
                self._reading.unknown_lines,
                self._reading.repeated_lines,
                self._repaired_tails,
                self._generation,
                self._problem,
            )

    # --- Writing ---

    def _store(self, valid: Sequence[Experience]) -> tuple[Experience, ...]:
        """Append those that are new and return them with their ids."""
        with self._writing, self._file.locked() as descriptor:
            self._catch_up(descriptor)
            self._repair(descriptor)
            self._problem = ""
            new: dict[bytes, Experience] = {}
            for experience in valid:
                identity = identity_of(experience)
                if identity not in new and identity not in self._index.identities:
                    new[identity] = replace(experience, id=self._new_id())
            # Also when all were duplicates: who wrote them may have died before its own fsync.
            self._file.append(descriptor, b"".join(map(line_of, new.values())))
            self._catch_up(descriptor)
            return tuple(new.values())

    # --- Reading ---

    def _catch_up(self, descriptor: int) -> None:
        """Read what was appended since the last time, or everything if the file isn't the same any more."""
        stamp = stamp_of(os.fstat(descriptor))
        index, reading = self._index, replace(self._reading, damage=list(self._reading.damage))
        if stamp == reading.stamp and not reading.torn:
            return
        if not reading.is_continued_by(descriptor, stamp):
            index, reading = Index(), Reading()
            self._file.forget_folder()
        reading.stamp, reading.torn = stamp, False
        for line in lines_from(descriptor, reading.offset):
            if not line.complete:
                reading.torn = True
                break
            self._take(line, index, reading)
        reading.remember_tail(descriptor)
        self._replace(index, reading)

    def _take(self, line: Line, index: Index, reading: Reading) -> None:
        """Add one line to the index, or to the damage."""
        reading.lines += 1
        try:
            experience = read_line(line)
        except BadField as error:
            reading.bad_lines += 1
            reading.damage.append(Damage(reading.lines, line, f"{error.field} {error}".strip()))
        else:
            if experience is None:
                reading.unknown_lines += bool(line.data.strip())
            elif experience.id in index.ids:
                reading.repeated_lines += 1
            else:
                keys = keys_of(experience)
                with self._memory:
                    index.add(experience, keys)
        reading.offset = line.offset + line.size

    def _replace(self, index: Index, reading: Reading) -> None:
        """Show readers what was read."""
        with self._memory:
            if index is not self._index:
                changed = bool(index.experiences or self._index.experiences)
            else:
                changed = len(index.experiences) != self._shown
            self._index, self._reading, self._shown = index, reading, len(index.experiences)
            self._generation += changed

    # --- Repairing ---

    def _try_to_repair(self) -> str:
        """Repair what the last reading found; return why it could not be done, empty if it was."""
        if not self._reading.torn and not self._reading.damage:
            return ""
        try:
            # A torn last line may be a line that another process is writing: under its lock it is whole.
            with self._file.locked() as descriptor:
                self._catch_up(descriptor)
                self._repair(descriptor)
        except (StateError, Busy) as error:
            return str(error)
        return ""

    def _repair(self, descriptor: int) -> None:
        """Copy bad lines to the quarantine file and end or move away a torn last one. Needs the lock."""
        reading = self._reading
        if reading.torn:
            line = torn_line(descriptor, reading.offset)
            if line.size > MAX_LINE_BYTES or is_whole(line):
                # Only the line break is missing, or it is too long to be moved: then it stays as a bad line.
                self._file.append(descriptor, b"\n")
            else:
                self._file.quarantine([Damage(reading.lines + 1, line, "torn: the line has no end")])
                self._file.cut(descriptor, reading.offset)
                self._repaired_tails += 1
            self._catch_up(descriptor)
        if self._reading.damage:
            self._file.quarantine(self._reading.damage)
            self._reading.damage = []
