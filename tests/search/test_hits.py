"""A hit names its place as a node: the definition or section that it is, or its file."""

from __future__ import annotations

import pytest
from foveal.daemon.index.chunk_table import StoredChunk
from foveal.daemon.search.query import Hit


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [("", "src/a.py"), ("Session.end", "src/a.py#Session.end"), ("Guide/Setup", "src/a.py#Guide/Setup")],
)
def test_its_node(symbol: str, expected: str) -> None:
    hit = Hit(StoredChunk(1, 1, "src/a.py", "python", 1, 9, symbol, "method", (), b"x"), 0.5)
    assert (hit.path, hit.node_id) == ("src/a.py", expected)
