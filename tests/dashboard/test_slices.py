"""Slices are called by short names, and their sources and fates read as words."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from foveal.daemon.context.selection import LAYERS as DAEMON_LAYERS
from foveal.daemon.context.selection import SliceType
from foveal.dashboard.pages.slices import LAYERS, TYPES, plain_reason, slice_rows

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


def test_a_decision_is_called_by_what_was_decided() -> None:
    text = "x- claude-code: Drop " + "the header " * 9 + "\n  why: leaks\n"
    fields: dict[str, Any] = {"path": "", "score": 1.2, "span": [1, len(text)]}
    said = "root, 2026-01-02T03:04:05.678Z: touched a.py; shares header with the prompt"
    (row,) = slice_rows([slice_map("experience:x_1", 5, type="agent_history", source=said, **fields)], text)
    assert row.name == row.label == "Drop the header the header the header the header the header…"
    assert (row.href, row.score) == ("/knowledge/decisions/x_1", None)
    assert row.source == "touched a.py; shares header with the prompt"
    (row,) = slice_rows([slice_map("experience:x_1", 5, type="agent_history", source=said, path="")])
    assert row.name == "Earlier decision"
    assert plain_reason(f"no room: it takes 9 tokens; {said}") == f"no room: it takes 9 tokens; {row.source}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "found for the prompt, probability 0.3: its file, its words; by its words (rank 1), by name (rank 2)",
            "found by its file, words (rank 1) and name (rank 2)",
        ),
        (
            "too uncertain for its body, probability 5e-05: its file, named in the prompt; named in the question",
            "too uncertain to be shown whole; found by its file, named in the prompt",
        ),
    ],
)
def test_what_found_a_slice_is_told_once_and_without_its_figure(source: str, expected: str) -> None:
    (row,) = slice_rows([slice_map("document:a.py", 5, source=source)])
    assert row.source == expected
    reason = plain_reason(f"it is shown as document: {source}; 4 of its 5 tokens, weight 0.7")
    assert reason == f"it is shown as found or named: {expected}; 4 of its 5 tokens"


def test_the_rank_of_a_file_is_told_without_a_second_score() -> None:
    told = "the search for the prompt has it at place 3"
    assert plain_reason(f"{told} (score 0.53) for its words") == told
