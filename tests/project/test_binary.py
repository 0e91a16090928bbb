"""Content with a NUL near its beginning is binary, unless a mark says that it is wide text."""

from __future__ import annotations

import pytest
from foveal.daemon.project.text_kind import classify_content


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", ""),
        (b"text \xff\xfe caf\xe9", ""),
        ("text".encode("utf-16"), ""),
        ("text".encode("utf-32"), ""),
        (b"\xfe\xff" + "text".encode("utf-16-be"), ""),
        (b"\xff\xfe" + "\U0001f600".encode("utf-16-le") * 5_000, ""),
        (b"\xff\xfe" + b"\x00\xdc" * 5_000, "binary"),
        (b"\xff\xfe", ""),
        (b"\xff\xfea\0\0\0b\0", "binary"),
        (b"\xff\xfe\0\0" + b"\xff" * 8, "binary"),
        (b"\x7fELF\0", "binary"),
        (b"a" * 8191 + b"\0", "binary"),
        (b"a" * 8192 + b"\0", ""),
    ],
)
def test_classify_content(data: bytes, reason: str) -> None:
    assert classify_content(data) == reason
