"""Text of a project can't end the marks that it stands in."""

from __future__ import annotations

import pytest
from foveal.hooks.mcp_server.marks import LINE_CHARACTERS, block, inline, plain
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", "```\na\n```"),
        ("a\n```\nb\n", "````\na\n```\nb\n````"),
        ("`````", "``````\n`````\n``````"),
        ("", "```\n\n```"),
    ],
)
def test_blocks(text: str, expected: str) -> None:
    assert block(text) == expected


def test_a_language_is_a_word() -> None:
    assert block("a", "c++").startswith("```c++\n")
    assert block("a", "x\n# y").startswith("```\n")


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
def test_inline(text: str, expected: str) -> None:
    assert inline(text) == expected


def test_long_lines_are_cut() -> None:
    assert inline("x" * 10_000) == f"`{'x' * (LINE_CHARACTERS - 1)}…`"
    assert plain("x " * 10_000).endswith("…")


@given(st.text())
def test_nothing_gets_out(text: str) -> None:
    fence, *_, last = block(text).split("\n")
    assert fence == last
    assert fence not in text
    marked = inline(text)
    run = len(marked) - len(marked.lstrip("`"))
    assert "`" * run not in marked[run:-run]
    assert "\n" not in marked
