"""A plan holds what is to be in a request; what depends on the files in focus is decided by these."""

from __future__ import annotations

import pytest
from foveal.daemon.rules.items import IncludeMode, Item, ItemPlan, PlannedItem, matches, plan_without_session


def item(name: str, include: IncludeMode, *globs: str) -> Item:
    return Item("rule", name, include, "text", "PutItem", globs=globs)


def test_without_a_session_modes_decide() -> None:
    items = [
        item("a", "always"),
        item("m", "manual"),
        item("s", "agent"),
        item("py", "glob", "*.py"),
        item("go", "glob", "*.go"),
    ]
    plan = plan_without_session(items)
    assert [one.item.name for one in plan.items] == ["a", "py", "go"]
    assert [one.item.name for one in plan.entering({"src/a.py"})] == ["a", "py"]
    assert [one.item.name for one in plan.entering(())] == ["a"]


def test_what_came_in_by_hand_needs_no_match() -> None:
    by_hand = PlannedItem(item("go", "glob", "*.go"), "manual")
    assert ItemPlan((by_hand,)).entering(()) == [by_hand]


@pytest.mark.parametrize(
    ("globs", "paths", "expected"),
    [
        ((), ["a.py"], False),
        (("*.py",), [], False),
        (("*.py",), ["src/a.py"], True),
        (("src/*.py", "*.md"), ["docs/a.md"], True),
        (("src/*.py",), ["src/deep/a.py"], False),
    ],
)
def test_patterns_match_any_of_the_paths(globs: tuple[str, ...], paths: list[str], expected: bool) -> None:
    assert matches(item("x", "glob", *globs), paths) is expected


def test_tools_of_two_servers_have_ids_of_their_own() -> None:
    ids = {
        PlannedItem(Item("tool", "search", "always", "", "s", server_name=server), "always").slice_id
        for server in ("hub", "cat")
    }
    assert ids == {"tool:hub/search", "tool:cat/search"}
