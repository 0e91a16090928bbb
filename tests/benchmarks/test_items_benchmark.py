"""The items benchmark's labels name items that exist, and its measures have the values worked out by hand."""

from __future__ import annotations

import pytest
from foveal.benchmarks.items.labelled import read_items, read_queries
from foveal.benchmarks.items.measures import recall_at
from foveal.daemon.rules.records import ItemKey
from foveal.daemon.rules.service import item_key


def keys(names: str) -> list[ItemKey]:
    return [ItemKey("rule", name) for name in names]


def test_the_labelled_set_is_whole() -> None:
    items = read_items()
    queries = read_queries(items)
    assert len(items) >= 300
    assert len({item_key(one.type, one.name, one.server_name) for one in items}) == len(items)
    assert all(one.description or one.text for one in items)
    assert len({one.server_name for one in items}) >= 8
    for half in ("choosing", "held-out"):
        mine = [query for query in queries if query.half == half]
        assert len(mine) >= 60
        for kind in ("rules", "tools"):
            assert sum(bool(query.wanted_of(kind)) for query in mine) >= 20
        assert any(not query.wanted for query in mine)
        assert any(query.history for query in mine)


@pytest.mark.parametrize(
    ("ranked", "wanted", "expected"),
    [
        ("abcdef", "a", 1.0),
        ("abcdef", "f", 0.0),
        ("abcdef", "af", 0.5),
        ("abcdefg", "abcdefg", 1.0),
        ("", "a", 0.0),
    ],
)
def test_recall(ranked: str, wanted: str, expected: float) -> None:
    assert recall_at(keys(ranked), keys(wanted)) == expected
