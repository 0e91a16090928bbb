"""What the lines of a pool come to is the same in whichever order and however often they come."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterable, Sequence

import pytest
from foveal.daemon.memory.edits import Edit, PoolChanges
from foveal.daemon.memory.experience import Experience, Provenance
from foveal.daemon.memory.graft_batch import GraftBatch, marked_by, says_more
from foveal.daemon.memory.lines import line_of
from foveal.daemon.memory.pool_records import Records, words_of
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.properties import examples


def one(number: int, decision: str = "", second: int = 0) -> Experience:
    return Experience(
        f"x_{number}",
        f"2025-01-01T00:00:{second or number:02}.000Z",
        "a",
        "s",
        decision or f"decision {number}",
    )


def edit(number: int, of: int, kind: str, **changes: str) -> Edit:
    return Edit(f"e_{number}", f"x_{of}", f"2025-01-02T00:00:{number:02}.000Z", kind, PoolChanges(**changes))  # type: ignore[arg-type]


def records_of(lines: Iterable[Experience | Edit]) -> Records:
    records = Records()
    for line in lines:
        records.add(line)
    records.settle()
    return records


def test_of_lines_with_one_id_the_last_counts() -> None:
    records = records_of([one(1)])
    assert records.add(one(1)) is False
    assert records.add(replace(one(1), decision="changed by an editor"), shared=True) is False
    records.settle()
    assert [found.decision for found in records.shown()] == ["changed by an editor"]
    assert (len(records), records.deleted) == (1, 0)
    known = records.get("x_1")
    assert known is not None
    assert known.is_shared


def test_an_edit_moves_no_experience_among_those_of_its_moment() -> None:
    """Else a page that is asked for next could leave one out."""
    records = records_of([one(number, second=5) for number in range(4)])
    records.add(edit(1, 1, "update", decision="new"))
    records.add(edit(2, 2, "delete"))
    records.settle()
    records.add(edit(3, 2, "restore"))
    records.settle()
    assert [found.id for found in records.shown()] == ["x_3", "x_2", "x_1", "x_0"]
    assert [found.id for found in records.some(["x_1", "x_9", "x_0"])] == ["x_1", "x_0"]
    assert [found.id for found in records.relevant([], [], ["new"], 9)] == ["x_3", "x_2", "x_1", "x_0"]


def test_edited_experience_is_found_by_its_new_text() -> None:
    records = records_of([one(1, "about sockets"), one(2), edit(1, 1, "update", decision="about tokens")])
    assert [found.id for found in records.relevant([], [], ["token"], 1)] == ["x_1"]
    assert [found.id for found in records.relevant([], [], ["socket"], 1)] == ["x_2"], "the newest"
    assert records.known_as(one(1, "about sockets")) == "x_1", "what was grafted counts, not what it became"
    assert records.known_as(one(1, "about tokens")) is None


LINES = st.one_of(
    st.builds(one, st.integers(1, 4), st.sampled_from(["same", "other", ""]), st.integers(1, 3)),
    st.builds(
        edit, st.integers(1, 9), st.integers(1, 5), st.sampled_from(["delete", "restore", "update"]),
        decision=st.sampled_from(["new", "newer"]),
    ),
)  # fmt: skip


@settings(max_examples=examples(200))
@given(
    st.lists(LINES, min_size=1, max_size=12, unique_by=lambda line: line.id),
    st.randoms(use_true_random=False),
)
def test_no_order_and_no_repetition_matters(lines: list[Experience | Edit], chance: random.Random) -> None:
    shuffled = [*lines, *chance.choices(lines, k=len(lines))]
    chance.shuffle(shuffled)
    expected, found = records_of(lines), records_of(shuffled)
    assert sorted(found.shown(), key=str) == sorted(expected.shown(), key=str)
    assert found.trash() == expected.trash()
    assert found.shown() == sorted(found.shown(), key=lambda line: line.timestamp, reverse=True)


def made(decision: str, **more: object) -> Experience:
    """Return an experience without a time, which `choose` gives it."""
    return replace(Experience("", "", "a", "s", decision), **more)


def choose(
    experiences: Sequence[Experience],
    focus: Collection[str],
    neighbours: Collection[str],
    words: str,
    limit: int,
) -> list[str]:
    """Return the chosen decisions of experiences that were added one second after the other."""
    dated = [
        replace(
            experience,
            id=f"x_{number}",
            timestamp=experience.timestamp or f"2025-01-01T00:{number // 60:02}:{number % 60:02}.000Z",
        )
        for number, experience in enumerate(experiences)
    ]
    chosen = records_of(dated).relevant(focus, neighbours, words_of(words), limit)
    return [experience.decision for experience in chosen]


def test_the_order_of_relevance() -> None:
    def check(drafts: list[Experience], expected: str, limit: int, *, words: str = "") -> None:
        """Expect the chosen decisions for a focus on src/auth.py that imports lib/tokens.py, newest first."""
        chosen = choose(drafts, ["src/auth.py"], ["lib/tokens.py"], words, limit)
        assert " ".join(chosen) == expected

    focus, near, neighbour = ("src/auth.py",), ("src/b.py",), ("lib/tokens.py",)
    far = ("other/c.py",)
    # The same file goes before the same folder and a neighbour, those before words, those before the rest.
    pool = [
        made("file", files_touched=focus), made("folder", files_touched=near),
        made("import", files_touched=neighbour), made("expiry", files_touched=far),
        made("rest", files_touched=far),
    ]  # fmt: skip
    check(pool, "file", 1, words="session expiry")
    check(pool, "import folder file", 3, words="session expiry")
    check(pool, "expiry import folder file", 4, words="session expiry")
    check(pool, "rest expiry import folder file", 5, words="session expiry")
    # At equal relevance failures and reverts go first, else the newer one.
    check([made("old", files_touched=focus), made("new", files_touched=focus)], "new", 1)
    check([made("bad", files_touched=focus, outcome="failure"), made("new", files_touched=focus)], "bad", 1)
    check([made("same", files_touched=focus), made("bad", files_touched=near, outcome="failure")], "same", 1)
    # Words count within a rank, by parts of names, in singular and plural.
    check([made("SessionStore_expires", files_touched=focus), made("b", files_touched=focus)],
          "SessionStore_expires", 1, words="sessions")  # fmt: skip
    check([made("token"), made("the")], "token", 1, words="why the tokens")
    check([made("größe"), made("b")], "größe", 1, words="GRÖSSE Größe")
    # With nothing relevant, the most recent ones, whatever became of them.
    check([made("a", outcome="failure"), made("b"), made("c")], "c b", 2)
    check([], "", 5)
    check(pool, "", 0)
    # Newest is by time, not by the place in the file.
    check([made("late", timestamp="2024-06-01"), made("early", timestamp="2023-06-01")], "late early", 2)


def test_folder_in_focus_covers_files_below_it() -> None:
    both = [made("deep", files_touched=("src/a/b/c.py",)), made("other", files_touched=("srcs/a.py",))]
    for folder in ("src", "src/", "src/a", "src/a/b"):
        assert choose(both, [folder], [], "", 1) == ["deep"]
    for whole in ("", "."):
        assert choose(both, [whole], [], "", 1) == ["other"]


def test_words() -> None:
    def check(text: str, expected: str) -> None:
        assert words_of(text) == frozenset(expected.split())

    check("", "")
    check("the and why to of", "")
    check("SessionStore_expires HTTPServer", "session store expire http server")
    check("classes pass bus buses", "classe pass bus buse")
    check("größe Größe", "grösse")
    check("日本 x", "日本")
    check("sha256 utf8", "sha256 utf8")
    check("x" * 50, "x" * 40)


NOW = "2025-01-31T00:00:00.000Z"
ONE = Experience("", "2025-01-01T00:00:00.000Z", "a", "s", "Use WAL", files_touched=("db.py",))


def taken(records: Records, *experiences: Experience) -> tuple[GraftBatch, list[dict[str, object]]]:
    batch = GraftBatch(records, NOW)
    for number, experience in enumerate(experiences):
        batch.take(number, experience)
    return batch, [json.loads(line_of(record)) for record in batch.records()]


def test_a_failure_marks_each_other_once() -> None:
    records = records_of([replace(ONE, id="x_known")])
    failed = replace(ONE, agent_id="b", rationale="as x_known", outcome="failure", error="e", timestamp=NOW)
    batch, lines = taken(records, failed, replace(ONE, outcome="reverted"), replace(ONE, outcome="reverted"))
    [new] = batch.new.values()
    assert [(line.get("type"), line.get("of"), line.get("by")) for line in lines] == [
        (None, None, None),
        ("mark", "x_known", new.id),
        ("mark", "x_known", None),
    ]
    assert lines[1]["outcome"] == {"kind": "failure", "error": "e"}
    assert str(lines[2]["timestamp"]) > str(lines[1]["timestamp"])


FIRST = Experience("x_a1", "2025-01-01T00:00:00.000Z", "a", "s", "Use WAL", "", ("db.py", "a.py"))
LATER = Experience("x_b2", "2025-01-05T00:00:00.000Z", "b", "t", "Other", outcome="reverted")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"decision": "Revert x_a1"}, ["x_a1"]),
        ({"rationale": "since x_a1, and x_c3, broke it"}, ["x_a1", "x_c3"]),
        ({"outcome": "failure", "error": "x_a1: locked"}, ["x_a1"]),
        ({"decision": "Revert x_a1", "outcome": "success"}, []),
        ({"decision": "Revert x_a1", "outcome": ""}, []),
        ({"decision": "Revert x_a1", "provenance": Provenance("transcript", "", "low")}, []),
        ({"decision": "Revert x_a12 and max_a1"}, []),
    ],
)
def test_failures_mark_earlier_experiences(change: dict[str, object], expected: list[str]) -> None:
    records = records_of([FIRST, replace(FIRST, id="x_c3", decision="third", files_touched=())])
    later = replace(LATER, **change)
    assert list(marked_by(later, records)) == expected


def test_a_duplicate_says_more_once() -> None:
    records = records_of([replace(FIRST, outcome="success")])

    def check(outcome: str, expected: bool, trust: str = "normal") -> None:
        known = records.get("x_a1")
        assert known is not None
        again = replace(FIRST, outcome=outcome, provenance=Provenance("t", "", trust))  # type: ignore[arg-type]
        assert says_more(known, again) is expected

    check("", False)
    check("success", False)
    check("reverted", True)
    check("reverted", False, "low")
    records.add(Edit("e_1", "x_a1", "2025-01-02T00:00:00.000Z", "mark", PoolChanges(outcome="reverted")))
    records.add(Edit("e_2", "x_a1", "2025-01-03T00:00:00.000Z", "update", PoolChanges(outcome="success")))
    records.settle()
    check("reverted", False)
    check("failure", True)
