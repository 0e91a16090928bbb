"""Owns the table of transcript formats and which of them a file has: its content says so, never its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from ..core.lazy_dataclass import dataclass
from .claude_code import ClaudeCodeReader, is_claude_code
from .codex import CodexReader, is_codex
from .entry import Entry
from .plain import PlainReader, is_plain
from .plain_text import PlainTextReader, is_plain_text
from .records import Record, record_of


class Reader(Protocol):
    """Turns the lines of one transcript into entries. Lines come in their order."""

    unknown: int
    """Records of types that aren't known, or that lack what their type has."""
    owner: str
    """The agent whose conversation it is, where the host gave it an id: subagents have one."""
    cwd: str
    """The folder in which the conversation began, or empty."""

    def read(self, line: int, data: bytes) -> list[Entry] | None:
        """Return what a line adds, which may be what an earlier one began; None for one that is no record."""

    def finish(self) -> list[Entry]:
        """Return what was begun and has no end yet."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the name under which experiences say where they come from, and how to read it."""

    source: str
    reader: Callable[[], Reader]
    has_rewinds: bool = False
    """Whether a person can go back to an earlier prompt, see rewinds.py."""


CLAUDE_CODE = Format("claude-code", ClaudeCodeReader, has_rewinds=True)
CODEX = Format("codex", CodexReader)
PLAIN = Format("plain", PlainReader)
PLAIN_TEXT = Format("plain", PlainTextReader)

_OF_RECORDS: tuple[tuple[Format, Callable[[Record], bool]], ...] = (
    (CLAUDE_CODE, is_claude_code),
    (CODEX, is_codex),
    (PLAIN, is_plain),
)
"""Asked in this order for each record, and the first that knows one reads the file."""


def format_of(head: Iterable[bytes]) -> Format | None:
    """Return the format of a file that begins with these lines; None if it is none of ours."""
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
        for found, recognises in _OF_RECORDS:
            if recognises(record):
                return found
    return None
