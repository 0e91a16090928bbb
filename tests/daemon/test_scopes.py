"""Scopes of a running daemon: whose they are, what they keep, how they grow and end, and what they cost."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.aclient import AsyncClient

from tests.conftest import DaemonProcess, next_event, running_daemon, write_files


@pytest.fixture
def root(shared_daemon: DaemonProcess, shop: Path) -> str:
    """Give the small project, open and indexed."""
    shared_daemon.open_ready(shop)
    return str(shop)


def focus_ids(reply: Any) -> list[str]:
    return [one["id"] for one in reply["slices"] if one["layer"] == "focus" and one["type"] != "dependency"]


# Identity


def test_identity(shared_daemon: DaemonProcess, root: str) -> None:
    def scope(**params: Any) -> str:
        reply = shared_daemon.call("GetContext", **{"cwd": root, **params})
        assert isinstance(reply["scope_id"], str)
        return reply["scope_id"]

    plain = scope()
    assert scope() == plain
    assert scope(cwd=f"{root}/src/shop") == plain, "any folder of the project"
    for of_the_request in (
        {"prompt": "x"},
        {"max_tokens": 500},
        {"format": "json"},
        {"fresh": "no"},
        {"agent_id": "a"},
        {"history": [{"role": "user", "content": "x"}]},
    ):
        assert scope(**of_the_request) == plain

    one = scope(focus_paths=["web", "README.md"], constraints=["a"])
    assert scope(focus_paths=["README.md", "web", "web"], constraints=["a"]) == one
    assert scope(focus_paths=[f"{root}/web", "./README.md"], constraints=["a"]) == one
    different = [
        scope(focus_paths=["web"], constraints=["a"]),
        scope(focus_paths=["web", "README.md"]),
        scope(focus_paths=["web", "README.md"], constraints=["a"], agent_name="n"),
        scope(focus_paths=["web", "README.md"], constraints=["a"], parent_scope_id=plain),
        scope(session_id="s"),
        scope(session_id="s", agent_id="a"),
        scope(session_id="s", agent_id="b"),
        scope(session_id="t", agent_id="a"),
    ]
    assert len({plain, one, *different}) == len(different) + 2
    assert scope(session_id="s", focus_paths=["web"], constraints=["b"], agent_name="n") == different[4]


def test_what_is_given_takes_the_place_of_what_the_scope_has(shared_daemon: DaemonProcess, root: str) -> None:
    def ask(**params: Any) -> Any:
        return shared_daemon.call("GetContext", cwd=root, session_id="keeps", **params)

    first = ask(focus_paths=["README.md"], constraints=["Be brief."])
    kept = ask()
    assert focus_ids(kept) == ["focus:README.md"]
    assert "- Be brief." in kept["context"]
    moved = ask(focus_paths=["web/app.ts"])
    assert focus_ids(moved) == ["focus:web/app.ts"]
    assert "- Be brief." in moved["context"]
    freed = ask(constraints=[])
    assert focus_ids(freed) == ["focus:web/app.ts"]
    assert "## Constraints" not in freed["context"]
    by_id = shared_daemon.call("GetContext", scope_id=first["scope_id"], focus_paths=[])
    assert focus_ids(by_id) == []
    assert {reply["scope_id"] for reply in (first, kept, moved, freed, by_id)} == {first["scope_id"]}


def test_a_scope_can_be_read(shared_daemon: DaemonProcess, root: str) -> None:
    reply = shared_daemon.call(
        "GetContext",
        cwd=root,
        session_id="s9",
        agent_id="a9",
        agent_name="reviewer",
        task_type="review",
        focus_paths=["web"],
        constraints=["Be brief."],
    )
    scope = shared_daemon.call("GetScope", scope_id=reply["scope_id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", scope.pop("created_at"))
    assert 0 < scope.pop("memory_bytes") < 10_000_000
    assert isinstance(scope.pop("hot_nodes"), list)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", scope.pop("last_used"))
    assert scope.pop("last_context_id") == reply["context_id"]
    assert scope.pop("layers") == reply["layers"]
    assert scope == {
        "scope_id": reply["scope_id"],
        "project": root,
        "session_id": "s9",
        "agent_id": "a9",
        "agent_name": "reviewer",
        "task_type": "review",
        "focus_paths": ["web"],
        "expanded": [],
        "constraints": ["Be brief."],
        "inherited_constraints": [],
        "constraint_origins": [],
        "degraded": [],
    }


def test_a_scope_is_named_by_its_session_and_its_last_prompt(shared_daemon: DaemonProcess, root: str) -> None:
    call = shared_daemon.call
    session = call("CreateSession", cwd=root, name="payment bug", agent_name="lead")["session_id"]
    secret = "key=sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    given = call("GetContext", cwd=root, session_id=session, prompt=f"fix {secret}\nsoon")
    call("GetContext", scope_id=given["scope_id"], prompt="only a look", preview=True)
    for scope in (
        call("GetScope", scope_id=given["scope_id"]),
        *(one for one in call("ListScopes")["scopes"] if one["scope_id"] == given["scope_id"]),
    ):
        assert scope["session"] == {"agent_name": "lead", "title": "payment bug", "ended": False}
        assert scope["last_prompt"].startswith("fix ")
        assert secret.partition("=")[2] not in scope["last_prompt"]
        assert scope["last_context_id"] == given["context_id"]
        assert scope["layers"] == given["layers"]
    assert call("ListScopes", cwd=root)["degraded"] == []
    of_session = call("ListScopes", session_id=session)["scopes"]
    assert [one["scope_id"] for one in of_session] == [given["scope_id"]]


def test_a_preview_leaves_no_trace(shared_daemon: DaemonProcess, root: str) -> None:
    call, look = shared_daemon.call, {"prompt": "login", "preview": True, "agent_name": "looker"}
    nameless = call("GetContext", cwd=root, session_id="nameless")["scope_id"]
    before = [scope["scope_id"] for scope in call("ListScopes", cwd=root)["scopes"]]
    asked = {"cwd": root, "session_id": "only-looked-at", "focus_paths": ["README.md"]}
    first, again = (call("GetContext", **asked, **look) for _ in range(2))
    assert first["context"] == again["context"]
    assert "looker" not in call("GetScope", scope_id=nameless).values()
    call("GetContext", scope_id=nameless, **look)
    assert "looker" not in call("GetScope", scope_id=nameless).values()
    assert sorted(before) == sorted(scope["scope_id"] for scope in call("ListScopes", cwd=root)["scopes"])


def test_a_scope_tells_what_it_shows_now_and_what_changed(shared_daemon: DaemonProcess, root: str) -> None:
    call = shared_daemon.call
    above = call("GetContext", cwd=root, session_id="top", agent_name="lead", constraints=["No network."])
    asked = {"prompt": "how does login work?"}
    first = call(
        "GetContext",
        cwd=root,
        session_id="below",
        parent_scope_id=above["scope_id"],
        focus_paths=["README.md"],
        constraints=["Be brief."],
        **asked,
    )
    scope_id = first["scope_id"]
    assert "now" not in call("GetScope", scope_id=scope_id)
    call("ExpandFocus", scope_id=scope_id, node_ids=["src/shop/auth.py"])
    before = call("ListContexts", scope_id=scope_id)["contexts"]
    with shared_daemon.subscribed("context.built") as client:
        scope = call("GetScope", scope_id=scope_id, layers=True, turns=5)
        other = call("GetContext", cwd=root, session_id="other")
        assert (
            next_event(client, "context.built")["data"]["context_id"] == other["context_id"]
        )  # nobody is told of a look
    assert scope["constraint_origins"] == [
        {"text": "No network.", "scope_id": above["scope_id"], "agent_name": "lead"}
    ]
    now = scope["now"]
    assert now["prompt"] == asked["prompt"]
    assert {"focus:README.md", "expansion:src/shop/auth.py"} <= {part["id"] for part in now["slices"]}
    assert set(now["layers"]) == {"anchor", "focus", "horizon"}
    assert "def login" in now["context"]
    assert call("ListContexts", scope_id=scope_id)["contexts"] == before  # a look is no turn
    second = call("GetContext", scope_id=scope_id, **asked)
    turns = call("GetScope", scope_id=scope_id, turns=5)["turns"]
    assert [turn["context_id"] for turn in turns] == [second["context_id"], first["context_id"]]
    assert turns[1]["changes"] == []
    changes = {change["id"]: change["change"] for change in turns[0]["changes"]}
    assert changes["expansion:src/shop/auth.py"] == "new"
    call("ReleaseScope", scope_id=above["scope_id"])
    assert call("GetScope", scope_id=scope_id)["constraint_origins"] == [{"text": "No network."}]


# Focus


def test_expand_and_contract(shared_daemon: DaemonProcess, root: str) -> None:
    scope_id = shared_daemon.call("GetContext", cwd=root, session_id="x", focus_paths=["README.md"])[
        "scope_id"
    ]

    def ask() -> Any:
        return shared_daemon.call("GetContext", scope_id=scope_id)

    def expand(**params: Any) -> Any:
        return shared_daemon.call("ExpandFocus", scope_id=scope_id, **params)

    assert expand(paths=["web/app.ts", "README.md", "no.py"], node_ids=["src/shop/auth.py#login"]) == {
        "expanded": ["src/shop/auth.py#login", "web/app.ts"],
        "already": ["README.md"],
        "unknown": ["no.py"],
    }
    reply = ask()
    assert focus_ids(reply) == [
        "focus:README.md",
        "expansion:src/shop/auth.py#login",
        "expansion:web/app.ts",
    ]
    assert "export function main(): number {\n  return total([1]);\n}" in reply["context"], "in full"
    assert "money.ts` (imported by" not in reply["context"], "an expansion brings no dependencies"
    assert expand(paths=["web/app.ts", "src/shop/auth.py#nope"]) == {
        "expanded": [],
        "already": ["web/app.ts"],
        "unknown": ["src/shop/auth.py#nope"],
    }
    assert expand(paths=["src"])["expanded"] == ["src"], "a folder"
    assert expand(paths=["web/*.ts"])["expanded"] == ["web/*.ts"], "a glob"
    assert ask()["context"].count("### `web/app.ts`") == 1
    contracted = shared_daemon.call(
        "ContractFocus", scope_id=scope_id, paths=["src", "web/*.ts", "web/app.ts", "no.py", "README.md"]
    )
    assert contracted == {
        "contracted": ["src", "web/*.ts", "web/app.ts", "README.md"],
        "unknown": ["no.py"],
    }
    assert focus_ids(ask()) == ["expansion:src/shop/auth.py#login"]


async def test_expansions_at_the_same_time_all_count(shared_daemon: DaemonProcess, root: str) -> None:
    write_files(Path(root), {f"many/f{number}.txt": f"{number}\n" for number in range(30)})
    created = shared_daemon.call("GetContext", cwd=root, session_id="together", fresh="tree")
    async with await AsyncClient.connect(shared_daemon.socket) as client:
        await asyncio.gather(
            *(
                client.call(
                    "ExpandFocus", {"scope_id": created["scope_id"], "paths": [f"many/f{number}.txt"]}
                )
                for number in range(30)
            )
        )
        scope = await client.call("GetScope", {"scope_id": created["scope_id"]})
    assert set(scope["expanded"]) == {f"many/f{number}.txt" for number in range(30)}


def test_a_released_scope_is_gone(shared_daemon: DaemonProcess, root: str) -> None:
    params = {"cwd": root, "session_id": "short"}
    scope_id = shared_daemon.call("GetContext", **params)["scope_id"]
    assert shared_daemon.call("ReleaseScope", scope_id=scope_id) == {"released": True}
    for method, more in (
        ("GetContext", {}),
        ("PrepareContext", {}),
        ("GetScope", {}),
        ("ReleaseScope", {}),
        ("ExpandFocus", {"paths": ["web"]}),
    ):
        error = shared_daemon.error(method, scope_id=scope_id, **more)
        assert error.code == "not_found"
        assert "released, evicted" in error.message
        assert "GetContext with cwd" in error.message
    assert shared_daemon.call("GetContext", **params)["scope_id"] != scope_id


# Many at once


# What lasts


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_scopes_survive_a_restart(daemon: DaemonProcess, shop: Path, number: int) -> None:
    daemon.open_ready(shop)
    parent = daemon.call("GetContext", cwd=str(shop), agent_name="boss", constraints=["No network."])
    child = daemon.call(
        "GetContext",
        cwd=str(shop),
        session_id="s",
        focus_paths=["README.md"],
        constraints=["Be brief."],
        parent_scope_id=parent["scope_id"],
    )
    daemon.call("ExpandFocus", scope_id=child["scope_id"], node_ids=["src/shop/auth.py#login"])
    released = daemon.call("GetContext", cwd=str(shop), session_id="gone")["scope_id"]
    daemon.call("ReleaseScope", scope_id=released)
    before = daemon.call("GetContext", scope_id=child["scope_id"])
    described = daemon.call("GetScope", scope_id=child["scope_id"])
    last = daemon.call("GetContext", cwd=str(shop), session_id="last")["scope_id"]
    daemon.stop(number)
    after = daemon.call("GetContext", scope_id=child["scope_id"])
    assert after["context"] == before["context"]
    assert "- No network.\n- Be brief.\n" in after["context"]
    assert focus_ids(after) == ["focus:README.md", "expansion:src/shop/auth.py#login"]
    volatile = {"memory_bytes", "hot_nodes", "last_context_id", "last_used"}
    again = daemon.call("GetScope", scope_id=child["scope_id"])
    assert {key: again[key] for key in again.keys() - volatile} == {
        key: described[key] for key in described.keys() - volatile
    }
    assert daemon.call("GetContext", cwd=str(shop), session_id="s")["scope_id"] == child["scope_id"]
    assert daemon.error("GetScope", scope_id=released).code == "not_found"
    assert daemon.call("GetContext", cwd=str(shop), session_id="last")["scope_id"] == last


@pytest.fixture(scope="module")
def small_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give a daemon that keeps five scopes."""
    folder = tmp_path_factory.mktemp("small")
    write_files(folder / "config", {"config.toml": "[scopes]\nmax_count = 5\n"})
    (folder / "config").chmod(0o700)
    with running_daemon(folder) as process:
        yield process


def test_the_least_recently_used_are_evicted(small_daemon: DaemonProcess, shop: Path) -> None:
    small_daemon.open_ready(shop)

    def ask(number: int) -> str:
        reply = small_daemon.call("GetContext", cwd=str(shop), session_id=f"s{number}")
        assert isinstance(reply["scope_id"], str)
        return reply["scope_id"]

    with small_daemon.subscribed("scope.released") as events:
        ids = [ask(number) for number in range(5)]
        assert ask(0) == ids[0], "used again"
        ids += [ask(5), ask(6)]
        for scope_id in ids[1:3]:
            next_event(events, "scope.released", scope_id=scope_id, evicted=True)
    for scope_id in ids[1:3]:
        error = small_daemon.error("GetContext", scope_id=scope_id)
        assert error.code == "not_found"
        assert "evicted" in error.message
        assert "GetContext with cwd" in error.message
    kept = {one["scope_id"] for one in small_daemon.call("ListScopes")["scopes"]}
    assert kept == {ids[0], *ids[3:]}
    assert ask(1) != ids[1], "who comes back gets a new one"
    # The eviction lasts, also when nobody had the time to say goodbye.
    small_daemon.stop(signal.SIGKILL)
    assert len(small_daemon.call("ListScopes")["scopes"]) == 5
    assert small_daemon.error("GetScope", scope_id=ids[2]).code == "not_found"


def test_memory_is_limited_too(tmp_path: Path, shop: Path) -> None:
    folder = tmp_path / "m"
    write_files(folder / "config", {"config.toml": "[scopes]\nmax_memory_bytes = 1048576\n"})
    (folder / "config").chmod(0o700)
    with running_daemon(folder) as small:
        small.open_ready(shop)
        write_files(shop, {"big.txt": "0123456789 abcdefghij\n" * 10_000})
        params = {"cwd": str(shop), "focus_paths": ["big.txt"], "max_tokens": 100_000, "max_bytes": 200_000}
        ids = [small.call("GetContext", **params, session_id=f"s{number}")["scope_id"] for number in range(9)]
        status = small.call("Status")
        assert status["scopes_bytes"] <= 1_048_576
        assert status["scopes"] == 9  # what was rendered for the first ones went, not they themselves
        again = [small.call("GetContext", **params, session_id=f"s{number}") for number in (8, 0)]
        assert [(one["scope_id"], one["cached"]) for one in again] == [(ids[8], True), (ids[0], False)]


# Hot files


@pytest.mark.parametrize("owner", [{}, {"session_id": "follows"}], ids=["no session", "session"])
def test_hot_files_follow_the_work(owner: dict[str, str], shared_daemon: DaemonProcess, root: str) -> None:
    def notify(path: str, event: str = "opened") -> None:
        shared_daemon.call("NotifyFile", cwd=root, path=path, event=event)

    def ask() -> str:
        reply = shared_daemon.call("GetContext", cwd=root, focus_paths=["README.md"], **owner)
        return str(reply["context"])

    notify("web/app.ts")
    first = ask()
    assert "- `web/app.ts` (open in an editor)" in first
    assert ask() == first, "the same state gives the same bytes"
    notify("src/shop/cart.py")
    assert "- `src/shop/cart.py` (open in an editor)\n- `web/app.ts` (open in an editor)" in ask()
    notify("web/app.ts", "closed")
    assert "web/app.ts` (open" not in ask()


# Budgets


def test_files_of_git_are_not_shown(shared_daemon: DaemonProcess, shop: Path) -> None:
    reply = shared_daemon.call("GetContext", cwd=str(shop), focus_paths=[".git/config"])
    assert "repositoryformatversion" not in reply["context"]
    assert any(".git/config" in gap for gap in reply["gaps"])
