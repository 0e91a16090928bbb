"""An answer is never above its limit: lists lose their ends, then texts, and it says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from foveal.hooks.mcp_server.errors import ToolError
from foveal.hooks.mcp_server.sizes import fit, tokens_of
from hypothesis import given
from hypothesis import strategies as st


def render(answer: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in answer.items())


def test_what_fits_is_left_as_it_is() -> None:
    answer = {"rows": [1, 2, 3], "text": "a\nb"}
    assert fit(answer, render, 100) == answer


def test_the_longest_list_loses_most() -> None:
    answer = {"long": [f"entry {n}" for n in range(100)], "short": ["one", "two"]}
    kept = fit(answer, render, 60)
    assert kept["short"] == ["one", "two"]
    assert kept["long"] == answer["long"][: len(kept["long"])] != []
    assert kept["more"] == 100 - len(kept["long"])


def test_texts_and_lists_share_the_room() -> None:
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


def test_what_cannot_fit_says_so() -> None:
    with pytest.raises(ToolError, match=r"doesn't fit into 5 tokens\. Ask with a larger max_tokens"):
        fit({"name": "x" * 100}, render, 5)


def test_the_larger_form_counts() -> None:
    assert tokens_of({"a": '"'}, "") == 3  # {"a":"\""} has ten characters
    assert tokens_of({}, "x" * 9) == 3


@given(
    st.dictionaries(
        st.sampled_from("abcd"),
        st.one_of(st.lists(st.text(max_size=40), max_size=30), st.text(max_size=300)),
        max_size=4,
    ),
    st.integers(1, 400),
)
def test_no_answer_is_above_its_limit(answer: dict[str, Any], limit: int) -> None:
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
