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

from tests.conftest import DEADLINE_S, DaemonProcess, next_event, running_daemon, write_files


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
    }


def test_a_scope_keeps_its_task_type_until_another_is_given(shared_daemon: DaemonProcess, root: str) -> None:
    def kept(**params: str) -> Any:
        reply = shared_daemon.call("GetContext", cwd=root, session_id="kind", **params)
        return shared_daemon.call("GetScope", scope_id=reply["scope_id"]).get("task_type")

    assert [kept(task_type="review"), kept(), kept(task_type="fix"), kept()] == [
        "review",
        "review",
        "fix",
        "fix",
    ]


def test_scopes_are_listed_the_latest_used_first(
    shared_daemon: DaemonProcess, root: str, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "other", {"a.py": "x = 1\n"})
    shared_daemon.open_ready(other)
    ids = [
        shared_daemon.call("GetContext", cwd=root, session_id=f"list{number}")["scope_id"]
        for number in range(3)
    ]
    elsewhere = shared_daemon.call("GetContext", cwd=str(other))["scope_id"]
    shared_daemon.call("GetContext", scope_id=ids[0])
    listed = [one["scope_id"] for one in shared_daemon.call("ListScopes", cwd=root)["scopes"]]
    assert listed == [ids[0], ids[2], ids[1]]
    every = [one["scope_id"] for one in shared_daemon.call("ListScopes")["scopes"]]
    assert every[:2] == [ids[0], elsewhere]


# Focus


def test_focus_paths_of_every_kind(shared_daemon: DaemonProcess, root: str) -> None:
    def check(paths: list[str], expected: list[str]) -> Any:
        reply = shared_daemon.call("GetContext", cwd=root, focus_paths=paths)
        assert focus_ids(reply) == [f"focus:{node}" for node in expected]
        assert [gap for gap in reply["gaps"] if "missing_module" not in gap] == []
        return reply

    check(["web/app.ts"], ["web/app.ts"])
    check([f"{root}/web/app.ts"], ["web/app.ts"])
    check(["web/../web/./app.ts"], ["web/app.ts"])
    check(["web"], ["web/app.ts", "web/money.ts"])
    check(["web/"], ["web/app.ts", "web/money.ts"])
    check(["web/*.ts"], ["web/app.ts", "web/money.ts"])
    check(["**/s*.py"], ["src/shop/sessions.py"])
    check(["src/**/{auth,cart}.py"], ["src/shop/auth.py", "src/shop/cart.py"])
    symbol = check(["src/shop/sessions.py#Session.touch"], ["src/shop/sessions.py#Session.touch"])
    assert "### `src/shop/sessions.py#Session.touch` (lines 12-13)" in symbol["context"]
    assert "\n    def touch(self) -> None:\n" in symbol["context"]
    assert "def expire" not in symbol["context"]
    part = check(["README.md#Shop/Setup"], ["README.md#Shop/Setup"])
    assert "\n## Setup\n" in part["context"]
    assert "Sells things" not in part["context"]
    check(["web/money.ts", "web"], ["web/money.ts", "web/app.ts"])


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


async def test_two_hundred_scopes_at_once(shared_daemon: DaemonProcess, root: str) -> None:
    async with await AsyncClient.connect(shared_daemon.socket) as client:

        async def ask(number: int) -> Any:
            return await client.call(
                "GetContext",
                {
                    "cwd": root,
                    "session_id": "crowd",
                    "agent_id": f"agent{number % 200}",
                    "focus_paths": ["src/shop/auth.py"],
                    "constraints": [f"You are number {number % 200}."],
                },
                DEADLINE_S,
            )

        replies = await asyncio.gather(*map(ask, range(400)))
    ids = [reply["scope_id"] for reply in replies]
    assert len(set(ids)) == 200
    assert ids[:200] == ids[200:], "the same agent meets the same scope"
    for number, reply in enumerate(replies):
        assert f"- You are number {number % 200}.\n" in reply["context"]
        assert "def login(user: str)" in reply["context"]
    status = shared_daemon.call("Status")
    assert status["scopes_bytes"] / status["scopes"] < 1_000_000


async def test_the_same_request_at_once_is_one_context(shared_daemon: DaemonProcess, root: str) -> None:
    with shared_daemon.subscribed("context.built", "scope.created", "scope.released") as events:
        async with await AsyncClient.connect(shared_daemon.socket) as client:
            params = {"cwd": root, "session_id": "one", "focus_paths": ["web"]}
            replies = await asyncio.gather(*(client.call("GetContext", params) for _ in range(50)))
            scope_id = replies[0]["scope_id"]
            await client.call("ReleaseScope", {"scope_id": scope_id})
        topics = []
        for event in events.events(DEADLINE_S):
            if not event["data"].get("cached"):  # who came later was given what was kept
                topics.append(event["topic"])
            if event["topic"] == "scope.released":
                break
    assert {(reply["scope_id"], reply["context"]) for reply in replies} == {(scope_id, replies[0]["context"])}
    assert topics == ["scope.created", "context.built", "scope.released"]


@pytest.mark.parametrize("full", [False, True])
async def test_contexts_during_a_reindex(shared_daemon: DaemonProcess, shop: Path, full: bool) -> None:
    root = str(shop)
    write_files(
        shop,
        {f"lib/m{number}.py": f"def f{number}():\n    return {number}\n" * 20 for number in range(400)},
    )
    params = {"cwd": root, "focus_paths": ["src/shop/auth.py"]}
    shared_daemon.open_ready(shop)
    before = shared_daemon.call("GetContext", **params)
    with shared_daemon.subscribed("index.progress") as events:
        async with await AsyncClient.connect(shared_daemon.socket) as client:
            await client.call("ReindexProject", {"path": root, "full": full})
            asked = 0
            states = set()
            while "ready" not in states:
                project = (await client.call("Status", {"cwd": root}))["projects"][0]
                states.add(project["state"])
                reply = await client.call("GetContext", {**params, "prompt": f"question {asked}"}, DEADLINE_S)
                asked += 1
                assert "def login(user: str)" in reply["context"]
                assert reply["scope_id"] == before["scope_id"]
                assert project["files"] == 409, "what was known stays known"
        next_event(events, "index.progress", project=root, state="ready")
    assert asked >= 1
    after = shared_daemon.call("GetContext", **params, fresh="tree")
    assert after["context"] == before["context"]
    assert (after["partial"], after["gaps"]) == (False, before["gaps"])


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
    volatile = {"memory_bytes", "hot_nodes"}
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


@pytest.mark.parametrize("owner", [{}, {"session_id": "hot"}], ids=["no session", "session"])
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


@pytest.fixture(scope="module")
def big(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give a project with large files of several kinds, and much of everything else."""

    def functions(name: str, count: int) -> str:
        return "".join(
            f"def {name}_{number}(argument: int) -> str:\n"
            f'    """Return the text of number {number}."""\n'
            f"    value = argument * {number}\n    return str(value) + '{name}'\n\n\n"
            for number in range(count)
        )

    root = write_files(
        tmp_path_factory.mktemp("big"),
        {
            "AGENTS.md": "# Rules\n\n" + "Follow this rule, it matters to all of us.\n" * 150,
            "src/core.py": "from . import helpers\nfrom .helpers import help_1\n\n\n"
            + functions("core", 400),
            "src/helpers.py": functions("help", 200),
            "src/__init__.py": "",
            "notes.txt": "".join(f"Line {number} of the notes, with ünïcödé.\n" for number in range(5_000)),
            "wide.txt": "long " * 20_000 + "\n",
            "min.js": "var a=1;" * 30_000,
            "docs/guide.md": "".join(f"## Part {number}\n\nSome words on it.\n\n" for number in range(300)),
            **{f"tree/d{number % 40}/file{number}.txt": "x\n" for number in range(1_200)},
        },
    )
    shared_daemon.open_ready(root)
    for number in range(5):
        shared_daemon.call(
            "GraftExperience",
            cwd=str(root),
            experience={
                "decision": f"Decision {number}: " + "because of reasons " * 100,
                "agent_id": "a",
                "session_id": "s",
            },
        )
    return str(root)


FOCUS = ["src/core.py", "notes.txt", "wide.txt", "min.js", "docs/guide.md"]


@pytest.mark.parametrize("form", ["markdown", "json"])
@pytest.mark.parametrize("max_tokens", [1, 20, 100, 200, 500, 2_000, 8_000, 30_000])
def test_never_above_the_tokens(shared_daemon: DaemonProcess, big: str, max_tokens: int, form: str) -> None:
    reply = shared_daemon.call(
        "GetContext",
        cwd=big,
        focus_paths=FOCUS,
        constraints=["Be brief. " * 50],
        max_tokens=max_tokens,
        reserve_tokens=0,
        max_bytes=1_000_000,
        format=form,
    )
    context = reply["context"]
    assert reply["tokens"] == -(-len(context) // 4) <= max_tokens
    assert reply["truncated"]
    assert sum(reply["layers"].values()) <= max_tokens
    if max_tokens >= 500:
        assert len(context) > max_tokens * 4 * 0.6, "and the room is used"


@pytest.mark.parametrize("max_bytes", [1, 20, 500, 2_000, 8_000, 30_000, 100_000])
def test_never_above_the_bytes(shared_daemon: DaemonProcess, big: str, max_bytes: int) -> None:
    reply = shared_daemon.call(
        "GetContext", cwd=big, focus_paths=FOCUS, max_tokens=200_000, reserve_tokens=0, max_bytes=max_bytes
    )
    assert reply["bytes"] == len(reply["context"].encode()) <= max_bytes
    assert reply["truncated"]


def test_the_reserve_is_kept_free(shared_daemon: DaemonProcess, big: str) -> None:
    def tokens(**params: Any) -> int:
        reply = shared_daemon.call("GetContext", cwd=big, focus_paths=FOCUS, **params)
        assert isinstance(reply["tokens"], int)
        return reply["tokens"]

    assert 3_000 < tokens() <= 6_000, "8,000 less 2,000"
    assert tokens(max_tokens=8_000, reserve_tokens=7_000) <= 1_000
    assert tokens(max_tokens=1_000) <= 750, "of a small budget a quarter"


@pytest.mark.parametrize("max_tokens", [500, 2_000, 8_000])
def test_cuts_are_at_whole_lines_and_named(shared_daemon: DaemonProcess, big: str, max_tokens: int) -> None:
    reply = shared_daemon.call(
        "GetContext",
        cwd=big,
        focus_paths=["src/core.py", "notes.txt"],
        max_tokens=max_tokens,
        reserve_tokens=0,
        prompt="What does core_321 return?",
    )
    context = reply["context"]
    originals = {
        name: (Path(big) / name).read_text().split("\n") for name in ("src/core.py", "notes.txt", "AGENTS.md")
    }
    numbered = 0
    for name, body in _blocks(context):
        lines = originals.get(name.partition("#")[0])
        if lines is None:
            continue
        for line in body:
            found = re.match(r" *(\d+)  (.*)$", line)
            if found and name != "AGENTS.md":
                numbered += 1
                assert lines[int(found.group(1)) - 1].strip() == found.group(2).strip(), (
                    "a whole line, its number"
                )
            elif name == "AGENTS.md":
                assert line in lines or re.fullmatch(r"… [\d,]+ lines", line)
    assert context.count("```") % 2 == 0
    assert context.endswith("\n")
    if max_tokens >= 2_000:
        assert numbered > 20
        assert re.search(
            r"_\[COMPRESSED\] [\d,]+ lines left out: expand `src/core.py` or a definition of it_", context
        )
        assert re.search(r"_\[COMPRESSED\] [\d,]+ lines left out: expand `notes.txt`", context)
        if max_tokens == 2_000:
            assert re.search(r"_\[COMPRESSED\] [\d,]+ lines left out: read AGENTS.md_", context)
        assert "core_321" in context, "what the prompt asks for is not what is cut"


def _blocks(context: str) -> list[tuple[str, list[str]]]:
    """Return the fenced texts with the paths in their headings."""
    return [
        (name, body.split("\n"))
        for name, body in re.findall(
            r"^### `([^`\n]*)`[^\n]*\n\n```\w*\n(.*?)\n```$", context, re.MULTILINE | re.DOTALL
        )
    ]


def test_more_room_loses_nothing(shared_daemon: DaemonProcess, big: str) -> None:
    shown: set[str] = set()
    for max_tokens in (200, 500, 1_000, 2_000, 4_000, 8_000, 16_000):
        reply = shared_daemon.call(
            "GetContext", cwd=big, focus_paths=FOCUS, max_tokens=max_tokens, reserve_tokens=0
        )
        ids = {one["id"] for one in reply["slices"]}
        assert shown <= ids
        shown = ids
    assert {f"focus:{path}" for path in FOCUS} <= shown
    assert "skeleton" in shown


def test_what_found_no_room_is_named(shared_daemon: DaemonProcess, big: str) -> None:
    reply = shared_daemon.call("GetContext", cwd=big, focus_paths=FOCUS, max_tokens=120, reserve_tokens=0)
    (gap,) = [gap for gap in reply["gaps"] if "no room" in gap]
    assert "max_tokens" in gap


def test_a_map_of_a_thousand_files_is_folded(shared_daemon: DaemonProcess, big: str) -> None:
    reply = shared_daemon.call("GetContext", cwd=big)
    structure = reply["context"].partition("## Project Structure")[2]
    assert len(structure) < 17_000
    assert "tree/" in structure
    assert re.search(r"\(\d+ files\)", structure) or "… " in structure


def test_another_order_of_the_same_focus_is_no_change(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    paths = ["src/shop/auth.py", "src/shop/cart.py"]
    first = shared_daemon.call("GetContext", cwd=str(shop), focus_paths=paths)
    again = shared_daemon.call("GetContext", cwd=str(shop), focus_paths=paths[::-1])
    assert (again["scope_id"], again["cached"]) == (first["scope_id"], True)


def test_a_session_takes_a_parent_over(shared_daemon: DaemonProcess, shop: Path) -> None:
    shared_daemon.open_ready(shop)
    parent = shared_daemon.call("GetContext", cwd=str(shop), constraints=["no new dependency"])["scope_id"]
    shared_daemon.call("GetContext", cwd=str(shop), session_id="s")
    reply = shared_daemon.call("GetContext", cwd=str(shop), session_id="s", parent_scope_id=parent)
    assert "no new dependency" in reply["context"]
    error = shared_daemon.error("GetContext", cwd=str(shop), session_id="s", parent_scope_id="s_nope")
    assert error.code == "not_found"


def test_a_missing_focus_path_is_not_remembered_as_missing(shared_daemon: DaemonProcess, shop: Path) -> None:
    (shop / ".gitignore").write_text("*.local\n")
    shared_daemon.open_ready(shop)
    assert shared_daemon.call("GetContext", cwd=str(shop), focus_paths=["conf.local"])["gaps"]
    (shop / "conf.local").write_text("port = 1\n")
    reply = shared_daemon.call("GetContext", cwd=str(shop), focus_paths=["conf.local"])
    assert "port = 1" in reply["context"]


def test_files_of_git_are_not_shown(shared_daemon: DaemonProcess, shop: Path) -> None:
    reply = shared_daemon.call("GetContext", cwd=str(shop), focus_paths=[".git/config"])
    assert "repositoryformatversion" not in reply["context"]
    assert any(".git/config" in gap for gap in reply["gaps"])
