"""Items in configuration files: text only, a project's never before the user's, what is wrong left out."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from foveal.daemon.rules.service import MAX_WARNINGS, ConfiguredItems, items_in

TEXT = '''
[context]
max_tokens = 1000

[[items]]
type = "rule"
name = "commits"
text = """
Sign every commit.
"""

[[ "items" ]]
type = "reference"
name = "api"
include = "glob"
globs = ["src/api/**"]
description = "The public interface"
priority_level = 120
text = "GET /v1"
'''


def read(text: str, *, trusted: bool = False) -> ConfiguredItems:
    return items_in("/p/foveal.toml", text, tomllib.loads(text), None, trusted=trusted)


def test_items_keep_where_they_stand() -> None:
    found = read(TEXT, trusted=True)
    assert found.warnings == ()
    rule, reference = found.items
    assert (rule.type, rule.name, rule.text, rule.include) == (
        "rule",
        "commits",
        "Sign every commit.",
        "always",
    )
    assert (rule.source, rule.line, rule.priority_level) == ("/p/foveal.toml", 5, 200)
    assert (reference.include, reference.globs, reference.line) == ("glob", ("src/api/**",), 12)
    assert (reference.description, reference.priority_level) == ("The public interface", 120)


def test_a_projects_items_come_after_the_users() -> None:
    assert [item.priority_level for item in read(TEXT).items] == [300, 300]
    assert [item.priority_level for item in read(TEXT.replace("120", "700")).items] == [300, 700]


def item(**fields: Any) -> str:
    given = {"type": "rule", "name": "a", "text": "x", **fields}
    return "[[items]]\n" + "\n".join(
        f"{key} = {value!r}" for key, value in given.items() if value is not None
    )


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (item(type="tool", server_name="web"), "tools come from MCP servers"),
        (item(type="command"), "type must be one of"),
        (item(text=None), "text is missing"),
        (item(text="  "), "text is missing"),
        (item(name=None), "name"),
        (item(include="sometimes"), "include must be one of"),
        (item(include="glob"), "globs must name"),
        (item(priority_level=5), "priority_level"),
        (item() + "\n" + item(text="y"), "line 1 has a rule 'a' already"),
        ("items = 3", r"begin with \[\[items\]\]"),
        ("items = [1]", r"begin with \[\[items\]\]"),
        ("[items]\na = 1", r"begin with \[\[items\]\]"),
    ],
)
def test_what_cannot_be_used_is_left_out(text: str, warning: str) -> None:
    found = read(text + "\n" + item(name="good") if "items]]" in text else text)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("/p/foveal.toml")
    assert re.search(warning, found.warnings[0])
    if "items]]" in text:
        assert found.items[-1].name == "good"


def test_a_hostile_file_costs_little() -> None:
    found = read("items = [" + "{type = 1}," * 2_000 + "]")
    assert found.items == ()
    assert len(found.warnings) == MAX_WARNINGS + 1


def test_without_items_there_are_none() -> None:
    assert read("[context]\n") == ConfiguredItems()
