"""A message weighs 1, what was said before it less and less; long ones are cut, system messages left out."""

from __future__ import annotations

import pytest
from foveal.daemon.rules.item_search import (
    HISTORY_CHUNKS,
    HISTORY_DECAY,
    HISTORY_MESSAGES,
    HISTORY_WEIGHT,
    MESSAGE_CHUNKS,
    query_texts,
)
from foveal.daemon.rules.items import CHUNK_CHARACTERS


def said(*contents: str, role: str = "user") -> list[dict[str, object]]:
    return [{"role": role, "content": content} for content in contents]


def test_the_latest_comes_first_and_weighs_most() -> None:
    texts = query_texts(
        "now", [*said("first"), *said("second", role="assistant"), *said("hidden", role="system")]
    )
    assert [(one.text, one.weight) for one in texts] == [
        ("now", 1.0),
        ("second", HISTORY_WEIGHT),
        ("first", pytest.approx(HISTORY_WEIGHT * HISTORY_DECAY)),
    ]


@pytest.mark.parametrize(
    "history",
    [[], said("  "), [{}], [{"role": "user"}], [{"role": "user", "content": ["a"]}], said("a", role="tool")],
)
def test_what_has_no_text_is_left_out(history: list[dict[str, object]]) -> None:
    assert query_texts(" \n", history) == ()


def test_what_has_no_text_takes_nobody_s_place() -> None:
    texts = query_texts("", [*said("said"), *said("", role="assistant")])
    assert [(one.text, one.weight) for one in texts] == [("said", HISTORY_WEIGHT)]


def test_only_the_last_messages_count() -> None:
    texts = query_texts("", said(*map(str, range(50))))
    assert [one.text for one in texts] == [str(49 - n) for n in range(HISTORY_MESSAGES)]


def test_of_long_ones_beginning_and_end_count() -> None:
    long = "\n\n".join(f"{n} " + "x" * (CHUNK_CHARACTERS - 10) for n in range(2_000))
    texts = query_texts(long, said(long))
    assert len(texts) == MESSAGE_CHUNKS + HISTORY_CHUNKS
    assert [one.text.split()[0] for one in texts[:MESSAGE_CHUNKS][:2]] == ["0", "1"]
    assert texts[MESSAGE_CHUNKS - 1].text.split()[0] == "1999"
    assert [one.text.split()[0] for one in texts[MESSAGE_CHUNKS:]] == ["0", "1999"]
