"""A source in any encoding reads as the same text."""

from __future__ import annotations

import pytest
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.source_text import WIDE_MARKS, clean_source
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "data",
    [
        "\ufeffdef caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode(),
        "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode("latin-1"),
        "def caf\u00e9():\r\n    '''D\u00e9j\u00e0 vu.'''\r\n".encode(),
        b"\xff\xfe" + "def caf\u00e9():\r\n    '''D\u00e9j\u00e0 vu.'''\r\n".encode("utf-16-le"),
        b"\xfe\xff" + "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode("utf-16-be"),
        b"\xff\xfe\0\0" + "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode("utf-32-le"),
        b"\0\0\xfe\xff" + "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode("utf-32-be"),
        "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n\0    pass\n".encode(),
    ],
    ids=[
        "byte order mark",
        "latin-1",
        "carriage returns",
        "UTF-16 LE",
        "UTF-16 BE",
        "UTF-32 LE",
        "UTF-32 BE",
        "NUL",
    ],
)
def test_odd_encodings(data: bytes) -> None:
    parsed = parse_source(data, "python")
    assert not parsed.broken
    (symbol,) = parsed.symbols
    assert (symbol.name, symbol.signature, symbol.doc, symbol.start_line) == (
        "caf\u00e9",
        "def caf\u00e9():",
        "D\u00e9j\u00e0 vu.",
        1,
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xff\xfe", b""),
        (b"\xff\xfea", "\ufffd".encode()),
        (b"\xff\xfe\x00\xd8a\0", "\ufffda".encode()),
        (b"\xff\xfe\0\0\xff\xff\xff\xff", "\ufffd".encode()),
        (b"\xff\xfea\0\0\0", b"a "),
        (b"\xef\xbb\xbf", b""),
    ],
)
def test_what_is_damaged_is_replaced(data: bytes, expected: bytes) -> None:
    assert clean_source(data) == expected


@given(st.binary(max_size=40), st.sampled_from([b"", *WIDE_MARKS, b"\xef\xbb\xbf"]))
def test_any_bytes_become_text(data: bytes, mark: bytes) -> None:
    cleaned = clean_source(mark + data)
    assert "\0" not in cleaned.decode()
