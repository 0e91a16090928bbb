"""Reading a transcript: its format, its entries in order, and the cursor for the next reading.

A decision may span the end of a reading, with its failure before and its outcome after it. So the next
reading begins with the prompt of the last turn, and known decisions are dropped. Of a turn longer than
`REREAD_BYTES` only the last part is read again, from the agent's words on. An unchanged file isn't read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from .claude_code import ClaudeCodeReader, claude_rewinds, is_claude_code
from .codex import CodexReader, is_codex
from .copilot import CopilotReader, is_copilot
from .cursor import Cursor, digest_before
from .entry import Entry, Record, TranscriptReader, record_of
from .gemini import GeminiReader, gemini_rewinds, is_gemini
from .opencode import OpenCodeReader, is_opencode
from .plain import PlainReader, PlainTextReader, is_plain, is_plain_text
from .transcript_file import Line, lines, not_a_transcript, opened


class Format(Struct, frozen=True):
    """A format: its name in the provenance of experiences, its reader, and its test of a record."""

    source: str
    reader: Callable[[], TranscriptReader]
    recognises: Callable[[Record], bool]
    rewinds: Callable[[Iterable[Line]], Iterator[tuple[int, int]]] | None = None
    """Finds the lines abandoned when a person went back to an earlier prompt: first line, and the line after
    the last."""


FORMATS = (
    Format("claude-code", ClaudeCodeReader, is_claude_code, claude_rewinds),
    Format("codex", CodexReader, is_codex),
    Format("copilot", CopilotReader, is_copilot),
    Format("gemini", GeminiReader, is_gemini, gemini_rewinds),
    Format("opencode", OpenCodeReader, is_opencode),
    Format("plain", PlainReader, is_plain),
)
"""The formats of records; the first that recognises a record reads the file."""
PLAIN_TEXT = Format("plain", PlainTextReader, lambda record: False)


def format_of(head: Iterable[bytes]) -> Format | None:
    """Return the format of a file that begins with these lines, None if it is unknown."""
    is_first = True
    for data in head:
        if not data.strip():
            continue
        if is_first and is_plain_text(data):
            return PLAIN_TEXT
        # A title may come before the first speaker of a plain text.
        is_first = is_first and data.lstrip(b"\xef\xbb\xbf").startswith(b"# ")
        if (record := record_of(data)) is None:
            continue
        for found in FORMATS:
            if found.recognises(record):
                return found
    return None


REREAD_BYTES = 4 * 1024 * 1024
"""Maximum bytes read again: a quarter of a second, and more than an agent writes between two remarks."""
_CHECKPOINT_BYTES = REREAD_BYTES // 8
HEAD_LINES = 1_000
HEAD_BYTES = 8 * 1024 * 1024
"""Maximum bytes read to find the format: hosts may begin with some hundred records of their own."""
_OFFSETS_KEPT = 10_000
"""Maximum number of lines by which an entry may be delayed, such as a long prompt in a plain text."""
SKIPPED_TOLD = 50


class LeftTurns:
    """The lines abandoned by rewinds, as ranges that neither overlap nor touch."""

    def __init__(self, rewinds: Iterable[tuple[int, int]]) -> None:
        ranges: list[tuple[int, int]] = []
        for begin, end in rewinds:
            start = begin
            while ranges and ranges[-1][0] >= start:
                ranges.pop()  # a rewind to before another rewind
            if ranges and ranges[-1][1] >= start:
                start = ranges.pop()[0]
            ranges.append((start, end))
        self._starts = [start for start, _ in ranges]
        self._ends = [end for _, end in ranges]

    def has(self, number: int) -> bool:
        """Whether a line belongs to an abandoned turn."""
        place = bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]


class TranscriptReading:
    """One reading of a transcript. `cursor`, `skipped` and the counts are valid after `entries` ended."""

    def __init__(
        self, descriptor: int, found: Format, begin: Cursor | None, inode: int, size: int, head: int
    ) -> None:
        self.source = found.source
        """The format's name, for the provenance of findings."""
        self.reader = found.reader()
        self.skipped: list[tuple[int, str]] = []
        """The first `SKIPPED_TOLD` lines that couldn't be read, and why; `skipped_lines` counts all."""
        self.skipped_lines = 0
        self.torn = False
        """The last line is incomplete: the host is writing it."""
        self.last: Entry | None = None
        self._descriptor = descriptor
        self._format = found
        self._begin = begin
        self._inode = inode
        self._size = size
        self._head = head
        self._offsets: OrderedDict[int, int] = OrderedDict()
        self._resume = (begin.resume, begin.lines) if begin else (0, 0)
        self._checkpoints: deque[tuple[int, int]] = deque(maxlen=2 * REREAD_BYTES // _CHECKPOINT_BYTES)
        self._whole = self._resume
        """The offset after the last complete line."""
        self._done = False

    @property
    def is_unchanged(self) -> bool:
        """Whether the file holds nothing new since the cursor's reading."""
        return self._begin is not None and self._begin.size == self._size

    @property
    def is_finished(self) -> bool:
        """Whether the agent had the last word; otherwise its host may still write."""
        if self.is_unchanged and self.last is None:
            return True
        return not self.torn and self.last is not None and self.last.kind in {"agent", "handback"}

    @property
    def cursor(self) -> Cursor:
        """The cursor of the next reading, valid once all entries were taken."""
        if self.is_unchanged and self._begin is not None:
            return self._begin
        assert self._done, "the cursor is known when all entries were taken"
        offset, before = self._resume
        if self._size - offset > REREAD_BYTES:
            late = [place for place in self._checkpoints if self._size - place[0] <= REREAD_BYTES]
            offset, before = late[0] if late else self._whole
        return Cursor(self._inode, self._size, digest_before(self._descriptor, self._size), offset, before)

    def entries(self) -> Iterator[Entry]:
        """Yield the entries; only once."""
        if self.is_unchanged:
            self._done = True
            return
        offset, before = self._resume
        self._prime(offset)
        left = self._left_turns(offset, before)
        for line in lines(self._descriptor, offset, self._size, before):
            if line.complete:
                self._whole = (line.offset + line.size, line.number)
            else:
                self.torn = True
            if left.has(line.number):
                continue
            yield from self._noted(self._read(line))
        yield from self._noted(self.reader.finish())
        self._done = True

    def _prime(self, offset: int) -> None:
        """Feed the reader the first lines, if a reading begins in the middle of a file."""
        if not offset:
            return
        for line in lines(self._descriptor, 0, min(offset, self._head)):
            if line.data is not None and line.complete:
                self.reader.read(line.number, line.data)
        self.reader.finish()
        self.reader.unknown = 0

    def _left_turns(self, offset: int, before: int) -> LeftTurns:
        if self._format.rewinds is None:
            return LeftTurns(())
        return LeftTurns(self._format.rewinds(lines(self._descriptor, offset, self._size, before)))

    def _read(self, line: Line) -> list[Entry]:
        self._offsets[line.number] = line.offset
        if len(self._offsets) > _OFFSETS_KEPT:
            self._offsets.popitem(last=False)
        if line.data is None:
            self._skip(line, f"{line.size:,} bytes are too long for a record")
            return []
        if not line.data.strip():
            # Empty lines matter in a text, not between records.
            self.reader.read(line.number, line.data)
            return []
        entries = self.reader.read(line.number, line.data)
        if entries is None:
            if line.complete:  # otherwise its other half is still to come
                self._skip(line, "it is no JSON object")
            return []
        return entries

    def _skip(self, line: Line, reason: str) -> None:
        self.skipped_lines += 1
        if len(self.skipped) < SKIPPED_TOLD:
            self.skipped.append((line.number, reason))

    def _noted(self, entries: list[Entry]) -> Iterator[Entry]:
        """Yield entries and record the positions from which a later reading may begin."""
        for entry in entries:
            self.last = entry
            offset = self._offsets.get(entry.line)
            if offset is not None and not entry.sidechain:
                place = (offset, entry.line - 1)
                if entry.kind == "user":
                    self._resume = place
                elif entry.kind == "agent" and self._is_apart(offset):
                    self._checkpoints.append(place)
            yield entry

    def _is_apart(self, offset: int) -> bool:
        return not self._checkpoints or offset - self._checkpoints[-1][0] >= _CHECKPOINT_BYTES


@contextmanager
def read(path: str, cursor: Cursor | None = None) -> Iterator[TranscriptReading]:
    """Open a transcript of any known format, from a cursor if it is still the same file.

    Memory is bounded by the longest record that is read, 4 MiB. Raises `InvalidRequest` for the field
    `transcript_path` if the file can't be read, see transcript_file.py, or isn't a transcript.
    """
    with opened(path) as (descriptor, status):
        head = _Head(descriptor, status.st_size)
        found = format_of(head)
        if found is None:
            raise not_a_transcript(path)
        begin = cursor if cursor is not None and cursor.holds(descriptor, status) else None
        yield TranscriptReading(descriptor, found, begin, status.st_ino, status.st_size, head.end)


class _Head:
    """The first lines of a file, and the offset up to which they were read."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.end = 0
        self._descriptor = descriptor
        self._size = min(size, HEAD_BYTES)

    def __iter__(self) -> Iterator[bytes]:
        for line in lines(self._descriptor, 0, self._size):
            self.end = line.offset + line.size
            if line.data is not None:
                yield line.data
            if line.number == HEAD_LINES:
                return
