"""Reading a transcript: its format, its entries in order, and the cursor for the next reading.

A decision may span the end of a reading, with its failure before and its outcome after it. So the next
reading begins with the prompt of the last turn, if that isn't longer than `REREAD_BYTES`, and known decisions
are dropped. An unchanged file isn't read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain

from .antigravity import AntigravityReader
from .claude_code import ClaudeCodeReader
from .cline import ClineReader
from .codex import CodexReader
from .copilot import CopilotReader
from .cursor import Cursor, digest_before
from .droid import DroidReader
from .entry import Recent, TranscriptEntry, TranscriptReader, record_of
from .gemini import GeminiReader
from .opencode import OpenCodeReader
from .plain import PlainReader, PlainTextReader, is_plain_text
from .qwen_code import QwenCodeReader
from .transcript_file import Line, lines, not_a_transcript, opened

READERS = (
    QwenCodeReader,
    ClaudeCodeReader,
    CodexReader,
    CopilotReader,
    DroidReader,
    GeminiReader,
    OpenCodeReader,
    AntigravityReader,
    PlainReader,
)
"""The readers of records; the first that recognises a record reads the file. Qwen Code's records look like
Claude Code's to that reader."""


def reader_for(head: Iterable[bytes]) -> type[TranscriptReader] | None:
    """Return the reader of a file that begins with these lines, None if its format is unknown."""
    is_first, left = True, iter(head)
    for data in left:
        if not data.strip():
            continue
        if is_first and is_plain_text(data):
            return PlainTextReader
        if is_first and data.strip() == b"{":  # no record begins so
            return ClineReader if ClineReader.begins(chain([data], left)) else None
        # A title may come before the first speaker of a plain text.
        is_first = is_first and data.lstrip(b"\xef\xbb\xbf").startswith(b"# ")
        if (record := record_of(data)) is None:
            continue
        for reader in READERS:
            if reader.recognises(record):
                return reader
    return None


REREAD_BYTES = 4 * 1024 * 1024
"""Maximum bytes read again: a quarter of a second."""
HEAD_LINES = 1_000
HEAD_BYTES = 8 * 1024 * 1024
"""Maximum bytes read to find the format: hosts may begin with some hundred records of their own."""
SKIPPED_TOLD = 50


class TranscriptReading:
    """One reading of a transcript. `cursor`, `skipped` and the counts are valid after `entries` ended."""

    def __init__(
        self,
        descriptor: int,
        reader: TranscriptReader,
        begin: Cursor | None,
        inode: int,
        size: int,
        head: int,
    ) -> None:
        self.reader = reader
        self.skipped: list[tuple[int, str]] = []
        """The first `SKIPPED_TOLD` lines that couldn't be read, and why; `skipped_lines` counts all."""
        self.skipped_lines = 0
        self.torn = False
        """The last line is incomplete: the host is writing it."""
        self.last: TranscriptEntry | None = None
        self._descriptor = descriptor
        self._begin = begin
        self._inode = inode
        self._size = size
        self._head = head
        self._offsets: Recent[int, int] = Recent()
        """Where lines begin, by their number."""
        self._resume = (begin.resume, begin.lines) if begin else (0, 0)
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
        offset, before = self._resume if self._size - self._resume[0] <= REREAD_BYTES else self._whole
        return Cursor(self._inode, self._size, digest_before(self._descriptor, self._size), offset, before)

    def entries(self) -> Iterator[TranscriptEntry]:
        """Yield the entries; only once."""
        if self.is_unchanged:
            self._done = True
            return
        offset, before = self._resume
        self._prime(offset)
        left = list(self.reader.rewinds(lines(self._descriptor, offset, self._size, before)))
        for line in lines(self._descriptor, offset, self._size, before):
            if line.complete:
                self._whole = (line.offset + line.size, line.number)
            else:
                self.torn = line.data is None or not self.reader.ends(line.data)
            if not any(line.number in turn for turn in left):
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

    def _read(self, line: Line) -> list[TranscriptEntry]:
        self._offsets.note(line.number, line.offset)
        if line.data is None:
            self._skip(line, f"{line.size:,} bytes are too long for a record")
            return []
        entries = self.reader.read(line.number, line.data)
        # Empty lines matter in a text only; of an incomplete line the other half is still to come.
        if entries is None and line.complete and line.data.strip():
            self._skip(line, "it is no JSON object")
        return entries or []

    def _skip(self, line: Line, reason: str) -> None:
        self.skipped_lines += 1
        if len(self.skipped) < SKIPPED_TOLD:
            self.skipped.append((line.number, reason))

    def _noted(self, entries: list[TranscriptEntry]) -> Iterator[TranscriptEntry]:
        """Yield entries and record the prompts from which a later reading may begin."""
        for entry in entries:
            self.last = entry
            offset = self._offsets.get(entry.line)
            if offset is not None and entry.kind == "user" and not entry.sidechain:
                self._resume = (offset, entry.line - 1)
            yield entry


@contextmanager
def read(path: str, cursor: Cursor | None = None) -> Iterator[TranscriptReading]:
    """Open a transcript of any known format, from a cursor if it is still the same file.

    Memory is bounded by the longest record that is read, 4 MiB. Raises `InvalidRequest` for the field
    `transcript_path` if the file can't be read, see transcript_file.py, or isn't a transcript.
    """
    with opened(path) as (descriptor, status):
        end = 0

        def head() -> Iterator[bytes]:
            nonlocal end
            for line in lines(descriptor, 0, min(status.st_size, HEAD_BYTES)):
                end = line.offset + line.size
                if line.data is not None:
                    yield line.data
                if line.number == HEAD_LINES:
                    return

        if (reader := reader_for(head())) is None:
            raise not_a_transcript(path)
        begin = cursor if cursor is not None and cursor.holds(descriptor, status) else None
        yield TranscriptReading(descriptor, reader(), begin, status.st_ino, status.st_size, end)
