"""What a change breaks is asked with words for change and for breaking, or supposed; reports ask for nothing."""

from __future__ import annotations

import pytest
from foveal.daemon.search.clauses import split_clauses
from foveal.daemon.search.relation_phrases import find_impact, find_planned_impact, planned_change


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("what breaks if I change f_x", "f_x"),
        ("If the signature of Matrix4::invert changes, what else has to be adapted", "Matrix4::invert"),
        ("if the return type of f_x changes, what needs updating", "f_x"),
        ("after modifying f_x, what do I need to re-check", "f_x"),
        ("what breaks if f_x throws", "f_x"),
        ("what happens to callers if f_x becomes async", "f_x"),
        ("who would notice if f_x disappeared", "f_x"),
        ("who is going to be hit when class f_x goes away", "f_x"),
        ("ripple effects of a change in f_x", "f_x"),
        ("how risky is it to change f_x", "f_x"),
        ("can I safely delete f_x", "f_x"),
        ("could f_x be removed", "f_x"),
        ("what breaks if I rename login", "login"),
        ("what happens when the signature changes between releases", None),
        ("what happens if f_x gets an empty list", None),
        ("what does f_x change", None),
        ("which tests fail if I change f_x", None),
    ],
)
def test_impact(text: str, subject: str | None) -> None:
    found = find_impact(split_clauses(text)[0], asks=True, pronouns=False)
    assert (found.subjects if found else None) == ((subject,) if subject else None)


def test_a_plan_is_what_the_next_sentence_asks_about() -> None:
    (plan, question) = split_clauses("I want to get rid of f_x. What would that affect?")
    assert planned_change(plan) == "f_x"
    found = find_planned_impact(question, "f_x")
    assert found is not None
    assert found.subjects == ("f_x",)
    assert planned_change(split_clauses("I want you to delete f_x.")[0]) == ""
