"""Owns conversations written as text: Markdown headings or `User:` name who speaks. See docs/transcripts.md.

The first speaker's line decides how the others look, so that a line of what was said, such as `User: a row of
the table`, doesn't change the speaker of a conversation with headings.
"""

from __future__ import annotations

import re

from .entry import Entry
from .injections import printed, said
from .plain import ROLES
from .records import RESULT_CHARACTERS, TEXT_CHARACTERS, cut

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
    return _style_of(_text(data)) is not None


class PlainTextReader:
    """Reads one text. A speaker's words last until the next one; fenced code holds no speakers."""

    def __init__(self) -> None:
        self.unknown = 0
        self.owner = ""
        self.cwd = ""
        self._style: tuple[re.Pattern[str], str] | None = None
        self._fence = ""
        self._who = ""
        self._at = ""
        self._line = 0
        self._parts: list[str] = []
        self._size = 0

    def read(self, line: int, data: bytes) -> list[Entry] | None:
        """Return what was said before a line that names the next speaker."""
        text = _text(data)
        if self._style is None:
            self._style = _style_of(text)
        found = None if self._fence else self._speaker(text)
        if found is None:
            self._mind_fence(text)
            self._add(text)
            return []
        entries = self.finish()
        self._who, self._at, self._line = found["who"].lower(), found["at"] or "", line
        self._add(found.groupdict().get("rest", "").strip())
        return entries

    def finish(self) -> list[Entry]:
        """Return what the last speaker said."""
        kind, text = ROLES.get(self._who), "\n".join(self._parts).strip("\n")
        self._parts, self._size, self._fence, self._who = [], 0, "", ""
        if kind is None:
            return []
        is_output = kind == "result"
        text = cut(printed(text), RESULT_CHARACTERS) if is_output else cut(said(text), TEXT_CHARACTERS)
        return [Entry(kind, self._line, text, self._at)] if text else []

    def _speaker(self, text: str) -> re.Match[str] | None:
        if self._style is None:
            return None
        pattern, mark = self._style
        found = pattern.fullmatch(text)
        return None if found is None or found.groupdict().get("mark", "") != mark else found

    def _mind_fence(self, text: str) -> None:
        """Note where fenced code begins and ends: with as many marks or more, and nothing behind them."""
        found = _FENCE.match(text)
        if found is None:
            return
        if not self._fence:
            self._fence = found[1]
        elif found[1].startswith(self._fence) and not text.strip().strip(found[1][0]):
            self._fence = ""

    def _add(self, text: str) -> None:
        if self._size < _KEPT_CHARACTERS and (text or self._parts):
            self._parts.append(text)
            self._size += len(text) + 1


def _style_of(text: str) -> tuple[re.Pattern[str], str] | None:
    for pattern in _STYLES:
        if found := pattern.fullmatch(text):
            return pattern, found.groupdict().get("mark", "")
    return None


def _text(data: bytes) -> str:
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").rstrip("\r\n")
