"""Owns calls in what Rust hands to macros: tokens that no grammar has parsed, taken by how they look."""

from __future__ import annotations

import re

from .source_text import Span

PATH_MAX = 120
"""Bytes before a name that are looked at for the path that leads to it."""

_BEFORE = re.compile(rb"[\w.:]*\Z")
_NO_CALL = re.compile(rb"(?:\b(?:fn|mod|struct|enum|impl|let|for|if|while|match|in|return)\s+|[$#'@])\Z")


def called_in_tokens(source: bytes, name: Span) -> Span | None:
    """Return the range of what is called by a name that a bracket follows, or None if that is no call.

    It begins with the path that leads to the name (`self.x.len` of `len`); where another call or an element
    leads there, it begins with a dot.
    """
    start, end = name
    if source[end : end + 1] not in {b"(", b"!"} or source[end : end + 2] == b"!=":
        return None
    match = _BEFORE.search(source, max(0, start - PATH_MAX), start)
    begun = match.start() if match is not None else start
    return None if _NO_CALL.search(source, max(0, begun - 10), begun) else (begun, end)
