"""Single fields: a wrong type, a word that isn't one and a text too long name their field."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from foveal.daemon.memory.experience import (
    MAX_NAME_CHARACTERS,
    MAX_TEXT_BYTES,
    BadField,
    clean,
    clean_name,
    clean_text,
    files_in,
    normal_timestamp,
    outcome_in,
    outcome_kind,
    relative_files,
    text_in,
    trust_of,
)


def test_what_is_read_of_a_map() -> None:
    assert text_in({"a": "b"}, "a") == "b"
    assert text_in({"a": None}, "a", "default") == "default"
    assert files_in({}) == files_in({"files_touched": None}) == ()
    assert files_in({"files_touched": ["a", "b"]}) == ("a", "b")
    assert outcome_in({}) == outcome_in({"outcome": {}}) == ("", "")
    assert outcome_in({"outcome": {"kind": "odd", "error": "e"}}) == ("odd", "e")
    assert [outcome_kind(kind) for kind in ("", "success")] == ["", "success"]
    assert [trust_of(trust) for trust in ("normal", "low")] == ["normal", "low"]


@pytest.mark.parametrize(
    ("read", "field", "problem"),
    [
        (lambda: text_in({}, "a"), "a", "is missing"),
        (lambda: text_in({"a": 5}, "a", name="b.a"), "b.a", "must be a string"),
        (lambda: files_in({"files_touched": [5]}), "files_touched", "must be a list of strings"),
        (lambda: outcome_in({"outcome": []}), "outcome", "must be a map with kind and error"),
        (lambda: outcome_kind("odd"), "outcome.kind", "must be success, failure or reverted"),
        (lambda: trust_of(""), "trust", "must be normal or low"),
        (lambda: clean_name("id", "i" * (MAX_NAME_CHARACTERS + 1)), "id", "is longer than 200 characters"),
        (
            lambda: clean_text("rationale", "ä" * (MAX_TEXT_BYTES // 2 + 1)),
            "rationale",
            "is longer than 65536 bytes; shorten it",
        ),
        (
            lambda: normal_timestamp("0001-01-01T00:00:00+14:00"),
            "timestamp",
            "must be a time in ISO 8601, such as 2025-01-31T12:00:00Z",
        ),
    ],
)
def test_what_can_not_be_used(read: Callable[[], object], field: str, problem: str) -> None:
    with pytest.raises(BadField) as caught:
        read()
    assert (caught.value.field, str(caught.value)) == (field, problem)


def test_cleaning() -> None:
    assert clean("a\r\nb\rc\u2029d\te\x00") == "a\nb\nc\nd\te\ufffd"
    assert clean_text("decision", "  a\n") == "a"
    assert clean_name("id", " a\n b ") == "a b"
    assert relative_files(["a", "./a", "/p/b", "../c"], "/p") == (("a", "b"), 1)
