"""Query over the real socket: what it answers, takes and refuses; without embeddings, see test_cli_embed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DaemonProcess
from tests.daemon.test_methods import PROTOCOL, check_types, documented_fields, ready_shop
from tests.site_cases import over_socket

__all__ = ["ready_shop"]

REPLY_TYPES: dict[str, type | tuple[type, ...]] = {
    "project": str,
    "intent": str,
    "route": str,
    "evidence": list,
    "results": list,
    "degraded": list,
    "clock": str,
    "elapsed_ms": (int, float),
}
RESULT_TYPES: dict[str, type | tuple[type, ...]] = {
    "node_id": str,
    "path": str,
    "start_line": int,
    "end_line": int,
    "kind": str,
    "score": float,
    "sources": dict,
    "line": int,
    "snippet": str,
    "snippet_line": int,
    "language": str,
    "why": list,
}


def paths(reply: Any) -> list[str]:
    return [result["path"] for result in reply["results"]]


def test_reply(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    reply = shared_daemon.call("Query", cwd=ready_shop, query="how does a session expire?")
    check_types(reply, REPLY_TYPES)
    described = re.search(r"The answer: (`\{.*?results: )\[\{(.*?)\}\](, degraded.*)", PROTOCOL)
    assert described is not None
    assert documented_fields(described[1] + described[3]) == {*REPLY_TYPES, "hint"}
    assert (reply["project"], reply["intent"], reply["route"]) == (ready_shop, "semantic", "semantic")
    assert reply["degraded"] == []
    assert paths(reply)[0] == "src/shop/sessions.py"
    assert len(set(paths(reply))) == len(reply["results"]), "one result a file"
    scores = [result["score"] for result in reply["results"]]
    assert scores == sorted(scores, reverse=True)
    optional = {"symbol", "enclosing", "certainty", "via", "reference", "steps", "more"}
    optional |= {"root", "repository", "probability"}
    assert documented_fields(f"`{described[2]}`") == {*RESULT_TYPES, *optional}
    for result in reply["results"]:
        check_types({name: value for name, value in result.items() if name not in optional}, RESULT_TYPES)
        assert set(result["sources"]) <= {"tree", "lexical", "vector"}
        text = (Path(ready_shop) / result["path"]).read_text().split("\n")
        first = result["snippet_line"] - 1
        lines = result["snippet"].split("\n")
        assert text[first : first + len(lines)] == lines
        assert result["start_line"] <= result["line"] <= result["end_line"]


def test_parameters_are_those_of_the_protocol(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    signature = PROTOCOL.partition("## Query\n\n")[2].partition("\n")[0]
    wrong: dict[str, Any] = {
        "scope_id": "none",
        "query": 1,
        "limit": 1_001,
        "route": "astral",
        "relation": "enemies",
        "path_prefix": "../x",
        "glob": "!x",
        "languages": ["pyton"],
        "kinds": "class",
        "symbol": 1,
        "changed_since": "yesterday",
        "min_score": 2,
        "for_agent": "yes",
        "all_projects": "yes",
        "fresh": "never",
        "deadline_ms": -1,
    }
    signature = signature.replace(" | scope_id", ", scope_id")
    assert documented_fields(signature) == {"cwd", *wrong}
    for name, value in wrong.items():
        error = shared_daemon.error("Query", **{"cwd": ready_shop, "query": "x", name: value})
        if name == "scope_id":
            assert error.code == "not_found"
        else:
            assert (error.code, error.data) == ("invalid_params", {"field": name})
    assert shared_daemon.error("Query", cwd=ready_shop).data == {"field": "query"}
    assert shared_daemon.error("Query", query="x").data == {"field": "cwd"}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"path_prefix": "web"}, {"web/money.ts", "web/app.ts"}),
        ({"path_prefix": "web/"}, {"web/money.ts", "web/app.ts"}),
        ({"path_prefix": "."}, {"web/money.ts", "web/app.ts"}),
        ({"path_prefix": "./"}, {"web/money.ts", "web/app.ts"}),
        ({"path_prefix": "web/m"}, {"web/money.ts"}),
        ({"path_prefix": "we/"}, set()),
        ({"glob": "web/a*"}, {"web/app.ts"}),
        ({"languages": ["python"]}, set()),
        ({"symbol": "total"}, {"web/money.ts"}),
        ({"changed_since": "2999-01-01"}, set()),
        ({"changed_since": "2000-01-01T00:00:00Z"}, {"web/money.ts", "web/app.ts"}),
    ],
)
def test_filters(
    shared_daemon: DaemonProcess, ready_shop: str, filters: dict[str, Any], expected: set[str]
) -> None:
    reply = shared_daemon.call("Query", cwd=ready_shop, query="total prices", **filters)
    assert set(paths(reply)) == expected
    assert ("hint" in reply) == (not expected)


def test_a_project_can_be_opened_by_a_folder_in_it(shared_daemon: DaemonProcess, shop: Path) -> None:
    assert shared_daemon.call("OpenProject", cwd=str(shop / "src"))["root"] == str(shop)


def test_embedding_that_is_switched_off(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    (project,) = shared_daemon.call("Status", cwd=ready_shop)["projects"]
    assert (project["embedding"], project["embedded"], project["pending"]) == ("off", 0, 0)
    assert project["chunks"] > 0
    assert shared_daemon.call("Status")["embedder"] is None
    assert shared_daemon.error("SetEmbedding", paused=True).code == "unsupported"
    assert shared_daemon.error("SetEmbedding").data == {"field": "paused"}
    assert shared_daemon.error("SetEmbedding", paused="yes").data == {"field": "paused"}


async def test_over_http(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    async with over_socket(shared_daemon.socket) as http:
        question = {"cwd": ready_shop, "query": "who imports src/shop/auth.py?", "limit": 5, "min_score": 0}
        async with http.post("/rpc/Query", json=question) as response:
            reply = await response.json()
            assert (response.status, reply["route"], paths(reply)) == (
                200,
                "structural",
                ["src/shop/cart.py"],
            )
        async with http.post("/rpc/Query", json={**question, "glob": "!x"}) as response:
            assert (response.status, (await response.json())["data"]) == (400, {"field": "glob"})
        async with http.get("/rpc/Query", params={"cwd": ready_shop, "query": "x"}) as response:
            assert (response.status, response.headers["Allow"]) == (405, "POST")
