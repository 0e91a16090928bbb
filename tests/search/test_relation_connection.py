"""A path between two symbols is asked for in many ways; its ends come in the order in which it is walked."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import split_clauses
from foveal.daemon.search.relations import find_connection


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("how does on_click end up in delete_row", ("on_click", "delete_row")),
        ("Is there any way execution gets from on_click to delete_row", ("on_click", "delete_row")),
        ("how does control flow from on_click to delete_row", ("on_click", "delete_row")),
        ("trace the calls from on_click to the function delete_row", ("on_click", "delete_row")),
        ("is delete_row reachable from on_click", ("on_click", "delete_row")),
        ("any path to delete_row from on_click", ("on_click", "delete_row")),
        ("how does src/a.ts depend on src/b.ts", ("src/a.ts", "src/b.ts")),
        ("in src/app.py, how does on_click reach delete_row", ("on_click", "delete_row")),
        ("call path from main to write", ("main", "write")),
        ("what is the difference between on_click and delete_row", None),
        ("how do I migrate from on_click to delete_row", None),
        ("path from login to checkout", None),
        ("how does on_click use delete_row to sort", None),
        ("what connects users and accounts", None),
    ],
)
def test_ends(text: str, ends: tuple[str, ...] | None) -> None:
    found = find_connection(split_clauses(text)[0])
    assert (found.subjects if found else None) == ends
