"""Replies, events and errors show an agent nothing that is hidden from it, by the marks of their fields."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from foveal.daemon.api.events import EVENTS
from foveal.daemon.api.marks import (
    Claim,
    Count,
    File,
    KindOfItem,
    NameOfItem,
    Owner,
    Plain,
    Remark,
    Root,
    Said,
    Sent,
    Server,
    SliceId,
    Text,
    Touched,
    shape_of,
)
from foveal.daemon.api.reply_filter import WITHHELD, ReplyFilter, roots_in
from foveal.daemon.core.errors import FovealError, InvalidRequest, NotFound
from foveal.daemon.core.events import Topic
from foveal.daemon.privacy.policy import NO_POLICY, Policy
from msgspec import Struct

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
HIDING_POLICY = Policy(
    "x", ("r",), deny_paths=("secret/**", "a b/**"), deny_items=("tool:db/*", "rule:deploy")
)
HIDING = ReplyFilter(HIDING_POLICY, "/p", frozenset({("reference", "plan", "")}))
SEEING = ReplyFilter(NO_POLICY, "/p")


class Place(Struct):
    path: File[str]
    line: Plain[int] = 1


class Item(Struct):
    type: KindOfItem[str]
    name: NameOfItem[str]
    server_name: Server[str] = ""


class Tool(Struct):
    name: NameOfItem[str]


class Tools(Struct):
    name: Server[str]
    tools: list[Tool]


class Slice(Struct):
    id: SliceId[str]


class Result(Struct):
    error: Claim[str]


class Decision(Struct):
    decision: Claim[str]
    files: Touched[list[str]]
    outcome: Result | None = None


class Known(Struct):
    decision: Decision
    total: Plain[int] = 1


class Turn(Struct):
    agent: Owner[str]
    prompt: Said[str]
    sets: Said[dict[str, list[str]]]


class Delivery(Struct):
    context: Sent[str]
    problem: Remark[str]
    slices: Count[int]


class Everything(Struct):
    text: Text[str | None]
    texts: Text[list[str]]
    folders: dict[Text[str], Count[int]]
    loose: Text[dict[str, object]]
    plain: Plain[str]
    count: Count[int | None]
    rate: Count[float]
    said: Said[list[str]]
    flag: bool


def check(reply: dict[str, Any], kind: type[Struct], expected: dict[str, Any] | None) -> None:
    assert HIDING.reply(shape_of(kind), reply) == expected


@pytest.mark.parametrize(
    ("kind", "hidden", "visible"),
    [
        (Place, {"path": "secret/a.py", "line": 1}, {"path": "b.py", "line": 1}),
        (Place, {"path": "/p/secret/a.py#f", "line": 1}, {"path": "/p/b.py#f", "line": 1}),
        (Item, {"type": "rule", "name": "deploy"}, {"type": "reference", "name": "deploy"}),
        (Item, {"type": "rule", "name": "secret/AGENTS.md"}, {"type": "rule", "name": "AGENTS.md"}),
        (Item, {"type": "tool", "name": "q", "server_name": "db"}, {"type": "tool", "name": "q"}),
        (Item, {"type": "reference", "name": "plan"}, {"type": "rule", "name": "plan"}),
        (Slice, {"id": "rule:deploy"}, {"id": "rule:other"}),
        (Slice, {"id": "tool:db/q"}, {"id": "tool:web/q"}),
        (Slice, {"id": "secret/a.py#f"}, {"id": "b.py#f"}),
        (Decision, {"decision": "d", "files": ["secret/a.py"]}, {"decision": "d", "files": []}),
        (Decision, {"decision": "move secret/a.py", "files": ["b.py"]}, {"decision": "d", "files": ["b.py"]}),
        (Result, {"error": "no secret/a.py"}, {"error": "none"}),
    ],
)
def test_entry_about_something_hidden_is_left_out(
    kind: type[Struct], hidden: dict[str, Any], visible: dict[str, Any]
) -> None:
    check(hidden, kind, None)
    check(visible, kind, visible)
    assert SEEING.reply(shape_of(kind), hidden) == hidden


def test_item_with_a_file_of_secrets_is_hidden_from_all_and_nothing_else_is() -> None:
    """Its file is hidden from everybody, so that who may see all else still gets counts and prompts."""
    shows = ReplyFilter(NO_POLICY, "/p", frozenset({("rule", "env", "")}), masks=False)
    assert shows.reply(shape_of(Item), {"type": "rule", "name": "env"}) is None
    for kind, reply in (
        (Delivery, {"context": "c", "problem": "", "slices": 3}),
        (Turn, {"agent": "", "prompt": "p"}),
    ):
        assert shows.reply(shape_of(kind), reply) == reply


def test_tools_are_those_of_their_server() -> None:
    tools = [{"name": "q"}]
    check({"name": "db", "tools": tools}, Tools, {"name": "db", "tools": []})
    check({"name": "web", "tools": tools}, Tools, {"name": "web", "tools": tools})


def test_decision_about_a_hidden_and_a_visible_file_names_neither_the_hidden_one_nor_its_name() -> None:
    files = ["secret/vault.py", "b.py"]
    check({"decision": "lock it", "files": files}, Decision, {"decision": "lock it", "files": ["b.py"]})
    for text in ("lock vault.py", "Lock the VAULT"):
        check({"decision": text, "files": files}, Decision, None)
    check({"decision": "d", "files": files, "outcome": {"error": "no vault"}}, Decision, None)
    check({"decision": {"decision": "vault", "files": files}, "total": 1}, Known, None)
    check({"decision": "vaulting", "files": files}, Decision, {"decision": "vaulting", "files": ["b.py"]})


def test_what_was_said_is_for_who_sees_as_much_as_its_owner() -> None:
    turn = {"agent": "lead", "prompt": "p", "sets": {"notes": ["n"]}}
    check(turn, Turn, {"agent": "lead", "prompt": "", "sets": {}})
    shows = ReplyFilter(HIDING_POLICY, "/p", sees_all_of=lambda owner: owner == "lead")
    assert shows.reply(shape_of(Turn), turn) == turn
    other = {**turn, "agent": "other"}
    assert shows.reply(shape_of(Turn), other) == {"agent": "other", "prompt": "", "sets": {}}
    assert SEEING.reply(shape_of(Turn), other) == other


def test_sent_texts_are_left_out_with_a_reason() -> None:
    sent = {"context": f"c {TOKEN}", "problem": "", "slices": 3}
    check(sent, Delivery, {"problem": WITHHELD, "slices": 0})
    check({"problem": "", "slices": 3}, Delivery, {"problem": "", "slices": 0})
    assert SEEING.reply(shape_of(Delivery), sent) == sent, "masked when they were sent, not again"


def test_fields_keep_their_names_and_types() -> None:
    reply = {
        "text": "see secret/a.py",
        "texts": ["secret/a.py", "/p/a b/c d.txt", "look at secret/a.py", "kept"],
        "folders": {"secret/x": 3, "src": 4},
        "loose": {"why": "secret/a.py", "secret/b": 1, "n": [{"path": "secret/c"}, "kept"]},
        "plain": "secret/a.py",
        "count": 3,
        "rate": 0.5,
        "said": ["a"],
        "flag": True,
    }
    left = {
        "text": "",
        "texts": ["kept"],
        "folders": {"src": 0},
        "loose": {"why": "", "n": [{"path": ""}, "kept"]},
    }
    rest = {"plain": "secret/a.py", "count": 0, "rate": 0.0, "said": [], "flag": True}
    check(reply, Everything, left | rest)
    check({**reply, "text": None, "count": None}, Everything, left | rest | {"text": None, "count": None})
    assert SEEING.reply(shape_of(Everything), reply) == reply


def test_field_that_nothing_says_anything_of_is_not_shown() -> None:
    check({"path": "b.py", "line": 1, "new": "x"}, Place, {"path": "b.py", "line": 1})


def test_secrets_are_masked_also_for_who_may_see_all() -> None:
    reply = {"agent": "a", "prompt": f"use {TOKEN}", "sets": {"notes": [TOKEN]}}
    masked = {"agent": "a", "prompt": "use [masked]32+", "sets": {"notes": ["[masked]32+"]}}
    assert SEEING.reply(shape_of(Turn), reply) == masked
    assert ReplyFilter(NO_POLICY, "/p", masks=False).reply(shape_of(Turn), reply) == reply


class Project(Struct):
    root: Root[str]
    files: Count[int]
    texts: Text[list[str]]


class Projects(Struct):
    projects: list[Project]
    warnings: Text[list[str]]


def test_entries_of_a_list_are_filtered_by_the_policy_of_their_project() -> None:
    entry = {"files": 2, "texts": ["secret/a", "b"]}
    reply = {
        "projects": [{"root": root, **entry} for root in ("/p", "/q", "/gone")],
        "warnings": ["/gone/x can't be read", "/p/secret/a can't be read", "/q/secret/a can't be read"],
    }
    assert list(roots_in(shape_of(Projects), reply)) == ["/p", "/q", "/gone"]
    filters = {"/p": HIDING, "/q": ReplyFilter(NO_POLICY, "/q"), "/gone": None}
    shown = ReplyFilter(NO_POLICY, "", projects=filters).reply(shape_of(Projects), reply)
    assert shown == {
        "projects": [{"root": "/p", "files": 0, "texts": ["b"]}, {"root": "/q", **entry}],
        "warnings": ["/q/secret/a can't be read"],
    }
    gone = ReplyFilter(NO_POLICY, "", projects={"/gone": None})
    assert gone.reply(shape_of(Project), {"root": "/gone", **entry}) is None


SIGHT = ReplyFilter(Policy("x", ("r",), deny_paths=("secret/**",)), "/p")


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
        raise SIGHT.error(error)
    assert "secret" not in str(raised.value)
    if isinstance(error, InvalidRequest):
        assert isinstance(raised.value, InvalidRequest)
        assert raised.value.field == "path"


def test_data_of_every_topic_has_its_marks() -> None:
    assert set(EVENTS) == set(get_args(Topic))
    assert len(EVENTS) >= 12
