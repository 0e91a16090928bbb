"""Every method of docs/methods.md over the real socket: what it answers, changes and announces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.protocol import encode_notification

from tests.conftest import DEADLINE_S, DaemonProcess, next_event

PAGES = ("protocol.md", "methods.md", "protocol-requests.md", "protocol-records.md")
PROTOCOL = "\n".join(
    (Path(__file__).parents[2] / "docs" / name).read_text(encoding="utf-8") for name in PAGES
)

CELL = r"((?:[^|\\\n]|\\.)*)"
ROW = re.compile(rf"^\| ([A-Z]\w+) \|{CELL}\|{CELL}\|$", re.MULTILINE)
METHODS = {name: (parameters, result) for name, parameters, result in ROW.findall(PROTOCOL)}

PROJECT_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "root": str,
    "state": str,
    "files": int,
    "symbols": int,
    "chunks": int,
    "embedding": str,
    "embedded": int,
    "pending": int,
    "chunks_per_second": float,
    "eta_ms": (int, type(None)),
    "files_pending": int,
    "files_unhashed": int,
    "files_unlinked": int,
    "watch": str,
    "degraded": list,
    "unfinished": str,
    "skipped": dict,
    "rules": int,
    "experiences": int,
    "index_bytes": int,
    "linked": list,
    "pool": dict,
    "clock": str,
}
CONTEXT_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "scope_id": str,
    "context_id": str,
    "context": str,
    "tokens": int,
    "bytes": int,
    "truncated": bool,
    "partial": bool,
    "gaps": list,
    "degraded": list,
    "cached": bool,
    "clock": str,
    "layers": dict,
    "slices": list,
    "items": list,
    "elapsed_ms": (int, float),
}


def check_types(reply: Mapping[str, Any], expected: Mapping[str, type | tuple[type, ...]]) -> None:
    assert set(reply) == set(expected)
    for name, kind in expected.items():
        assert isinstance(reply[name], kind), f"{name} is {reply[name]!r}"


def documented_fields(text: str) -> set[str]:
    """Return the names in the first `a, b?, c: "x" | "y"` of a text."""
    found = re.search(r"`\{?(.*?)\}?`", text)
    assert found is not None
    flat = re.sub(r"[\[{(].*?[\])}]", "", found.group(1).replace("\\|", "|"))
    return {re.split(r"[:=]", part)[0].strip().rstrip("?") for part in flat.split(",")}


def optional_fields(text: str) -> set[str]:
    """Return those of `documented_fields` that may be left out."""
    found = re.search(r"`\{?(.*?)\}?`", text)
    assert found is not None
    flat = re.sub(r"[\[{(].*?[\])}]", "", found.group(1).replace("\\|", "|"))
    return {part.partition("?")[0].strip() for part in flat.split(",") if "?" in part}


def section(context: str, title: str) -> str:
    """Return the text of one section of a context, empty where there is none."""
    _, mark, rest = context.partition(f"\n## {title}\n")
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0] if mark else ""


@pytest.fixture
def ready_shop(shared_daemon: DaemonProcess, shop: Path) -> str:
    """Give the small project, open and indexed."""
    shared_daemon.open_ready(shop)
    return str(shop)


# The table


def test_protocol_names_every_method(shared_daemon: DaemonProcess) -> None:
    error = shared_daemon.error("NoSuchMethod")
    assert error.code == "unknown_method"
    assert error.data is not None
    assert set(error.data["methods"]) == set(METHODS)


def test_protocol_names_every_topic(shared_daemon: DaemonProcess) -> None:
    error = shared_daemon.error("Subscribe", topics=["weather"])
    assert (error.code, error.data) == ("invalid_params", {"field": "topics"})
    listed = re.search(r"^Topics: (.*)\.$", PROTOCOL, re.MULTILINE)
    assert listed is not None
    assert set(error.message.partition("known are ")[2].split(", ")) == set(
        re.findall(r"`(.*?)`", listed.group(1))
    )


# Housekeeping


def test_ping(shared_daemon: DaemonProcess) -> None:
    reply = shared_daemon.call("Ping", protocol=1)
    assert set(reply) == documented_fields(METHODS["Ping"][1])
    assert reply["pid"] == shared_daemon.pid
    assert reply["protocol"] == 1
    error = shared_daemon.error("Ping", protocol=999)
    assert error.code == "unsupported"
    assert "999" in error.message


def test_status(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    reply = shared_daemon.call("Status")
    assert set(reply) == documented_fields(METHODS["Status"][1])
    assert reply["rss_bytes"] > 1_000_000
    assert reply["uptime_s"] > 0
    assert ready_shop in [project["root"] for project in reply["projects"]]
    (project,) = shared_daemon.call("Status", cwd=f"{ready_shop}/src")["projects"]
    check_types(project, PROJECT_TYPES)
    described = PROTOCOL.partition("A project in Status: ")[2]
    assert set(project) == documented_fields(described)
    assert project["root"] == ready_shop
    assert (project["state"], project["watch"], project["files"]) == ("ready", "native", 9)
    assert project["skipped"] == {"binary": 1}
    assert project["symbols"] > 8
    assert project["rules"] == 1


def test_projects_open_list_close(shared_daemon: DaemonProcess, shop: Path) -> None:
    opened = shared_daemon.call("OpenProject", path=str(shop))
    check_types(opened, PROJECT_TYPES)
    assert opened["root"] == str(shop)
    listed = shared_daemon.call("ListProjects")["projects"]
    assert str(shop) in [project["root"] for project in listed]
    scope_id = shared_daemon.call("GetContext", cwd=str(shop), focus_paths=["web"])["scope_id"]
    assert shared_daemon.call("CloseProject", path=str(shop)) == {"closed": True}
    listed = shared_daemon.call("ListProjects")["projects"]
    assert str(shop) not in [project["root"] for project in listed]
    error = shared_daemon.error("CloseProject", path=str(shop))
    assert error.code == "not_found"
    assert str(shop) in error.message
    # What was kept of it serves again at once, by its scope too.
    again = shared_daemon.call("GetContext", scope_id=scope_id)
    assert "web/app.ts" in again["context"]
    assert str(shop) in [project["root"] for project in shared_daemon.call("ListProjects")["projects"]]


def test_shutdown_answers_and_ends(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        pid = daemon.pid
        assert client.call("Shutdown", {}, DEADLINE_S) == {"stopping": True}
        assert list(client.events(DEADLINE_S)) == []  # the end of the connection
    daemon.stop()
    assert not Path(daemon.socket).exists()
    assert daemon.call("Ping")["pid"] != pid


# GetContext


def test_context_fields(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    reply = shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=["src/shop/auth.py"])
    check_types(reply, CONTEXT_TYPES)
    result = PROTOCOL.partition("The result: ")[2]
    optional = {"system_prompt", "user_prompt", "messages", "tools", "request_id", "dropped", "masked"}
    optional |= {"resident_tokens", "saved_tokens"}
    assert documented_fields(result) == set(CONTEXT_TYPES) | optional
    context = reply["context"]
    assert context.startswith("# PROJECT CONTEXT\n\n## Project\n\n- shop\n")
    assert "\n\n## Rules\n" in context
    assert reply["bytes"] == len(context.encode())
    assert reply["tokens"] == -(-len(context) // 4)
    assert (reply["truncated"], reply["partial"], reply["degraded"]) == (False, False, [])
    assert set(reply["layers"]) == {"anchor", "focus", "horizon"}
    assert sum(reply["layers"].values()) <= reply["tokens"] + len(reply["slices"])
    for one in reply["slices"]:
        assert {"id", "type", "layer", "weight", "tokens", "compressed", "source"} <= set(one)
        assert 0 <= one["weight"] <= 1
    assert reply["items"] == [{"type": "rule", "name": "CLAUDE.md", "include_mode": "always"}]


def test_formats(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    history = [
        {"role": "system", "content": "Old instructions."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Yes?"},
    ]

    def ask(form: str) -> Any:
        return shared_daemon.call(
            "GetContext",
            cwd=ready_shop,
            focus_paths=["src/shop/auth.py"],
            prompt="Why does `login` fail?",
            history=history,
            format=form,
        )

    markdown, prompts, messages, as_json = map(ask, ("markdown", "prompts", "messages", "json"))
    check_types(markdown, CONTEXT_TYPES)
    assert prompts["context"] == messages["context"] == markdown["context"]
    check_types(prompts, {**CONTEXT_TYPES, "system_prompt": str, "user_prompt": str})
    assert markdown["context"] in prompts["system_prompt"]
    assert prompts["user_prompt"] == "Why does `login` fail?"
    added = {"system_prompt": str, "user_prompt": str, "messages": list, "tools": dict}
    check_types(messages, {**CONTEXT_TYPES, **added})
    assert [one["role"] for one in messages["messages"]] == ["system", "user", "assistant", "user", "user"]
    assert messages["messages"][0]["content"] == messages["system_prompt"]
    assert messages["messages"][1:3] == history[1:]
    assert messages["messages"][3]["content"].startswith("Rule: CLAUDE.md (the project's)\n\n# House rules")
    assert messages["messages"][4]["content"] == "Why does `login` fail?"
    check_types(as_json, CONTEXT_TYPES)
    document = json.loads(as_json["context"])
    assert document["project"] == "shop"
    assert {one["id"] for one in document["slices"]} == {one["id"] for one in as_json["slices"]}


def test_an_edit_shows_in_the_next_call(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def ask(**more: Any) -> Any:
        return shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=["src/shop/auth.py"], **more)

    first = ask()
    auth = Path(ready_shop) / "src/shop/auth.py"
    auth.write_text(auth.read_text().replace("Log in and out.", "Come and go."))
    second = ask()
    assert "Come and go." in second["context"]
    assert second["degraded"] == []
    sessions = Path(ready_shop) / "src/shop/sessions.py"
    sessions.write_text(sessions.read_text().replace("def touch(", "def renew("))
    third = ask()
    assert "def renew(" in third["context"], "in a dependency too"
    assert "def touch(" not in third["context"]
    (Path(ready_shop) / "src/shop/refunds.py").write_text("def refund(): ...\n")
    fourth = ask(fresh="tree")
    assert "refunds.py" in section(fourth["context"], "Project Structure")
    assert len({reply["clock"] for reply in (first, second, third, fourth)}) >= 3
    assert fourth["clock"] not in {first["clock"], third["clock"]}


# PrepareContext


def test_prepare_makes_the_next_context_warm(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    params = {"cwd": ready_shop, "focus_paths": ["src/shop/cart.py"], "session_id": "warm"}
    with shared_daemon.subscribed("context.built") as events:
        prepared = shared_daemon.call("PrepareContext", **params)
        assert set(prepared) == documented_fields(METHODS["PrepareContext"][1])
        assert prepared["state"] == "preparing"
        built = next_event(events, "context.built", scope_id=prepared["scope_id"])
    reply = shared_daemon.call("GetContext", scope_id=prepared["scope_id"])
    assert reply["cached"]
    assert reply["tokens"] == built["data"]["tokens"]
    # A hook that holds no state meets the same scope.
    stateless = shared_daemon.call("GetContext", cwd=ready_shop, session_id="warm")
    assert (stateless["scope_id"], stateless["cached"]) == (prepared["scope_id"], True)
    again = shared_daemon.call("PrepareContext", **params)
    assert again == {"scope_id": prepared["scope_id"], "state": "ready"}


# GetNode


def test_node_of_a_file(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    node = shared_daemon.call("GetNode", cwd=ready_shop, node_id="src/shop/auth.py")
    fields = documented_fields(METHODS["GetNode"][1])
    required = fields - optional_fields(METHODS["GetNode"][1])
    assert set(node) == required | {"callers", "callees"}
    assert (node["kind"], node["start_line"], node["end_line"]) == ("file", 1, 13)
    assert node["definition"] + "\n" == (Path(ready_shop) / "src/shop/auth.py").read_text()
    assert [one["node_id"] for one in node["symbols"]] == [
        "src/shop/auth.py#login",
        "src/shop/auth.py#logout",
    ]
    assert {"module": ".sessions", "name": "Session", "line": 3} not in node["imports"]
    assert any(
        one["module"] == ".sessions" and one["path"] == "src/shop/sessions.py" and one["line"] == 3
        for one in node["imports"]
    )
    assert node["importers"] == [{"path": "src/shop/cart.py", "line": 1}]
    typescript = shared_daemon.call("GetNode", cwd=ready_shop, node_id="web/money.ts")
    assert typescript["importers"] == [{"path": "web/app.ts", "line": 1}]


# NotifyFile


def test_notify_shows_an_unsaved_buffer_until_it_ends(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def notify(event: str, **more: Any) -> Any:
        return shared_daemon.call("NotifyFile", cwd=ready_shop, path="src/shop/cart.py", event=event, **more)

    def ask() -> str:
        context = shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=["src/shop/cart.py"])[
            "context"
        ]
        assert isinstance(context, str)
        return context

    saved = ask()
    assert notify("opened") == {"noted": "src/shop/cart.py"}
    assert notify("changed", text="def half_writ\n") == {"noted": "src/shop/cart.py"}
    unsaved = ask()
    assert "```python\ndef half_writ\n```" in unsaved
    assert "unsaved" in unsaved
    assert "def checkout" not in unsaved
    notify("focused")
    assert ask() == unsaved, "an event without a text leaves the buffer"
    notify("changed")
    assert ask() == saved, "saved: the disk counts again"
    notify("changed", text="def again\n")
    assert "def again" in ask()
    notify("closed")
    assert ask() == saved, "closed without saving"


def test_a_notification_counts_for_the_next_request(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    params = {"cwd": ready_shop, "focus_paths": ["web/money.ts"]}
    with shared_daemon.client() as client:
        for number in range(20):
            note = {"cwd": ready_shop, "path": "web/money.ts", "event": "changed"}
            note |= {"text": f"// version {number}\n"} if number % 3 else {}
            client._send(encode_notification("NotifyFile", note), None)
            context = client.call("GetContext", params, DEADLINE_S)["context"]
            assert ("unsaved" in context) == (number % 3 > 0)
            assert (f"// version {number}\n" in context) == (number % 3 > 0)


# Experiences


def graft(daemon: DaemonProcess, root: str, decision: str, **more: Any) -> Any:
    experience = {"decision": decision, "agent_id": "claude", "session_id": "s1", **more}
    return daemon.call("GraftExperience", cwd=root, experience=experience)


# Events


def test_events(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    topics = (
        "scope.created",
        "scope.changed",
        "scope.released",
        "context.built",
        "project.changed",
        "experience.grafted",
    )
    with shared_daemon.subscribed(*topics) as events:

        def check(topic: str, **data: Any) -> Any:
            event = next_event(events, topic, project=ready_shop, **data)
            assert set(event) == {"topic", "at", "data"}
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["at"])
            return event["data"]

        reply = shared_daemon.call("GetContext", cwd=ready_shop, session_id="e", task_type="review")
        scope_id = reply["scope_id"]
        check("scope.created", scope_id=scope_id)
        built = check("context.built", scope_id=scope_id, session_id="e", task_type="review")
        assert built["tokens"] == reply["tokens"]
        assert built["slices"] == {"project_meta": 1, "rule": 1, "skeleton": 1}
        shared_daemon.call("ExpandFocus", scope_id=scope_id, paths=["web/app.ts"])
        check("scope.changed", scope_id=scope_id)
        (Path(ready_shop) / "web/new.ts").write_text("export const x = 1;\n")
        changed = check("project.changed", resync=False, removed=[], paths=["web/new.ts"])
        assert changed["count"] == 1
        assert changed["clock"] != reply["clock"]
        grafted = graft(shared_daemon, ready_shop, "Tell everybody")
        check("experience.grafted", grafted=1, experience_ids=grafted["experience_ids"])
        shared_daemon.call("ReleaseScope", scope_id=scope_id)
        check("scope.released", scope_id=scope_id, evicted=False)


# Rules, constraints, settings


def test_a_broken_foveal_toml_is_named(shared_daemon: DaemonProcess, shop: Path) -> None:
    settings = shop / "foveal.toml"
    settings.write_text('[context]\nmax_tokens = "many"\n')
    for method, params in (
        ("GetContext", {"cwd": str(shop)}),
        ("OpenProject", {"path": str(shop)}),
        ("GetNode", {"cwd": str(shop), "node_id": "README.md"}),
    ):
        error = shared_daemon.error(method, **params)
        assert error.code == "project_unavailable"
        assert str(settings) in error.message
        assert "context.max_tokens" in error.message
        assert "integer" in error.message
    settings.write_text("[context]\nmax_tokens = 4000\n")
    assert shared_daemon.call("GetContext", cwd=str(shop))["degraded"] == []
    settings.write_text("[context\n")
    broken_later = shared_daemon.call("GetContext", cwd=str(shop))
    assert any("foveal.toml" in reason and "before" in reason for reason in broken_later["degraded"])
    assert broken_later["context"], "what was in force goes on serving"
