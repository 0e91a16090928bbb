"""Replies and errors name nothing that is hidden from the agent, whichever method answers."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.api.guard import Sight, _without_hidden, visible_reply, without_texts
from foveal.daemon.core.errors import FovealError, InvalidRequest, NotFound
from foveal.daemon.privacy.policy import NO_POLICY, Policy

SIGHT = Sight(Policy("x", ("r",), deny_paths=("secret/**",)), "/p")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NotFound("no such thing; did you mean secret/a.py?"), "this can't be answered for this agent"),
        (InvalidRequest("is it secret/a.py?", "path"), "this can't be answered for this agent"),
        (NotFound("no such thing"), "no such thing"),
        (NotFound("no ghp_" + "a1B2c3D4e5" * 4), r"no \[masked\]"),
    ],
)
def test_errors_keep_their_kind_and_name_nothing_hidden(error: FovealError, message: str) -> None:
    with pytest.raises(type(error), match=message) as raised:
        raise _without_hidden(error, SIGHT)
    assert "secret" not in str(raised.value)
    if isinstance(error, InvalidRequest):
        assert isinstance(raised.value, InvalidRequest)
        assert raised.value.field == "path"


TOKEN = "ghp_" + "a1B2c3D4e5" * 4
HIDING_POLICY = Policy(
    "x", ("r",), deny_paths=("secret/**", "a b/**"), deny_items=("tool:db/*", "rule:deploy")
)
HIDING = Sight(HIDING_POLICY, "/p", frozenset({("reference", "plan", "")}))


def check(reply: dict[str, Any], expected: dict[str, Any]) -> None:
    assert visible_reply(HIDING, reply) == expected


@pytest.mark.parametrize(
    "hidden",
    [
        {"path": "secret/a.py", "line": 1},
        {"path": "/p/secret/a.py", "servers": []},
        {"node_id": "secret/a.py#f"},
        {"file": "secret/x"},
        {"type": "rule", "name": "deploy"},
        {"type": "rule", "name": "secret/AGENTS.md"},
        {"type": "tool", "name": "query", "server_name": "db"},
        {"type": "reference", "name": "plan"},
        {"decision": "d", "files_touched": ["secret/a.py"]},
        {"decision": "move secret/a.py", "files_touched": ["b.py"]},
        {"decision": "d", "files_touched": [], "outcome": {"kind": "failure", "error": "no secret/a.py"}},
        "secret/a.py",
        "/p/a b/c d.txt",
        "look at secret/a.py",
    ],
)
def test_entries_about_hidden_things_are_left_out_and_not_counted(hidden: Any) -> None:
    check({"things": [hidden, "kept"], "total": 7}, {"things": ["kept"], "total": 6})


def test_fields_keep_their_types() -> None:
    check(
        {"text": "see secret/a.py", "n": 3, "flag": True, "none": None, "inner": {"why": "secret/a.py"}},
        {"text": "", "n": 3, "flag": True, "none": None, "inner": {"why": ""}},
    )
    check({"context": {"files": ["/p/secret/a", "/p/b"]}}, {"context": {"files": ["/p/b"]}})
    check(
        {"decision": "d", "files_touched": ["secret/a.py", "b.py"]},
        {"decision": "d", "files_touched": ["b.py"]},
    )
    check(
        {"name": "db", "tools": [{"name": "query", "description": "d"}]},
        {"name": "db", "tools": []},
    )


def test_secrets_are_masked_except_in_sent_texts() -> None:
    reply = {"text": f"use {TOKEN}", "list": [TOKEN]}
    assert visible_reply(Sight(NO_POLICY, "/p"), reply) == {
        "text": "use [masked]32+",
        "list": ["[masked]32+"],
    }
    assert visible_reply(Sight(NO_POLICY, "/p", masks=False), reply) == reply


def test_sent_texts_are_left_out_with_a_reason() -> None:
    left = without_texts({"request_id": "r", "context": "c", "messages": [], "problem": ""})
    assert set(left) == {"request_id", "problem"}
    assert "isn't given" in left["problem"]
    assert without_texts({"request_id": "r"}) == {"request_id": "r"}
