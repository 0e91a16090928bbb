"""What several projects answer comes in one order, with probabilities that compare."""

from __future__ import annotations

import asyncio
from math import log
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.config.linked import LinkedProject
from foveal.daemon.core.errors import ProjectUnavailable
from foveal.daemon.index.records import StoredChunk
from foveal.daemon.privacy.policy import NO_POLICY
from foveal.daemon.search.linked_answers import OWN_ODDS, chosen, lowered, of_files, placed, shifts, together
from foveal.daemon.search.query import FoundDefinition, Hit, SearchResult
from foveal.daemon.search.records import OtherProject, ProjectCall, SearchQuery
from foveal.daemon.workspace.service import Project
from msgspec.structs import replace

from tests.engine_cases import running_engine

API = LinkedProject("api", "../api", "/src/api")


def hit(probability: float, of_definition: float = 0.1, *, certainty: Any = "") -> Hit:
    chunk = StoredChunk(1, 1, "a.py", "python", 1, 9, "f", "function", (), b"")
    definitions = (FoundDefinition("a.py", None, 1, 9, of_definition),)
    return Hit(chunk, 0.5, certainty=certainty, definitions=definitions, probability=probability)


def result(*hits: Hit, near: bool = False) -> SearchResult:
    return SearchResult(hits, "hybrid", "hybrid", (), (), near=near)


def test_definitions_are_as_probable_as_their_files_let_them_be() -> None:
    own, other = result(hit(0.3, 0.6), hit(0.1, 0.2)), result(hit(0.9, 0.9))
    by_own, by_other = shifts([own, other])
    assert by_other == log(OWN_ODDS)
    less = lowered(own, by_own)
    assert [round(each.definitions[0].probability, 2) for each in less.hits] == [0.3, 0.07]
    assert [each.probability for each in less.hits] == [0.3, 0.1]
    assert lowered(other, 0) is other
    assert shifts([result(hit(0.2)), result(), result(hit(0.5, certainty="resolved"))])[0] == 0


def test_files_are_no_less_probable_than_those_behind_them() -> None:
    first, second = hit(0.2), hit(0.8)
    found = result(first, replace(second, chunk=replace(second.chunk, path="b.py")))
    assert of_files(found, is_own=True) == {"a.py#f": 0.8, "b.py#f": 0.8}
    assert of_files(found, is_own=False)["b.py#f"] == 0.7273


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([result(hit(0.2)), result(hit(0.3)), result()], [True, True, False]),
        ([result(hit(0.2)), result(hit(0, certainty="resolved"))], [False, True]),
        ([result(hit(0, certainty="name"), near=True), result(hit(0, certainty="resolved"))], [False, True]),
        ([result(hit(0, certainty="name"), near=True), result(hit(0.9))], [True, False]),
        ([result(hit(0.2)), result(hit(0, certainty="name"), near=True)], [True, False]),
        ([result(hit(0, certainty="resolved")), result(hit(0, certainty="name"))], [True, True]),
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


async def test_a_project_that_fails_or_is_late_is_named_and_the_others_answer(tmp_path: Path) -> None:
    async def late() -> Project:
        await asyncio.Event().wait()
        raise AssertionError

    async def failing() -> Project:
        raise ProjectUnavailable("its folder is gone")

    async with running_engine(tmp_path, {"shop/cart.py": "def pay_for(cart):\n    return cart\n"}) as (
        engine,
        project,
    ):
        others = [
            OtherProject(replace(API, prefix=f"../{each.__name__}"), NO_POLICY, each)
            for each in (late, failing)
        ]
        call = ProjectCall.begin(project, deadline_ms=1)
        found = await engine.answers.query(call, SearchQuery("where is pay_for defined", 10), others)
    assert [each["path"] for each in found["results"]] == ["shop/cart.py"]
    assert "../late didn't answer in time" in found["degraded"]
    assert "../failing can't be asked: its folder is gone" in found["degraded"]
