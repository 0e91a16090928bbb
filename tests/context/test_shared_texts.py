"""Texts are kept once however many hold them, and are forgotten with their last holder."""

from __future__ import annotations

import sys

from foveal.daemon.context.given_contexts import SHORT_CHARACTERS, SharedTexts


def text_of(letter: str) -> str:
    """Return a long text that is another object each time."""
    return "".join([letter] * (10 * SHORT_CHARACTERS))


def test_equal_texts_are_one_object_and_count_once() -> None:
    texts = SharedTexts()
    first = texts.keep({"context": text_of("a"), "messages": [{"content": text_of("b")}]})
    second = texts.keep(text_of("a"))
    assert second is first["context"]
    assert texts.memory_bytes == sys.getsizeof(text_of("a")) + sys.getsizeof(text_of("b"))
    assert len(texts) == 2


def test_a_text_stays_until_its_last_holder_drops_it() -> None:
    texts = SharedTexts()
    first = texts.keep({"context": text_of("a"), "tools": {"s": [{"name": "t", "schema": text_of("c")}]}})
    second = texts.keep([text_of("a")])
    texts.drop(first)
    assert texts.memory_bytes == sys.getsizeof(second[0])
    assert texts.keep(text_of("a")) is second[0]
    texts.drop(second)
    texts.drop(second[0])
    assert (len(texts), texts.memory_bytes) == (0, 0)


def test_values_stay_what_they_are() -> None:
    value = {"n": 1, "none": None, "short": "x", "list": [True, 2.5, {"long": text_of("d")}]}
    texts = SharedTexts()
    assert texts.keep(value) == value
    texts.drop(value)
    assert len(texts) == 0
