"""What a context left out is recorded with its reason, and the limit that bound is the one named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from foveal.daemon.context.misses import NEAR_MAX, limit_of, verdict_of
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.context.selection import Dropped, Form, Selection, Slice, fixed

from tests.conftest import DaemonProcess, write_files

ROUTES = "".join(
    f'def route_{number}(path: str) -> str:\n    """Return the route number {number} of a path."""\n'
    f'    return path + "{number}"\n\n\n'
    for number in range(30)
)


def selection(*, dropped: bool) -> Selection:
    piece = Slice("focus:a.py", "focus", "focus", 1.0, (0,), *fixed(Form("x" * 40)))
    return Selection((), {}, (Dropped(piece, "budget"),) if dropped else ())


@pytest.mark.parametrize(
    ("tokens", "size", "dropped", "late", "limit"),
    [
        (990, 3_000, True, False, "max_tokens"),
        (400, 9_990, True, False, "max_bytes"),
        (400, 9_990, False, False, ""),
        (10, 40, False, True, "deadline_ms"),
        (0, 0, True, False, "max_tokens"),
    ],
)
def test_the_limit_that_bound_is_the_one_that_was_used_up(
    tokens: int, size: int, dropped: bool, late: bool, limit: str
) -> None:
    request = ContextRequest(max_tokens=1_000, reserve_tokens=0, max_bytes=10_000)
    reply = {"tokens": tokens, "bytes": size}
    assert limit_of(request, selection(dropped=dropped), reply, late) == limit


def reply_map(**fields: Any) -> dict[str, Any]:
    slices = [{"type": "document", "compressed": False}, {"type": "rule", "compressed": True}]
    found = {"tokens": 2_257, "bytes": 9_390, "slices": slices, "gaps": [], "degraded": [], "partial": False}
    return {**found, "limit": "", "near": (), **fields}


def test_a_verdict_names_the_limit_with_its_number() -> None:
    request = ContextRequest(max_tokens=8_000, reserve_tokens=0, max_bytes=9_400)
    dropped = [{"id": "document:a.py#f", "reason": "budget"}, {"id": "needed:b.py#g", "reason": "budget"}]
    assert verdict_of(request, reply_map(limit="max_bytes", dropped=dropped), 35.2) == (
        "Sent 2,257 tokens in 35 ms: 2 slices. The 9,400 bytes are used up: 1 slice had no room, 1 was shortened."
    )
    assert "Nothing was cut for lack of room; 1 other place fit less well and was not sent." in verdict_of(
        request, reply_map(near=[{"kind": "place"}, {"kind": "rule"}]), 1.0
    )


def test_a_verdict_on_nothing_says_why() -> None:
    gaps = ["what was found for the prompt is left out: it only thanks"]
    nothing = reply_map(tokens=0, bytes=0, slices=[], gaps=gaps)
    assert verdict_of(ContextRequest(news=True), nothing, 2.0).startswith(
        "Sent 0 tokens in 2 ms: nothing, as it only thanks."
    )


@pytest.fixture(scope="module")
def given(
    shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, Any]]:
    """Give a function that asks for a context and returns it as it was built."""
    files = {"src/routes.py": ROUTES, "CLAUDE.md": "# Rules\n\n" + "Be brief about routes. " * 60}
    root = str(write_files(tmp_path_factory.mktemp("p"), files))
    shared_daemon.open_ready(root)

    def ask(**fields: Any) -> dict[str, Any]:
        asked = {"cwd": root, "prompt": "Which function returns the route of a path?", "reserve_tokens": 0}
        reply = shared_daemon.call("GetContext", **{**asked, **fields})
        built: dict[str, Any] = shared_daemon.call("GetBuiltContext", context_id=reply["context_id"])
        assert not {"near", "limit", "verdict"} & reply.keys(), "the answer stays as it was"
        assert built["context"] == reply["context"]
        return built

    return ask


def test_places_without_room_are_near_misses_the_most_probable_first(
    given: Callable[..., dict[str, Any]],
) -> None:
    built = given(max_tokens=700)
    places = [miss for miss in built["near"] if miss["kind"] == "place"]
    assert 0 < len(places) <= NEAR_MAX
    assert [miss["score"] for miss in places] == sorted((miss["score"] for miss in places), reverse=True)
    shown = {part["id"].partition(":")[2] for part in built["slices"]}
    assert shown.isdisjoint(miss["node_id"] for miss in places)
    assert all(miss["reason"] for miss in places)
    assert places[0]["node_id"] == f"{places[0]['path']}#{places[0]['symbol']}"
    assert built["near"] == given(max_tokens=700, task_type="fix")["near"], "it is deterministic"


def test_a_rule_without_room_is_a_miss(given: Callable[..., dict[str, Any]]) -> None:
    built = given(max_tokens=20)
    assert ("rule", "CLAUDE.md") in [(miss["kind"], miss.get("name")) for miss in built["near"]]
    assert built["limit"] == "max_tokens"
