"""What is hidden from an agent reaches it through no method, and no method lets it change what isn't its own: all
methods, four kinds of agents, and something hidden in every field."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.api.events import EVENTS
from foveal.daemon.api.method import declared_methods
from foveal.ipc.client import Client
from foveal.ipc.errors import NOT_FOUND, PERMISSION_DENIED
from msgspec import convert

from tests.conftest import DEADLINE_S, running_daemon, write_files
from tests.policy_cases import (
    HIDDEN_FROM,
    ITEM_WORDS,
    LAST,
    LIMITED,
    PATH_WORDS,
    REQUESTS,
    UNANSWERED,
    LinkerView,
    ask,
    words_in,
)

import_module("foveal.daemon.api.handlers")  # declares every method
DECLARED = {declared.name: declared for declared in declared_methods()}
METHODS_MIN = 71
REFUSED = {PERMISSION_DENIED, NOT_FOUND}

ORDER = sorted(REQUESTS, key=lambda name: LAST.index(name) if name in LAST else -1)
"""The methods, those last after which not much is left."""

EMPTY_FOR_STRANGERS = frozenset(
    {"ListContexts", "ListProjects", "ListScopes", "ListSessions", "Status", "Subscribe", "HookEvent"}
)
"""Methods that answer an agent that isn't allowed in a project as if that weren't there."""

MAY_CHANGE: Mapping[tuple[str, str], set[str]] = {
    ("clerk", "NotifyFile"): {"unsaved"},  # the file isn't hidden from it
}
"""What an agent may change, since it is neither hidden from it nor another's."""

SHOW_PATHS = frozenset(
    """DeleteExperience ExportRequests FindFiles FindSymbols GetBuiltContext GetChanges GetContext GetExperience
    GetNode GetRelevantContext GetRequest GetScope GetSession GetTimeline GetUsage ListContexts ListExperiences
    ListItems ListQuarantine ListScopes ListSessions PruneExperiences Query RestoreExperience ResumeSession
    SetRelevantContext UpdateExperience UpdateSession""".split()  # noqa: SIM905 - read as prose, not as a column
)
"""Methods whose replies tell `lead` what is hidden from `reader`."""

SHOW_ITEMS = frozenset(
    """ExportRequests GetBuiltContext GetContext GetItemUsage GetRelevantContext GetRequest GetSession
    GetTimeline GetUsage ListContexts ListItems ListQuarantine ListScopes ListSessions ListToolServers
    ResumeSession SetRelevantContext UpdateSession""".split()  # noqa: SIM905 - as above
)
"""Methods whose replies tell `lead` what is hidden from `clerk`."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LinkerView]:
    with running_daemon(tmp_path_factory.mktemp("d")) as daemon:
        yield LinkerView(daemon, tmp_path_factory.mktemp("matrix"))


def test_every_method_of_the_daemon_is_asked(world: LinkerView) -> None:
    answered = world.daemon.error("NoSuchMethod").data
    assert answered is not None
    methods = answered["methods"]
    assert len(methods) >= METHODS_MIN
    assert set(methods) == set(DECLARED) == set(REQUESTS)


@pytest.mark.parametrize("agent", LIMITED)
def test_limited_agents_learn_and_change_nothing_by_any_method(world: LinkerView, agent: str) -> None:
    found: dict[str, list[str]] = defaultdict(list)
    asked = 0
    for method in ORDER:
        requests = REQUESTS[method](world)
        assert requests, method
        before = world.state()
        for request in requests:
            code, reply = ask(world, method, {**request, "agent_name": agent})
            asked += 1
            found[method] += words_in(reply, request, HIDDEN_FROM[agent])
            found[method] += _wrong_answer(agent, method, code, reply)
        after = world.state()
        changed = {part for part in before if before[part] != after[part]} - MAY_CHANGE.get(
            (agent, method), set()
        )
        found[method] += [f"changed {part}" for part in changed]
    assert asked >= METHODS_MIN
    assert {method: faults for method, faults in found.items() if faults} == {}


def _wrong_answer(agent: str, method: str, code: str, reply: Any) -> list[str]:
    """Return what is wrong with the kind of an answer."""
    access = DECLARED[method].access
    if access == "anyone":
        return [f"refused: {reply}"] if code else []
    if agent == "stranger":
        return (
            []
            if code in REFUSED or method in EMPTY_FOR_STRANGERS
            else [f"answered: {json.dumps(reply)[:200]}"]
        )
    if access == "person":
        return [] if code == PERMISSION_DENIED else [f"{code} answered: {json.dumps(reply)[:200]}"]
    return [] if code in {"", *REFUSED} else [f"failed with {code}: {reply}"]


@pytest.mark.parametrize("agent", ["reader", "clerk"])
def test_limited_agents_change_what_is_their_own(world: LinkerView, agent: str) -> None:
    own = {"agent_name": agent}
    session = {"session_id": world.new_session(world.new_name("own"), agent)["session_id"]}
    scope = {"scope_id": world.new_scope(agent)}
    item = {"type": "rule", "name": "AGENTS.md"}
    decision = {**world.own, "experience_id": world.graft("Keep it short", ["src/other.py"], agent)}
    asked = world.call("GetContext", **world.own, **session, **own, prompt="the ledger")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("UpdateSession", {**session, "current_intent": "mind the ledger"}),
        ("SetRelevantContext", {**session, "set_name": "notes", "items": ["mine"]}),
        ("AddSessionItem", {**session, **item}),
        ("RemoveSessionItem", {**session, **item}),
        ("ReportReply", {**session, "request_id": asked["request_id"], "reply": "src/app.py"}),
        ("ResumeSession", session),
        ("EndSession", session),
        ("ExpandFocus", {**scope, "paths": ["README.md"]}),
        ("ContractFocus", {**scope, "paths": ["README.md"]}),
        ("ReleaseScope", scope),
        ("UpdateExperience", {**decision, "rationale": "it reads better"}),
        ("DeleteExperience", decision),
        ("RestoreExperience", decision),
        ("NotifyFile", {**world.own, "path": "src/other.py", "event": "opened"}),
    ]
    assert {declared.name for declared in DECLARED.values() if declared.access == "own"} <= {
        method for method, _ in calls
    }
    before = world.state()
    for method, request in calls:
        assert ask(world, method, {**request, **own})[0] == "", method
    assert world.state() == before
    said = json.dumps(world.call("GetSession", **session, **own))
    assert "mind the ledger" in said
    assert "mine" in said


def test_own_decision_may_not_tell_of_what_is_hidden(world: LinkerView) -> None:
    mine = {**world.own, "experience_id": world.graft("Write less", ["src/other.py"], "reader")}
    for change in ({"files_touched": ["secret/quokka.py"]}, {"decision": "mend secret/quokka.py"}):
        assert (
            ask(world, "UpdateExperience", {**mine, **change, "agent_name": "reader"})[0] == PERMISSION_DENIED
        )
    about = {"decision": "mend it", "agent_id": "reader", "session_id": "s"}
    for more in ({"files_touched": ["secret/quokka.py"]}, {"rationale": "see secret/quokka.py"}):
        request = {**world.own, "experience": {**about, **more}, "agent_name": "reader"}
        assert ask(world, "GraftExperience", request)[0] == PERMISSION_DENIED
    request = {**world.own, "transcript_path": "/no/transcript.jsonl", "agent_name": "reader"}
    assert ask(world, "GraftExperience", request)[0] == PERMISSION_DENIED


def test_counts_and_cut_lists_do_not_tell_of_what_is_hidden(world: LinkerView) -> None:
    world.graft("Feed the numbat twice", ["secret/quokka.py"])
    reader = {**world.own, "agent_name": "reader"}
    assert world.call("FindFiles", **reader, query="secret/")["total"] == 0
    assert world.lead("FindFiles", **world.own, query="secret/")["total"] >= 3
    for fields in ({"query": "quokka"}, {"query": "numbat"}):
        assert world.call("ListExperiences", **reader, **fields) == {
            "experiences": [],
            "total": 0,
            "elsewhere": 0,
        }
        assert world.lead("ListExperiences", **world.own, **fields)["total"] >= 1
    seen = world.call("ListExperiences", **reader, limit=1)
    assert len(seen["experiences"]) == 1, "a hidden one takes no place of a visible one"
    assert seen["total"] == len(world.call("ListExperiences", **reader)["experiences"])
    project = world.call("OpenProject", **reader)
    assert {project[name] for name in ("files", "symbols", "experiences", "index_bytes")} == {0}
    assert world.lead("ListItems", **world.own)["warnings"] != []
    assert world.call("ListItems", **world.own, agent_name="clerk")["warnings"] == []


def test_hidden_items_cannot_be_told_from_missing_ones(world: LinkerView) -> None:
    own = {
        "agent_name": "clerk",
        "session_id": world.new_session(world.new_name("own"), "clerk")["session_id"],
    }
    for method in ("AddSessionItem", "RemoveSessionItem"):
        hidden, missing = (
            json.dumps(ask(world, method, {**own, "type": "rule", "name": name})).replace(name, "")
            for name in ("quoll", "none")
        )
        assert hidden == missing, method
    assert ask(world, "AddSessionItem", {**own, "type": "reference", "name": "style"})[0] == ""


def test_session_of_an_agent_that_sees_more_serves_subagents_only(world: LinkerView) -> None:
    asked = {**world.own, "session_id": world.session, "prompt": "the ledger", "agent_name": "reader"}
    recorded = world.call("ListRequests", session_id=world.session)["requests"]
    assert ask(world, "GetContext", asked)[0] == PERMISSION_DENIED
    assert world.call("ListRequests", session_id=world.session)["requests"] == recorded
    assert ask(world, "GetContext", {**asked, "agent_id": "child"})[0] == ""
    unnamed = world.call("CreateSession", **world.own, session_id=world.new_name("unnamed"))["session_id"]
    assert ask(world, "GetContext", {**asked, "session_id": unnamed})[0] == "", (
        "the user made it for some agent"
    )


def test_folder_of_a_project_is_no_way_around_its_rules(world: LinkerView) -> None:
    for request in ({"path": f"{world.root}/secret"}, {"path": "/", "cwd": world.root}):
        code, reply = ask(world, "OpenProject", {**request, "agent_name": "reader"})
        assert code == PERMISSION_DENIED or reply["root"] == world.root
    assert [one["root"] for one in world.call("ListProjects")["projects"]] == [world.root]
    code, _ = ask(world, "OpenProject", {"path": "/", "cwd": world.root, "agent_name": "stranger"})
    assert code == PERMISSION_DENIED
    elsewhere = {"path": "/no/project", "agent_name": "stranger"}
    assert "ledger" not in json.dumps(ask(world, "CloseProject", elsewhere))


def test_a_project_keeps_its_user_from_nothing(world: LinkerView, tmp_path: Path) -> None:
    files = {"foveal.toml": '[agents."*"]\nallow = false\ndeny_paths = ["**"]\n', "a.py": "a = 1\n"}
    root = str(write_files(tmp_path / "selfish", files))
    world.daemon.open_ready(root)
    assert world.daemon.error("GetContext", cwd=root).code == PERMISSION_DENIED
    files_to_trust = [one["path"] for one in world.call("GetTrust", cwd=root)["files"]]
    assert files_to_trust == ["foveal.toml"]
    assert world.call("Status", cwd=root)["projects"][0]["files"] >= 1
    assert root in [one["root"] for one in world.call("ListProjects")["projects"]]
    assert world.call("GetUsage", by="project", cwd=root)["rows"] == []
    world.call("NotifyFile", cwd=root, path="a.py", event="opened")
    assert world.call("ReindexProject", path=root)["root"] == root
    assert world.call("ForgetProject", path=root)["root"] == root


def test_agent_that_the_users_own_tables_limit_gets_nothing_of_the_daemon(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"config/config.toml": "[agents.shut]\nallow = false\n[agents.half]\ndeny_paths = ['x']\n"}
    )
    methods = [declared for declared in DECLARED.values() if declared.policy == "daemon"]
    assert len(methods) >= 8
    with running_daemon(tmp_path) as daemon:
        for declared in methods:
            request = {"paused": True} if declared.name == "SetEmbedding" else {}
            refused = daemon.error(declared.name, **request, agent_name="shut")
            assert refused.code == PERMISSION_DENIED, declared.name
            if declared.access == "person":
                assert daemon.error(declared.name, **request, agent_name="half").code == PERMISSION_DENIED
            else:
                daemon.call(declared.name, agent_name="half")
        assert daemon.error("Subscribe", topics=[], agent_name="shut").code == PERMISSION_DENIED


def test_events_tell_no_agent_what_is_hidden_from_it(world: LinkerView, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"a.py": "a = 1\n"})
    world.daemon.open_ready(other)
    topics = sorted(EVENTS)
    with contextlib.ExitStack() as stack:
        clients = {agent: stack.enter_context(world.daemon.client()) for agent in HIDDEN_FROM}
        for agent, client in clients.items():
            client.call("Subscribe", {"topics": topics, "agent_name": agent}, DEADLINE_S)
        _happen(world)
        world.call("CreateSession", cwd=str(other), session_id="the-last")
        heard = {agent: _until_last(client) for agent, client in clients.items()}
    for agent, events in heard.items():
        text = json.dumps(events).lower()
        assert [word for word in HIDDEN_FROM[agent] if word in text] == [], agent
    whole = json.dumps(heard["lead"]).lower()
    assert [word for word in (*PATH_WORDS, "dingo") if word not in whole] == []
    kinds = {event["topic"] for event in heard["lead"]}
    assert kinds >= set(topics) - {"index.progress"}, "each kind of event was heard"
    assert {event["topic"] for event in heard["reader"]} >= kinds - {"index.progress"}
    assert {event["data"]["project"] for event in heard["stranger"]} == {str(other)}


def _happen(world: LinkerView) -> None:
    """Let something hidden be in an event of each topic."""
    session = world.new_session(world.new_name("event"))["session_id"]
    world.lead("ResumeSession", session_id=session)
    scope = world.new_scope()
    world.lead("ExpandFocus", scope_id=scope, paths=["secret/AGENTS.md"])
    world.lead("ReleaseScope", scope_id=scope)
    decision = world.graft("Count the numbat", ["secret/quokka.py"])
    world.lead("DeleteExperience", **world.own, experience_id=decision)
    write_files(Path(world.root), {"secret/quokka2.py": "numbat = 2\n", "src/new.py": "new = 1\n"})
    world.lead("GetContext", **world.own, prompt="ledger", fresh="tree")
    world.call("SetToolMode", **world.own, server_name="raw", include="manual")
    world.call("SetToolMode", **world.own, server_name="raw", include="default")


def _until_last(client: Client) -> list[Any]:
    found = []
    for event in client.events(DEADLINE_S):
        found.append(event)
        if event["data"].get("session_id") == "the-last":
            return found
    raise AssertionError("the connection ended")


def test_an_agent_that_may_see_all_is_answered_and_told_everything(world: LinkerView) -> None:
    failed, paths, items = {}, set(), set()
    for method in ORDER:
        for request in REQUESTS[method](world):
            code, reply = ask(world, method, {**request, "agent_name": "lead"})
            if not code:
                convert(
                    reply, DECLARED[method].reply
                )  # the type says all fields, also of replies that are maps
            elif code != UNANSWERED.get(method):
                failed[method] = code, reply
            paths |= {method} if words_in(reply, request, PATH_WORDS) else set()
            items |= {method} if words_in(reply, request, ITEM_WORDS) else set()
    assert failed == {}
    assert sorted(SHOW_PATHS - paths) == []
    assert sorted(SHOW_ITEMS - items) == []
    assert len(SHOW_PATHS) >= 27
    assert len(SHOW_ITEMS) >= 18
