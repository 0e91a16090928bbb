"""Arguments are read as a model means them, and refused with what to do; the schema says the same."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.hooks.mcp_server.arguments import Arguments, choice, items, number, text, texts, truth
from foveal.hooks.mcp_server.errors import ToolError
from jsonschema import Draft202012Validator

ARGUMENTS = Arguments(
    {
        "name": text("A name.", required=True, most=5),
        "limit": number("How many.", 1, 9, 3),
        "paths": texts("Paths.", most=2),
        "mode": choice("How.", ("a", "b"), "a"),
        "wanted": items("Items.", 1),
        "whole": truth("All of it."),
    }
)

DEFAULTS = {"name": "x", "limit": 3, "paths": None, "mode": "a", "wanted": None, "whole": False}


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({}, {}),
        ({"limit": None, "paths": None, "mode": None}, {}),
        ({"limit": 9}, {"limit": 9}),
        ({"limit": 9.0}, {"limit": 9}),
        ({"paths": ["a", "b"]}, {"paths": ["a", "b"]}),
        ({"paths": "a"}, {"paths": ["a"]}),
        ({"paths": []}, {"paths": []}),
        ({"mode": "b"}, {"mode": "b"}),
        ({"whole": True}, {"whole": True}),
        ({"whole": "true"}, {"whole": True}),
        ({"whole": "false"}, {"whole": False}),
        (
            {"wanted": [{"type": "tool", "name": "n", "server_name": None, "more": 1}]},
            {"wanted": [{"type": "tool", "name": "n"}]},
        ),
    ],
)
def test_what_is_read(given: dict[str, Any], changed: dict[str, Any]) -> None:
    assert ARGUMENTS.read({"name": "x", **given}) == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": None}, "name is missing"),
        ({"name": "  "}, "name must not be empty"),
        ({"name": "abcdef"}, "name may have 5 characters, not 6"),
        ({"name": ["x"]}, "name must be a text, not a list"),
        ({"limit": 0}, "limit must lie between 1 and 9"),
        ({"limit": 10**400}, "limit must lie between 1 and 9"),
        ({"limit": 1.5}, "limit must be a whole number"),
        ({"limit": float("inf")}, "limit must be a whole number"),
        ({"limit": True}, "limit must be a whole number, not true or false"),
        ({"limit": "3"}, "limit must be a whole number, not a text"),
        ({"paths": ["a", "b", "c"]}, "paths must have 0 to 2 entries, not 3"),
        ({"paths": [1]}, "paths must hold texts"),
        ({"paths": [" "]}, "paths must hold texts"),
        ({"paths": {"a": 1}}, "paths must be a list, not an object"),
        ({"mode": "c"}, "mode must be one of a, b"),
        ({"whole": 1}, "whole must be true or false, not a number"),
        ({"whole": "yes"}, "whole must be true or false, not a text"),
        ({"wanted": ["rule"]}, "wanted must hold items"),
        ({"wanted": [{"type": "rule", "name": 5}]}, "wanted must hold items"),
        (
            {"other": 1},
            "there is no argument 'other'. The arguments are: name, limit, paths, mode, wanted, whole.",
        ),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as raised:
        ARGUMENTS.read({"name": "x", **given})
    assert said in str(raised.value)


def test_the_schema_says_the_same() -> None:
    schema = ARGUMENTS.schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"name": "x", "limit": 9, "paths": ["a"], "mode": "b"})
    for wrong in (
        {},
        {"name": ""},
        {"name": "x", "limit": 0},
        {"name": "x", "mode": "c"},
        {"name": "x", "y": 1},
    ):
        assert not validator.is_valid(wrong)
    assert schema["properties"]["limit"]["default"] == 3
