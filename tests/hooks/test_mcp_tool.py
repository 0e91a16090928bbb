"""Arguments are read as a model means them, and refused with what to do; the schema says the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from foveal.hooks.mcp_server.caller import ToolError
from foveal.hooks.mcp_server.tool import (
    LINE_CHARACTERS,
    Arguments,
    block,
    choice,
    fit,
    inline,
    items,
    number,
    plain,
    text,
    texts,
    tokens_of,
    truth,
)
from hypothesis import given
from hypothesis import strategies as st
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
def test_arguments_are_read_leniently(given: dict[str, Any], changed: dict[str, Any]) -> None:
    assert ARGUMENTS.read({"name": "x", **given}) == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": None}, "Object missing required field `name`"),
        ({"name": ""}, "name: Expected `str` of length >= 1"),
        ({"name": "abcdef"}, "name: Expected `str` of length <= 5"),
        ({"name": ["x"]}, "name: Expected `str`, got `array`"),
        ({"limit": 0}, "limit: Expected `int` >= 1"),
        ({"limit": 10**400}, "limit: Expected `int` <= 9"),
        ({"limit": 1.5}, "limit: Expected `int`, got `float`"),
        ({"limit": float("inf")}, "limit: Expected `int`, got `float`"),
        ({"limit": True}, "limit: Expected `int`, got `bool`"),
        ({"limit": "3"}, "limit: Expected `int`, got `str`"),
        ({"paths": ["a", "b", "c"]}, "paths: Expected `array` of length <= 2"),
        ({"paths": [1]}, "paths[0]: Expected `str`, got `int`"),
        ({"paths": {"a": 1}}, "paths: Expected `array`, got `object`"),
        ({"mode": "c"}, "mode: Invalid enum value 'c'"),
        ({"whole": 1}, "whole: Expected `bool`, got `int`"),
        ({"whole": "yes"}, "whole: Expected `bool`, got `str`"),
        ({"wanted": ["rule"]}, "wanted[0]: Expected `object`, got `str`"),
        ({"wanted": [{"type": "rule", "name": 5}]}, "wanted[0].name: Expected `str`, got `int`"),
        (
            {"other": 1},
            "unknown field `other`. Correct it and call the tool again; the arguments are: name, limit, paths,",
        ),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as raised:
        ARGUMENTS.read({"name": "x", **given})
    assert said in str(raised.value)


def test_argument_schemas_match_the_checks() -> None:
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


def render(answer: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in answer.items())


def test_longest_list_is_cut_most() -> None:
    answer = {"long": [f"entry {n}" for n in range(100)], "short": ["one", "two"]}
    kept = fit(answer, render, 60)
    assert kept["short"] == ["one", "two"]
    assert kept["long"] == answer["long"][: len(kept["long"])] != []
    assert kept["more"] == 100 - len(kept["long"])


def test_texts_and_lists_share_the_limit() -> None:
    answer: dict[str, Any] = {
        "rows": [f"entry {n}" for n in range(100)],
        "text": "\n".join(f"line {n}" for n in range(100)),
        "name": "x",
    }
    kept = fit(answer, render, 100)
    assert kept["cut"] == ["text"]
    assert kept["rows"] == answer["rows"][: len(kept["rows"])] != []
    assert answer["text"].startswith(kept["text"] + "\n")
    assert kept["text"].count("\n") > 5


def test_a_text_beside_a_short_list_gets_the_rest() -> None:
    answer = {"rows": ["one", "two"], "text": "\n".join(f"line {n}" for n in range(100))}
    kept = fit(answer, render, 100)
    assert kept["rows"] == ["one", "two"]
    assert tokens_of(kept, render(kept)) > 90


def test_answer_too_large_raises() -> None:
    with pytest.raises(ToolError, match=r"doesn't fit into 5 tokens\. Ask with a larger max_tokens"):
        fit({"name": "x" * 100}, render, 5)


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.one_of(st.lists(st.text(max_size=40), max_size=30), st.text(max_size=300)),
        max_size=4,
    ),
    st.integers(1, 400),
)
def test_answers_stay_within_their_limit(answer: dict[str, Any], limit: int) -> None:
    try:
        kept = fit(answer, render, limit)
    except ToolError:
        assert tokens_of(answer, render(answer)) > limit
        return
    packed = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    assert max(len(packed), len(render(kept))) <= limit * 4
    entries = sum(len(value) for value in answer.values() if isinstance(value, list))
    left = sum(len(value) for name, value in kept.items() if name != "cut" and isinstance(value, list))
    assert kept.get("more", 0) == entries - left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "```\na\n```"),
        ("a\n```\nb\n", "````\na\n```\nb\n````"),
        ("`````", "``````\n`````\n``````"),
        ("", "```\n\n```"),
    ],
)
def test_fenced_blocks(text: str, expected: str) -> None:
    assert block(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "`a`"),
        ("a\n# b\tc", "`a # b c`"),
        ("a `b` c", "``a `b` c``"),
        ("`", "`` ` ``"),
        ("", "`  `"),
        ("a\u202eb\x1b[0m", "`a b [0m`"),
    ],
)
def test_inline_code(text: str, expected: str) -> None:
    assert inline(text) == expected


def test_long_lines_are_cut() -> None:
    assert inline("x" * 10_000) == f"`{'x' * (LINE_CHARACTERS - 1)}…`"
    assert plain("x " * 10_000).endswith("…")


@given(st.text())
def test_marked_text_cannot_escape(text: str) -> None:
    fence, *_, last = block(text).split("\n")
    assert fence == last
    assert fence not in text
    marked = inline(text)
    run = len(marked) - len(marked.lstrip("`"))
    assert "`" * run not in marked[run:-run]
    assert "\n" not in marked
