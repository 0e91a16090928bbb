"""What was worked out of a large text is kept for the next prompt about it, up to a bound."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from foveal.daemon.compression.compress import compress
from foveal.daemon.compression.document import (
    HITS_MAX,
    KEPT_FROM,
    POSTINGS_MAX,
    TERMS_MAX,
    Document,
    Documents,
    lower_of,
    places_of,
    terms_of,
)
from foveal.daemon.compression.scoring import LINES_MIN, thinned


def large(mark: str) -> str:
    return mark + "\n" + "x = 1\n" * (KEPT_FROM // 6 + 1)


def test_a_large_text_is_known_again_by_its_content() -> None:
    kept = Documents()
    text = large("a")
    first = kept.get(text)
    assert kept.get("".join(["a\n", text[2:]])) is first
    assert kept.get(large("b")) is not first
    assert kept.characters == 2 * len(text)


def test_a_small_text_is_not_kept() -> None:
    kept = Documents()
    assert kept.get("a") is not kept.get("a")
    assert kept.characters == 0


def test_the_least_recently_used_is_forgotten() -> None:
    room = 3 * len(large("a"))
    kept = Documents(room)
    first, second = kept.get(large("a")), kept.get(large("b"))
    kept.get(large("c"))
    assert kept.get(large("a")) is first
    kept.get(large("d"))
    assert kept.get(large("a")) is first
    assert kept.get(large("b")) is not second
    assert kept.characters <= room


def test_text_above_the_bound_is_not_cached() -> None:
    kept = Documents(10)
    assert kept.get(large("a")).text == large("a")
    assert kept.characters == 0


def test_threads_share_them() -> None:
    kept = Documents(2 * len(large("a")))
    texts = [large(mark) for mark in "abcd"] * 20
    with ThreadPoolExecutor(4) as threads:
        documents = list(threads.map(kept.get, texts))
    assert [document.text for document in documents] == texts
    assert kept.characters <= 2 * len(large("a"))


def test_places_are_remembered_and_bounded() -> None:
    document = Document("retry and retries\nnothing\nretry\n")
    (term,) = terms_of(["retry"])
    assert document.lines_with(term) == (0, 0, 2)
    assert document.places_of(term) is document.places_of(term)
    for other in range(3 * POSTINGS_MAX):
        document.places_of(terms_of([f"w{other}"])[0])
    assert document.lines_with(term) == (0, 0, 2)


def test_a_thinned_text_keeps_what_is_asked_about_and_its_numbers() -> None:
    lines = [f"    step_{n} = {n}" for n in range(6 * LINES_MIN)]
    lines[4_000] = "def outer():"
    lines[4_040] = "    reticulate = splines"
    part, _ = thinned(Document("\n".join(lines)), terms_of(["splines"]), (), 2_000)
    assert len(part.lines) <= 2 * LINES_MIN
    assert part.lines == [lines[number] for number in part.numbers]
    assert {4_000, 4_040} <= set(part.numbers)
    assert part.count == len(lines)


def test_the_same_text_under_another_name_is_divided_anew() -> None:
    text = "id,name\n" + "".join(f"{n},part {n}\n" for n in range(4_000)) + "4001,splines\n"
    first = compress(text, "a.csv", ["splines"], 900)
    assert compress(text, "a.py", ["splines"], 900).kind == "code"
    assert compress(text, "a.csv", ["splines"], 900) == first
    assert "1  id,name" in first.text


def found(word: str, text: str) -> bool:
    return any(places_of(term, text, lower_of(text)) for term in terms_of([word]))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("retries", "def retry(self)"),
        ("retry", "the retries are over"),
        ("retri", "retry"),  # stemmed already
        ("expiration", "expired_at"),
        ("expir", "isExpired"),
        ("names", "fileName"),
        ("name", "file_name"),
        ("server", "HTTPServer"),
        ("http", "HTTPServer"),
        ("getUserName", "get_user_name"),
        ("get_users", "users"),
        ("url", "urls"),
        ("cache", "caching"),
        ("Größe", "die größe"),
        ("id", "userId"),
        ("class", "classes"),
    ],
)
def test_words_that_are_found(word: str, text: str) -> None:
    assert found(word, text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("name", "filename"),
        ("art", "start"),
        ("id", "idle"),
        ("set", "settle"),
        ("form", "transform"),
        ("retries", "retrieve"),
        ("port", "important"),
        ("a", "a"),
        ("", "anything"),
        ("x" * 65, "x" * 65),
    ],
)
def test_words_that_are_not_found(word: str, text: str) -> None:
    assert not found(word, text)


def test_the_weightiest_terms_come_first_and_are_bounded() -> None:
    terms = terms_of({"low": 0.5, "high": 3.0, "getItem": 2.0, "no": 0.0, "nan": math.nan, "inf": math.inf})
    assert [(term.prefix, term.weight) for term in terms] == [
        ("high", 3.0),
        ("getitem", 2.0),
        ("get", 1.2),
        ("item", 1.2),
        ("low", 0.5),
    ]
    assert len(terms_of([f"word{n}x" for n in range(500)])) == TERMS_MAX


def test_a_word_that_stands_everywhere_is_found_so_often_only() -> None:
    text = "retry " * (HITS_MAX + 10)
    (term,) = terms_of(["retry"])
    assert len(places_of(term, text, text)) == HITS_MAX


@pytest.mark.parametrize("text", ["İstanbul ABC", "ABC", "ǅ", "ß ẞ", ""])
def test_lower_case_keeps_every_place(text: str) -> None:
    assert len(lower_of(text)) == len(text)
    assert "abc" in lower_of(text) or "ABC" not in text
