"""Questions are routed as an expert would, and asked of what they name: at least 95 % of the labelled ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from foveal.daemon.search.classify import MAX_SAID, Classification, asked_for, classify
from foveal.daemon.search.query import Relation, Route
from foveal.daemon.search.question import take_apart
from hypothesis import given
from hypothesis import strategies as st

QUERIES = Path(__file__).parents[1] / "test_queries.yaml"

REQUIRED = 0.95
"""The share of labelled queries that must be routed as labelled."""

REQUIRED_HELD_OUT = 0.90
"""The same for those that were never tuned on: 170 of 187 were right, 90.9 %, when first measured. Their rows
aren't shown when this fails, so that they stay what they are."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A row of the file, with its text repeated as it says."""

    query: str
    route: Route
    note: str
    held_out: bool
    relation: Relation | None
    subjects: tuple[str, ...]


def labelled() -> list[Labelled]:
    rows = yaml.safe_load(QUERIES.read_text(encoding="utf-8"))
    return [
        Labelled(
            row["query"] + (row["repeat"]["text"] * row["repeat"]["times"] if "repeat" in row else ""),
            row["route"],
            row["note"],
            row.get("held_out", False),
            row.get("relation"),
            tuple(row.get("subjects", ())),
        )
        for row in rows
    ]


def route(text: str) -> Classification:
    return classify(take_apart(text))


def check_accuracy(rows: list[Labelled], required: float) -> None:
    missed = [row for row in rows if route(row.query).route != row.route]
    shown = "\n".join(f"{row.route}: {row.query[:120]!r} ({row.note})" for row in missed if not row.held_out)
    assert len(rows) - len(missed) >= required * len(rows), f"{len(missed)} of {len(rows)} missed\n{shown}"


def test_there_are_enough_labelled_queries_of_each_kind() -> None:
    rows = labelled()
    assert len(rows) >= 500
    assert 5 * sum(row.held_out for row in rows) >= len(rows)
    assert {row.route for row in rows} == {"structural", "positional", "semantic", "hybrid"}
    assert len({row.query for row in rows}) == len(rows)
    assert any(len(row.query) > 4_096 for row in rows)


def test_labelled_queries_are_routed_as_labelled() -> None:
    check_accuracy(labelled(), REQUIRED)


def test_queries_that_were_never_tuned_on_are_routed_nearly_as_well() -> None:
    check_accuracy([row for row in labelled() if row.held_out], REQUIRED_HELD_OUT)


def test_structural_queries_are_asked_for_their_relation_of_their_subjects() -> None:
    rows = [row for row in labelled() if row.relation and not row.held_out]
    assert len(rows) >= 160
    found = [(row, route(row.query)) for row in rows]
    missed = [
        f"{row.query[:120]!r}: {one.relation} {one.subjects}, not {row.relation} {row.subjects}"
        for row, one in found
        if (one.relation, one.subjects) != (row.relation, row.subjects)
    ]
    assert len(rows) - len(missed) >= REQUIRED * len(rows), "\n".join(missed)


@pytest.mark.parametrize(
    ("query", "relation", "subjects"),
    [
        ("Is `read_frame` tested? Who calls it?", "tests", ("read_frame",)),
        ("I have a question about `read_frame`. Who calls it?", "callers", ("read_frame",)),
        ("`read_frame`: who calls this?", "callers", ("read_frame",)),
        ("`read_frame` - who still uses it?", "references", ("read_frame",)),
        ("who calls the function below?\n```go\nfunc (s *Srv) Close() error {\n```", "callers", ("Close",)),
        ("```c\nstatic int read_frame(struct f *f) {\n```\nWhere is this function used?", "references", ()),
    ],
)
def test_what_was_named_before_is_meant(query: str, relation: str, subjects: tuple[str, ...]) -> None:
    found = route(query)
    assert (found.relation, found.subjects) == (relation, subjects or ("read_frame",))


@pytest.mark.parametrize(
    ("query", "relation", "depth"),
    [
        ("callers of callers of `f_x`", "impact", 2),
        ("callers of `f_x` to depth 3", "impact", 3),
        ("what does `f_x` call, two levels deep", "callees", 2),
        ("who calls `f_x` directly", "callers", 1),
        ("who calls `f_x`", "callers", 0),
    ],
)
def test_a_depth_is_told(query: str, relation: str, depth: int) -> None:
    found = route(query)
    assert (found.relation, found.depth) == (relation, depth)


@pytest.mark.parametrize(
    "query",
    [
        "Wer ruft parse_datei auf?",
        "où est définie la classe PanierVide",
        "哪些函数调用了 authenticate_user",
        "Найди проверку пароля в файле users.py",
        "Füge parse_datei einen Parameter hinzu",
    ],
)
def test_only_english_asks_for_a_relation_or_a_place(query: str) -> None:
    found = route(query)
    assert found.route in {"semantic", "hybrid"}
    assert (found.relation, found.places) == (None, ())


@pytest.mark.parametrize(
    ("relation", "query", "subjects"),
    [
        ("callers", "parse_datei", ("parse_datei",)),
        ("callers", "login", ("login",)),
        ("callers", "Wer ruft `parse_datei` auf?", ("parse_datei",)),
        ("connection", "from on_click to delete_row", ("on_click", "delete_row")),
        ("importers", "src/a.ts", ("src/a.ts",)),
        ("cycles", "", ()),
    ],
)
def test_a_relation_that_the_caller_says_is_asked_of_the_names(
    relation: Relation, query: str, subjects: tuple[str, ...]
) -> None:
    found = asked_for(relation, take_apart(query))
    assert (found.route, found.relation, found.subjects) == ("structural", relation, subjects)


def test_what_is_asked_about_is_no_place_to_look_in() -> None:
    assert route("what depends on models/user.py").places == ()
    assert [place.name for place in route("who imports a/b.py in src/web?").places] == ["src/web"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What functions call authenticate?", "structural"),
        ("How does the authentication flow work?", "semantic"),
        ("Find the login function in auth module", "hybrid"),
        ("Explain the API", "hybrid"),
        ("Find X in section Y", "positional"),
    ],
)
def test_fixed_examples(query: str, expected: Route) -> None:
    assert route(query).route == expected


def test_a_structural_question_tells_relation_and_subjects() -> None:
    found = route("Which functions in src/api call `authorize`?")
    assert (found.route, found.relation, found.subjects) == ("structural", "callers", ("authorize",))
    assert [place.name for place in found.places] == ["src/api"]
    assert found.evidence == ("asks for callers: call authorize",)
    assert route("how does `submit` reach `Queue.push`?").subjects == ("submit", "Queue.push")


def test_a_positional_question_tells_thing_and_place() -> None:
    found = route('find the timeout option in the "Configuration" section of README.md')
    assert found.route == "positional"
    assert [(place.kind, place.name) for place in found.places] == [
        ("section", "Configuration"),
        ("file", "README.md"),
    ]
    assert found.thing == "timeout option"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("How does it work and who calls `f`?", "asks in several ways"),
        ("please rename foo to bar", "commands a change: rename foo to bar"),
        ("Traceback (most recent call last):\n  File 'a.py'", "holds a pasted trace"),
        ("Why?\n```\nx = 1\n```\nHow is it sorted here?", "holds pasted code"),
        ("login", "names no relation and no place, and asks no question in words"),
        ("why is it slow", "asks in words: why is it slow"),
    ],
)
def test_the_evidence_says_why(query: str, reason: str) -> None:
    assert route(query).evidence[0] == reason


def test_background_counts_for_nothing() -> None:
    assert route("I am new here. We use sockets. How are they closed? Thanks!").route == "semantic"
    assert (
        route("We moved to a/b.py. Then it broke. Nobody knows. Sad. It fails in a/c.py. Help.").route
        == "hybrid"
    )


@given(st.text())
def test_any_text_has_a_route_and_a_reason(text: str) -> None:
    found = route(text)
    assert found.evidence
    assert all(len(reason) < MAX_SAID + 100 for reason in found.evidence)
    assert (found.relation is not None) == (found.route == "structural")
    assert bool(found.places) >= (found.route == "positional")
