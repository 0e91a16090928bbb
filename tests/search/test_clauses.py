"""Prose becomes clauses in a form in which phrasings can be told: names, paths and quotations as capitals."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import MAX_CLAUSES, MAX_TOKENS, split_clauses
from hypothesis import given
from hypothesis import strategies as st


def check(text: str, *forms: str) -> None:
    assert tuple(clause.form for clause in split_clauses(text)) == forms


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Who calls `f`?", ["who calls N"]),
        ("who's calling foo()?! And why?", ["who is calling N", "and why"]),
        ("in src/a.py, find \"two words\" or 'get_it'", ["in P , find Q or N"]),
        ("path:src/api rate limit", ["F rate limit"]),
        ("How does login work and who calls it?", ["how does login work", "who calls it"]),
        ("Where is Session, and why?", ["where is N ,", "why"]),
        ("I will drop it, what breaks?", ["i will drop it", "what breaks"]),
        ("Explain how it works and list the callers", ["explain how it works", "list the callers"]),
        ("does it include <zlib.h>?", ["does it include P"]),
        ("callers? cache.lru.evict", ["callers N"]),
        ("wHERE iS BuildGraph DEFINED??", ["where is N defined"]),
        ("wich files imoprt left_pad.js", ["which files import P"]),
        ("What's in Session.login's body?", ["what is in N body"]),
        ("what calls operator<< or Vec<Item>", ["what calls N or N"]),
        ("`f` - who calls it?", ["N who calls it"]),
        ("I'd drop f_x \u2013 what breaks?", ["i would drop N", "what breaks"]),
        ("a line\n\nanother", ["a line", "another"]),
        ("lines 10-40 of src/a.py", ["lines 10-40 of P"]),
        ("", []),
        (" ?! ...", []),
    ],
)
def test_forms(text: str, forms: list[str]) -> None:
    check(text, *forms)


def test_the_words_of_a_span_are_as_they_were_said() -> None:
    (clause,) = split_clauses("Which classes extend `Shape` today")
    start = clause.form.index("extend")
    assert clause.said(start, len(clause.form)) == "extend Shape today"
    assert [token.kind for token in clause.within(start, len(clause.form))] == ["word", "name", "word"]
    rest = clause.since(2)
    assert (rest.form, rest.offsets[0]) == ("extend N today", 0)
    assert clause.since(9).tokens == ()


def test_only_questions_ask() -> None:
    assert [clause.asks for clause in split_clauses("It fails. Why?")] == [False, True]


def test_the_work_is_bounded() -> None:
    clauses = split_clauses("word " * 5_000 + "end. " + "what now? " * 500)
    assert len(clauses) <= MAX_CLAUSES
    assert max(len(clause.tokens) for clause in clauses) <= MAX_TOKENS
    assert split_clauses("l'" * 5_000)


@given(st.text())
def test_capitals_are_placeholders_only(text: str) -> None:
    for clause in split_clauses(text):
        assert len(clause.tokens) == len(clause.offsets)
        for token, offset in zip(clause.tokens, clause.offsets, strict=True):
            assert clause.form.startswith(token.form, offset)
            assert (token.form in "NPQF") == (token.kind in {"name", "path", "quote", "filter"})
