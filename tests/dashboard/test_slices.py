"""Slices are called by short names, and their sources and fates read as words."""

from __future__ import annotations

from typing import get_args

import pytest
from foveal.daemon.context.selection import LAYERS as DAEMON_LAYERS
from foveal.daemon.context.selection import SliceType
from foveal.dashboard.pages.slices import LAYERS, MODES, TYPES, dropped_rows, ordered, slice_rows

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


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("CLAUDE.md:12, always", "from CLAUDE.md, line 12; in each context"),
        ("a:2, glob:3, glob, put with foveal", f"from a:2, glob, line 3, put with foveal; {MODES['glob']}"),
        ("the caller", "given by who asked"),
        ("", "drawn from the project's files"),
        ("imported by src/a.py", "imported by src/a.py"),
    ],
)
def test_a_source_reads_as_words(source: str, words: str) -> None:
    (row,) = slice_rows([slice_map("rule:a", 5, source=source)])
    assert row.source == words


def test_rows_are_ordered_by_place_or_by_a_number() -> None:
    rows = slice_rows(
        [
            slice_map("skeleton", 9, "horizon", span=[50, 60]),
            slice_map("focus:b.py", 5, span=[30, 40], score=0.2),
            slice_map("focus:a.py", 7, span=[20, 30], score=0.9),
        ]
    )
    assert [row.at for row in ordered(rows, "place")] == [2, 1, 0]
    assert [row.at for row in ordered(rows, "tokens")] == [0, 2, 1]
    assert [row.at for row in ordered(rows, "score")] == [2, 1, 0]


def test_what_was_dropped_says_why() -> None:
    dropped = [
        {"id": "dependency:src/a.py", "type": "dependency", "weight": 0.7, "reason": "budget"},
        {"id": "document:src/b.py#f", "type": "document", "weight": 0.2, "reason": "duplicate"},
    ]
    assert dropped_rows(dropped) == [
        ("src/a.py", "neighbour", 0.7, "no room was left for it"),
        ("src/b.py#f", "found or named", 0.2, "another slice shows the same"),
    ]
