"""Arguments are read as a model means them, and refused with what to do; marks can't be ended by a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from foveal.hooks.mcp_server.caller import choose_folder
from foveal.hooks.mcp_server.tool import (
    LINE_CHARACTERS,
    Arguments,
    block,
    choice,
    fitted,
    inline,
    items,
    number,
    plain,
    text,
    texts,
    truth,
)
from hypothesis import given
from hypothesis import strategies as st

ARGUMENTS = Arguments(
    {
        "name": text("A name.", required=True, most=5),
        "limit": number(1, 9, 3),
        "paths": texts("Paths.", most=2),
        "mode": choice(("a", "b"), "a"),
        "wanted": items("Items.", 1),
        "whole": truth("All of it."),
    }
)

DEFAULTS = {"name": "x", "limit": 3, "paths": None, "mode": "a", "wanted": None, "whole": False}


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"limit": None, "paths": None, "mode": None}, {}),
        ({"limit": 9.0}, {"limit": 9}),
        ({"paths": "a"}, {"paths": ["a"]}),
        ({"paths": [], "mode": "b"}, {"paths": [], "mode": "b"}),
        ({"whole": "true"}, {"whole": True}),
        (
            {"wanted": [{"type": "tool", "name": "n", "server_name": None, "more": 1}]},
            {"wanted": [{"type": "tool", "name": "n", "server_name": None}]},
        ),
    ],
)
def test_arguments_are_read_leniently(given: dict[str, Any], changed: dict[str, Any]) -> None:
    assert ARGUMENTS.read({"name": "x", **given}) == {**DEFAULTS, **changed}


@given(st.lists(st.text(max_size=40), min_size=1, max_size=30), st.integers(10, 400))
def test_answers_stay_within_their_limit(parts: list[str], limit: int) -> None:
    shown = fitted(parts, limit)
    assert shown.startswith(parts[0])
    assert len(shown) <= limit * 4
    assert (shown == "\n".join(parts)) == ("more: ask with a larger max_tokens" not in shown)


@pytest.mark.parametrize(
    ("text", "fenced", "marked"),
    [
        ("a", "```\na\n```", "`a`"),
        ("a\n```\nb\n", "````\na\n```\nb\n````", "````a ``` b````"),
        ("`", "```\n`\n```", "`` ` ``"),
        ("", "```\n\n```", "`  `"),
        ("a\u202eb\x1b[0m", "```\na\u202eb\x1b[0m\n```", "`a b [0m`"),
    ],
)
def test_marks_around_texts(text: str, fenced: str, marked: str) -> None:
    assert (block(text), inline(text)) == (fenced, marked)


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


def test_folder_is_the_pumps_or_the_first_root(tmp_path: Path) -> None:
    one, other, near = tmp_path / "one", tmp_path / "größer & b", tmp_path / "one more"
    for folder in (one / "sub", other, near):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(one)
    assert choose_folder(str(one), []) == str(one)
    for cwd in (one, one / "sub", tmp_path / "link"):
        assert choose_folder(str(cwd), [other.as_uri(), one.as_uri()]) == str(cwd)
    assert choose_folder(str(near), [one.as_uri(), other.as_uri()]) == str(one)
    unusable = [
        "https://a.b/x",
        "file://elsewhere/x",
        "file:x",
        "file:///\0",
        "http://[",
        near.as_uri() + "x",
    ]
    assert choose_folder("/", [*unusable, other.as_uri(), one.as_uri()]) == str(other)
    assert choose_folder("/", [other.as_uri().replace("file://", "file://localhost")]) == str(other)
    assert choose_folder("/", unusable) == "/"
