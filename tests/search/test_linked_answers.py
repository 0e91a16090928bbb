"""What several projects answer comes in one order, with probabilities that compare."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
from foveal.daemon.config.linked import LinkedProject
from foveal.daemon.index.records import StoredChunk
from foveal.daemon.search.linked_answers import OWN_ODDS, chosen, lowered, placed, rated, shifts, together
from foveal.daemon.search.query import FoundDefinition, Hit, SearchResult
from msgspec.structs import replace

API = LinkedProject("api", "../api", "/src/api")


def hit(probability: float, certainty: Any = "") -> Hit:
    chunk = StoredChunk(1, 1, "a.py", "python", 1, 9, "f", "function", (), b"")
    definitions = (FoundDefinition("a.py", None, 1, 9, probability / 2),)
    return Hit(chunk, 0.5, certainty=certainty, definitions=definitions, probability=probability)


def result(*hits: Hit, near: bool = False) -> SearchResult:
    return SearchResult(hits, "hybrid", "hybrid", (), (), near=near)


def test_the_best_file_of_all_projects_lowers_the_others() -> None:
    own, other = result(hit(0.3), hit(0.1)), result(hit(0.9))
    by_own, by_other = shifts([own, other])
    assert by_other == log(OWN_ODDS)
    assert by_own > by_other
    less = lowered(own, by_own)
    assert 0 < less.hits[0].probability < 0.3
    assert 0 < less.hits[0].definitions[0].probability < 0.15
    assert less.hits[0].probability > less.hits[1].probability
    assert lowered(other, 0) is other
    assert shifts([result(hit(0.2)), result(), result(hit(0.5, "resolved"))]) == [0, by_other, by_other]


def test_a_hit_is_as_probable_as_its_best_definition_or_what_comes_behind() -> None:
    own = result(hit(0.2), hit(0.8))
    own = replace(
        own, hits=(own.hits[0], replace(own.hits[1], chunk=replace(own.hits[1].chunk, path="b.py")))
    )
    assert rated(own) == {"a.py#f": 0.4, "b.py#f": 0.4}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([result(hit(0.2)), result(hit(0.3)), result()], [True, True, False]),
        ([result(hit(0.2)), result(hit(0, "resolved"))], [False, True]),
        ([result(hit(0, "name"), near=True), result(hit(0, "resolved"))], [False, True]),
        ([result(hit(0, "name"), near=True), result(hit(0.9))], [True, False]),
        ([result(hit(0.2)), result(hit(0, "name"), near=True)], [True, False]),
        ([result(hit(0, "resolved")), result(hit(0, "name"))], [True, True]),
    ],
)
def test_exact_answers_come_alone(results: list[SearchResult], expected: list[bool]) -> None:
    assert chosen(results) == expected


def place(name: str, probability: float, **fields: Any) -> dict[str, Any]:
    return {"path": name, "probability": probability, **fields}


def test_a_definition_comes_whole_only_if_it_is_clearly_the_best() -> None:
    sure, near, far = place("own", 0.5, definition="def f", needs=[]), place("b", 0.4), place("c", 0.1)
    assert together([far, sure], 8) == [sure]
    assert together([near, sure], 8) == [place("own", 0.5), near]
    assert together([place("b", 0.5), sure, far], 2) == [place("b", 0.5), place("own", 0.5)]
    resolved, named = {"path": "r", "certainty": "resolved"}, {"path": "n", "certainty": "name"}
    assert together([named, resolved], 8) == [resolved, named]
    many = [resolved | {"line": line} for line in range(9)]
    others = [resolved | {"root": "/b", "line": line} for line in range(3)]
    assert together([*many, *others], 6) == [*many[:3], *others]
    assert together([*many, *others[:1]], 6) == [*many[:5], others[0]]


def test_paths_are_seen_from_the_project_that_links() -> None:
    entry = {
        "node_id": "a.py#f",
        "path": "a.py",
        "snippet": "path = 1",
        "steps": ["b.py#g"],
        "reference": {"path": "c.py", "line": 3},
        "needs": [{"node_id": "d.py#h", "text": "d.py"}],
        "more": [],
    }
    assert placed(API, entry) == {
        "node_id": "../api/a.py#f",
        "path": "../api/a.py",
        "snippet": "path = 1",
        "steps": ["../api/b.py#g"],
        "reference": {"path": "../api/c.py", "line": 3},
        "needs": [{"node_id": "../api/d.py#h", "text": "d.py"}],
        "more": [],
    }
