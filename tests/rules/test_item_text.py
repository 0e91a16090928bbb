"""An item's text is its name, description and text; its chunks are paragraphs, then sentences, never too long."""

from __future__ import annotations

import pytest
from foveal.daemon.rules.item_text import CHUNK_CHARACTERS, MAX_CHUNKS, chunks, item_text
from foveal.daemon.rules.items import Item
from hypothesis import given, settings
from hypothesis import strategies as st

SENTENCE = "Every sentence of this paragraph has exactly sixty-four letters. "
assert len(SENTENCE) == 65


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Item("rule", "style", "agent", "Use tabs.", "s", description="How to indent"), "style: How to indent\n\nUse tabs."),
        (Item("rule", "style", "agent", "Use tabs.", "s"), "style\n\nUse tabs."),
        (Item("reference", "style", "agent", " \n", "s", description="d"), "style: d"),
        (Item("tool", "git_log", "agent", '{"type": "object"}', "s", description="Shows", server_name="git"), "git_log: Shows"),
    ],
)  # fmt: skip
def test_text(item: Item, expected: str) -> None:
    assert item_text(item) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\n ", []),
        ("one\n\ntwo", ["one\n\ntwo"]),
        ("a" * 499 + "\n\n" + "b", ["a" * 499, "b"]),
        ("a" * 300 + "\n \n\n" + "b" * 300 + "\n\nc", ["a" * 300, "b" * 300 + "\n\nc"]),
        (SENTENCE * 8, [(SENTENCE * 7).strip(), SENTENCE.strip()]),
        ("short\n\n" + SENTENCE * 8, ["short\n\n" + (SENTENCE * 7).strip(), SENTENCE.strip()]),
        ("- item\n" * 100, [("- item\n" * 71).strip(), ("- item\n" * 29).strip()]),
        ("word " * 120, [("word " * 100).strip(), ("word " * 20).strip()]),
        ("x" * 1_100, ["x" * 500, "x" * 500, "x" * 100]),
        ("文" * 480 + "。" + "字" * 100, ["文" * 480 + "。", "字" * 100]),
    ],
)
def test_chunks(text: str, expected: list[str]) -> None:
    assert list(chunks(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000_000,
        "\n\n" * 2_000_000,
        ". " * 2_000_000,
        "a\n\n" * 1_000_000,
        "\n" + " " * 3_000_000 + "a",
    ],
)
def test_a_text_of_any_size_gives_few_chunks(text: str) -> None:
    assert len(chunks(text)) <= MAX_CHUNKS


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["a", "word ", "End. ", "\n", "\n\n", " ", "é", "x" * 120, "。"]), max_size=200)
)
def test_nothing_that_can_be_seen_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    found = chunks(text)
    assert all(0 < len(chunk) <= CHUNK_CHARACTERS and chunk == chunk.strip() for chunk in found)
    if len(found) < MAX_CHUNKS:
        assert "".join("".join(found).split()) == "".join(text.split())
