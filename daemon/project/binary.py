"""Owns the question whether content is text; reads none itself."""

from __future__ import annotations


def classify_content(data: bytes) -> str:
    """Return `binary` for content that is no text, else "". UTF-16 and UTF-32 count as text with a mark."""
    if data.startswith(_BYTE_ORDER_MARKS):
        return ""
    return "binary" if b"\0" in data[:_BINARY_PROBE_BYTES] else ""


_BINARY_PROBE_BYTES = 8192
"""git looks at the first 8,000 bytes for a NUL as well."""

_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
