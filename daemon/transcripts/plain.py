"""The plain format of transcripts: a JSON object in each line, or text whose headings or labels name the
speaker.

See docs/transcripts.md.
"""

from __future__ import annotations

import re

from .entry import (
    RESULT_CHARACTERS,
    TEXT_CHARACTERS,
    TOOLS,
    Call,
    EntryKind,
    Record,
    Tool,
    TranscriptEntry,
    TranscriptReader,
    cut,
    map_at,
    parts_at,
    text_at,
    texts_at,
)
from .injections import printed, said

ROLES: dict[str, EntryKind] = {
    "user": "user",
    "human": "user",
    "assistant": "agent",
    "agent": "agent",
    "report": "handback",
    "summary": "boundary",
    "tool": "result",
}
"""The names of speakers, in records and in plain text. Others, such as `system`, are skipped."""


class PlainReader(TranscriptReader):
    """Reads a transcript of JSON records, each independent of the others."""

    source = "plain"

    @staticmethod
    def recognises(record: Record) -> bool:
        """Whether a record is one of the plain format."""
        is_known = text_at(record, "role") in {*ROLES, "system", "developer"}
        return is_known and (
            isinstance(record.get("content"), str | list) or isinstance(record.get("tool"), dict)
        )

    def entries_of(self, line: int, record: Record) -> list[TranscriptEntry]:
        """Return the entries of a record."""
        role = text_at(record, "role")
        kind = ROLES.get(role)
        if kind is None:
            return []
        at, agent_id = text_at(record, "at", "timestamp"), text_at(record, "agent_id")
        blank = TranscriptEntry(
            kind, line, at=at, agent_id=agent_id, session_id=text_at(record, "session_id")
        )
        content = "\n".join(parts_at(record, "content"))
        if kind != "result":
            return blank.message(kind, said(content))
        fields = map_at(record, "tool")
        name, command = text_at(fields, "name"), text_at(fields, "command")
        tool: Tool = TOOLS.get(name.lower(), "run" if command else "other")
        call, failed = Call(tool, texts_at(fields, "paths"), command), fields.get("failed") is True
        return self.ended_call(blank, name, "", call, content, failed=failed)


_SPEAKERS = "|".join(ROLES)
_TIME = r"(?:[ \t]*\((?P<at>\d{4}-\d\d-\d\d[^)\n]{0,40})\))?"
_HEADING = re.compile(rf"(?i)(?P<mark>#{{1,6}})[ \t]+(?P<who>{_SPEAKERS}){_TIME}[ \t]*:?[ \t]*")
_BOLD = re.compile(rf"(?i)\*\*(?P<who>{_SPEAKERS})(?::\*\*|\*\*:){_TIME}(?P<rest>.*)")
_COLON = re.compile(rf"(?P<who>{'|'.join(role.capitalize() for role in ROLES)}){_TIME}:(?P<rest>\s.*|)")
_STYLES = (_HEADING, _BOLD, _COLON)
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_KEPT_CHARACTERS = 2 * TEXT_CHARACTERS


def is_plain_text(data: bytes) -> bool:
    """Whether a file's first line names a speaker."""
    return _style_of(_decoded(data)) is not None


class PlainTextReader(TranscriptReader):
    """Reads a plain text. A speaker's words last until the next speaker; fenced code holds no speakers."""

    source = "plain"

    def __init__(self) -> None:
        super().__init__()
        self._style: tuple[re.Pattern[str], str] | None = None
        self._fence = ""
        self._who = ""
        self._at = ""
        self._line = 0
        self._parts: list[str] = []
        self._size = 0

    def read(self, line: int, data: bytes) -> list[TranscriptEntry] | None:
        """Return the last speaker's words before a line that names the next speaker."""
        text = _decoded(data)
        if self._style is None:
            self._style = _style_of(text)
        found = None if self._fence else self._speaker(text)
        if found is None:
            if fence := _FENCE.match(text):  # it closes with the same marks
                self._fence = "" if self._fence == fence[1] else self._fence or fence[1]
            self._add(text)
            return []
        entries = self.finish()
        self._who, self._at, self._line = found["who"].lower(), found["at"] or "", line
        self._add(found.groupdict().get("rest", "").strip())
        return entries

    def finish(self) -> list[TranscriptEntry]:
        """Return the last speaker's words."""
        kind, text = ROLES.get(self._who), "\n".join(self._parts).strip("\n")
        self._parts, self._size, self._fence, self._who = [], 0, "", ""
        if kind is None:
            return []
        is_output = kind == "result"
        text = cut(printed(text), RESULT_CHARACTERS) if is_output else cut(said(text), TEXT_CHARACTERS)
        return [TranscriptEntry(kind, self._line, text, self._at)] if text else []

    def _speaker(self, text: str) -> re.Match[str] | None:
        if self._style is None:
            return None
        pattern, mark = self._style
        found = pattern.fullmatch(text)
        return None if found is None or found.groupdict().get("mark", "") != mark else found

    def _add(self, text: str) -> None:
        if self._size < _KEPT_CHARACTERS and (text or self._parts):
            self._parts.append(text)
            self._size += len(text) + 1


def _style_of(text: str) -> tuple[re.Pattern[str], str] | None:
    for pattern in _STYLES:
        if found := pattern.fullmatch(text):
            return pattern, found.groupdict().get("mark", "")
    return None


def _decoded(data: bytes) -> str:
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").rstrip("\r\n")
