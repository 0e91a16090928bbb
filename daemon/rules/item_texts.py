"""Owns what a text in a session may hold, since it is shown to agents and people; knows no session."""

from __future__ import annotations

import re

from ..core.errors import InvalidRequest


def has_harmful(text: str) -> bool:
    """Whether a text holds characters that fake or hide text: control characters but the line feed and tab,
    other line breaks, those that reorder a line, and halves of surrogate pairs.
    """
    return not text.isprintable() and _HARMFUL.search(text) is not None


def one_line(field: str, text: str, maximum: int) -> str:
    """Return a text as one line, each run of spaces as one. Raises `InvalidRequest` above `maximum`."""
    return _limited(field, " ".join(_cleaned(text).split()), maximum)


def some_lines(field: str, text: str, maximum: int) -> str:
    """Return a text that may have lines, stripped. Raises `InvalidRequest` above `maximum` characters."""
    lines = (line.rstrip() for line in _cleaned(text).split("\n"))
    return _limited(field, "\n".join(lines).strip(), maximum)


_HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def _cleaned(text: str) -> str:
    """Replace harmful characters by U+FFFD and every kind of line break by a line feed."""
    if text.isprintable():  # the usual case; nothing that is replaced is printable
        return text
    return _HARMFUL.sub("\ufffd", re.sub(r"\r\n?|[\x85\u2028\u2029]", "\n", text))


def _limited(field: str, text: str, maximum: int) -> str:
    if len(text) > maximum:
        raise InvalidRequest(f"{field} is longer than {maximum:,} characters; shorten it", field)
    return text
