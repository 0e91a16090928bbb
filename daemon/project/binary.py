"""Whether content is text. Reads no file."""

from __future__ import annotations

import codecs

from ..languages.shared.source_text import WIDE_MARKS, wide_encoding

_PROBE_BYTES = 8192
"""git looks at the first 8,000 bytes for a NUL as well."""


def classify_content(data: bytes) -> str:
    """Return `binary` for content that is no text, else "". UTF-16 and UTF-32 count as text with a mark.

    Only the first 8 KiB are looked at. What begins with such a mark and isn't in that encoding is binary.
    """
    probe = data[:_PROBE_BYTES]
    if probe.startswith(WIDE_MARKS):
        return "" if _is_wide_text(probe) else "binary"
    return "binary" if b"\0" in probe else ""


def _is_wide_text(probe: bytes) -> bool:
    """Whether the beginning of a file with a mark can be decoded; it may end within a character."""
    decoder = codecs.getincrementaldecoder(wide_encoding(probe))()
    try:
        return "\0" not in decoder.decode(probe)
    except UnicodeDecodeError:
        return False
