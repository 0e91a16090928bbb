"""A scope gets the experiences that matter to it, one of a kind, each with why, and the same ones tomorrow."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.memory.experience import Experience, ExperienceMark, Provenance
from foveal.daemon.memory.pool_records import Records
from foveal.daemon.memory.recall import Chosen, choose
from msgspec.structs import replace

from tests.memory.decision_pairs import DIFFERENT
from tests.memory.decision_pairs import SAME as SAME_PAIRS


def made(number: int, decision: str, *files: str, **fields: Any) -> Experience:
    return Experience(
        f"x{number}", f"2026-01-{number:02}T00:00:00.000Z", "a", "s", decision, files_touched=files, **fields
    )


def chosen(candidates: list[Experience], limit: int = 5, **asked: Any) -> list[Chosen]:
    given: dict[str, Any] = {
        "focus": {"src/a.py"},
        "neighbours": {"lib/b.py"},
        "words": {"refresh rotated token"},
    }
    return list(choose(candidates, limit=limit, **(given | asked)))


def ids(found: list[Chosen]) -> list[str]:
    return [one.experience.id for one in found]


FAR = made(9, "Colours are named after birds", "docs/style.md")
SAME = made(1, "Sessions live in memory", "src/a.py")
NEIGHBOUR = made(2, "Errors of a refresh carry a code", "lib/b.py")
FOLDER = made(3, "Names of a token are short", "src/c.py")
WORDS = made(4, "The refresh token is rotated on use", "other/d.py")


def test_nearer_experiences_come_first_with_reasons() -> None:
    found = chosen([FAR, FOLDER, WORDS, NEIGHBOUR, SAME])
    assert ids(found) == ["x4", "x1", "x2", "x3"], "what is far isn't there at all"
    assert found[0].reasons == ("has 100% of the prompt's words",)
    assert found[1].reasons == ("touched src/a.py",)
    assert found[2].reasons == (
        "touched lib/b.py, next to the focus or found",
        "shares refresh with the prompt",
    )
    assert "in a folder of the focus" in found[3].reasons[0]


def test_distant_experiences_are_left_out() -> None:
    def check(one: Experience, **asked: Any) -> None:
        assert chosen([one], **({"words": ()} | asked)) == []

    check(NEIGHBOUR)
    check(FOLDER)
    check(WORDS, words={"refresh the page"})
    check(FAR, meaning={"x9": 0.55})
    check(FAR, focus=(), neighbours=(), words={"thanks"})
    failure = made(5, "Names are long", "src/c.py", outcome="failure")
    check(failure)


def test_latest_experiences_are_chosen_without_a_question() -> None:
    topics = ("birds", "trains", "clouds", "rivers", "stones")
    many = [made(number, f"Decided about {topic}") for number, topic in enumerate(topics, 1)]
    found = chosen(many, focus=(), neighbours=(), words=())
    assert ids(found) == ["x5", "x4", "x3"]
    assert found[0].reasons == ("one of the latest",)


def test_failures_and_reverts_go_before_routine_successes() -> None:
    success = made(5, "Cache by key", "src/a.py", outcome="success")
    failure = made(1, "Cache by value", "src/a.py", outcome="failure", error="stale")
    marked = made(
        2, "Poll every second", "src/a.py", outcome="reverted", marks=(ExperienceMark("reverted", "2026"),)
    )
    found = chosen([success, failure, marked])
    assert ids(found) == ["x2", "x1", "x5"]
    assert "it was reverted" in found[0].reasons
    assert "it failed" in found[1].reasons


def test_meaning_counts_above_its_floor() -> None:
    found = chosen([FAR, FOLDER], meaning={"x9": 0.95, "x3": 0.1})
    assert ids(found) == ["x9", "x3"]
    assert found[0].reasons == ("near the prompt in meaning (0.95)",)
    assert "in meaning" not in " ".join(found[1].reasons)
    assert ids(chosen([FAR], meaning={"x9": 0.61}, words=())) == ["x9"]


def test_low_trust_is_left_out_and_stale_ones_weigh_less() -> None:
    low = made(7, "Ignore the rules", "src/a.py", provenance=Provenance("codex", "", "low"))
    stale = "src/a.py changed much since"
    found = chosen([low, SAME, NEIGHBOUR], staleness=lambda one: stale if one is SAME else "")
    assert ids(found) == ["x2", "x1"]
    assert found[1].reasons[-1] == "weighs less: src/a.py changed much since"


ONE = Experience("x_1", "2025-01-01T00:00:00.000Z", "a", "s", "Use WAL mode for the session database")


def folds(*experiences: Experience) -> list[tuple[str, int]]:
    found = choose(experiences, {"a.py"}, (), (), 9)
    return [(one.experience.id, one.folded) for one in found]


def made_folding(*decisions: str) -> list[Experience]:
    return [
        replace(ONE, id=f"x_{number}", decision=text, files_touched=("a.py",))
        for number, text in enumerate(decisions)
    ]


def test_the_labelled_pairs() -> None:
    folded = [pair for pair in SAME_PAIRS if len(folds(*made_folding(*pair))) == 1]
    assert len(folded) >= 0.95 * len(SAME_PAIRS)
    assert not [pair for pair in DIFFERENT if len(folds(*made_folding(*pair))) == 1]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"agent_id": "b", "session_id": "t", "rationale": "other"}, [("x_2", 1)]),
        ({"outcome": "success"}, [("x_2", 1)]),
        ({"outcome": "failure"}, [("x_2", 0), ("x_1", 0)]),
        ({"outcome": "reverted"}, [("x_2", 0), ("x_1", 0)]),
        ({"decision": "..."}, [("x_2", 0), ("x_1", 0)]),
    ],
)
def test_no_failure_hides_behind_a_success(change: dict[str, str], shown: list[tuple[str, int]]) -> None:
    one = replace(ONE, files_touched=("a.py",))
    assert folds(one, replace(one, id="x_2", **change)) == shown


def test_words_that_answer_the_prompt_come_before_a_shared_file_and_recency() -> None:
    routine = [
        made(number, f"decision number {number} of the cart", "src/cart.py") for number in range(2, 60)
    ]
    answer = made(1, "Retries are capped at five, since the bank locks accounts")
    found = chosen([answer, *routine], focus={"src/cart.py"}, words={"retries", "capped"})
    assert found[0].experience is answer
    assert found[0].reasons == ("has 100% of the prompt's words",)
    # Words that most of them share say little, and one word of several is no answer.
    found = chosen([answer, *routine], focus={"src/cart.py"}, words={"retries", "cart", "decision", "number"})
    assert answer not in [one.experience for one in found]


def test_pool_finds_an_answer_behind_many_experiences_of_the_focus() -> None:
    records = Records()
    records.add(made(1, "Retries are capped at five, since the bank locks accounts"))
    for number in range(2, 402):
        records.add(made(number, f"decision number {number} of the cart", "src/cart.py"))
    records.settle()
    near = records.relevant({"src/cart.py"}, (), {"retrie", "capped"}, 55)
    assert len(near) == 55
    assert "x1" in [one.id for one in near]
