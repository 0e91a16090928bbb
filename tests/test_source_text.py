"""A source in any encoding reads as the same text."""

from __future__ import annotations

import pytest
from foveal.daemon.project.parse import parse_source


@pytest.mark.parametrize(
    "data",
    [
        "\ufeffdef caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode(),
        "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n".encode("latin-1"),
        "def caf\u00e9():\r\n    '''D\u00e9j\u00e0 vu.'''\r\n".encode(),
        "def caf\u00e9():\n    '''D\u00e9j\u00e0 vu.'''\n\0    pass\n".encode(),
    ],
    ids=["byte order mark", "latin-1", "carriage returns", "NUL"],
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
