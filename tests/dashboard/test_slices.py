"""Slices are called by short names, and their sources and fates read as words."""

from __future__ import annotations

from typing import get_args

import pytest
from foveal.daemon.context.selection import LAYERS as DAEMON_LAYERS
from foveal.daemon.context.selection import SliceType
from foveal.dashboard.pages.slices import LAYERS, TYPES, slice_rows

from tests.context_cases import slice_map


def test_every_layer_and_type_of_the_daemon_has_words() -> None:
    assert tuple(LAYERS) == DAEMON_LAYERS
    assert set(TYPES) == set(get_args(SliceType))


@pytest.mark.parametrize(
    ("identifier", "fields", "name", "symbol", "label"),
    [
        ("focus:src/shop/auth.py", {}, "src/shop/auth.py", "", "auth.py"),
        ("document:src/auth.py#Session.login", {}, "src/auth.py", "Session.login", "auth.py#Session.login"),
        ("constraint:0", {"path": ""}, "Constraint 1", "", "Constraint 1"),
        ("rule:style", {"path": ""}, "style", "", "style"),
        ("skeleton", {}, "Map of the project", "", "Map of the project"),
        ("unheard:of", {"path": ""}, "of", "", "of"),
    ],
)
def test_a_slice_has_a_name(
    identifier: str, fields: dict[str, str], name: str, symbol: str, label: str
) -> None:
    (row,) = slice_rows([slice_map(identifier, 5, **fields)])
    assert (row.name, row.symbol, row.label) == (name, symbol, label)
