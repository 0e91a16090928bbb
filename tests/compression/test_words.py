"""Words of a prompt are found in a text in each of their forms, and nowhere else."""

from __future__ import annotations

import math

import pytest
from foveal.daemon.compression.words import TERMS_MAX, lower_of, places_of, terms_of


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
