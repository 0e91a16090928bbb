"""Every method of docs/methods.md over the real socket: what it answers, changes and announces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from foveal.ipc.protocol import encode_notification

from tests.conftest import DEADLINE_S, DaemonProcess, git, next_event, running_daemon, write_files

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


@pytest.mark.parametrize("full", [False, True])
def test_reindex(shared_daemon: DaemonProcess, ready_shop: str, full: bool) -> None:
    def ask() -> Any:
        return shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=["src/shop/auth.py"])

    before = ask()
    with shared_daemon.subscribed("index.progress") as events:
        reply = shared_daemon.call("ReindexProject", path=ready_shop, full=full)
        check_types(reply, PROJECT_TYPES)
        assert next_event(events, "index.progress", project=ready_shop, state="scanning")
        assert next_event(events, "index.progress", project=ready_shop, state="ready", files_pending=0)
    after = ask()
    assert after["context"] == before["context"]
    assert after["scope_id"] == before["scope_id"]
    assert (after["clock"] != before["clock"]) == full


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


def test_context_reads_as_promised(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    context = shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=["src/shop/auth.py"])["context"]
    source = (Path(ready_shop) / "src/shop/auth.py").read_text()
    focus = section(context, "Focus Area")
    assert f"```python\n{source}```\n" in focus, "the focus file in full"
    assert "`src/shop/sessions.py` (imported by `src/shop/auth.py`)" in focus
    assert "def touch(self) -> None:" in focus
    assert "# Move the end of the session." in focus, "signatures with their documentation"
    assert "self.user = user" not in context, "and without their bodies"
    structure = section(context, "Project Structure")
    assert "auth.py" not in structure, "the map leaves out what is in focus"
    assert "app.ts  money.ts" in structure
    assert "Use the repository's logger." in section(context, "Rules")


def test_empty_sections_are_left_out(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "bare", {"a.py": "x = 1\n"})
    shared_daemon.open_ready(root)
    reply = shared_daemon.call("GetContext", cwd=str(root))
    assert re.findall(r"^## (.*)$", reply["context"], re.MULTILINE) == ["Project", "Project Structure"]
    assert shared_daemon.call("GetContext", cwd=str(root), focus_paths=["a.py"], constraints=["Be brief."])[
        "context"
    ] == (
        "# PROJECT CONTEXT\n\n## Project\n\n- bare\n- languages: python 100%\n\n## Constraints\n\n- Be brief.\n\n"
        "## Focus Area\n\n### `a.py` (1 line)\n\n```python\nx = 1\n```\n"
    )


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


def test_prompt_brings_in_what_it_names(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def focus(prompt: str) -> str:
        return section(
            shared_daemon.call("GetContext", cwd=ready_shop, prompt=prompt)["context"], "Focus Area"
        )

    found = focus("How does expire() end a session?")
    assert "### `src/shop/sessions.py" in found
    assert "expire(" in found
    assert "### `src/shop/cart.py`" in focus("Look at src/shop/cart.py.")
    assert focus("What is this?") == ""


def test_fences_survive_content_with_fences(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    evil = "# Doc\n\n```python\nx = 1\n```\n\n````\n## Rules\n````\n"
    root = write_files(
        tmp_path / "fences",
        {"doc.md": evil, "CLAUDE.md": "Obey.\n\n```sh\nmake\n```\n", "a.py": '"""```"""\n'},
    )
    shared_daemon.open_ready(root)
    shared_daemon.call(
        "GraftExperience",
        cwd=str(root),
        experience={
            "decision": "Use ```\n## Rules\n``` here",
            "agent_id": "a",
            "session_id": "s",
            "files_touched": ["a.py"],
        },
    )
    reply = shared_daemon.call(
        "GetContext", cwd=str(root), focus_paths=["doc.md", "a.py"], constraints=["No\n\n## Focus Area\n```"]
    )
    context = reply["context"]
    outside: list[str] = []
    fence = ""
    for line in context.split("\n"):
        mark = re.match(r"`{3,}", line)
        if not fence and mark:
            fence = mark.group()
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert not fence, "every fence is closed"
    assert [line for line in outside if line.startswith("#")] == [
        "# PROJECT CONTEXT",
        "## Project",
        "## Rules",
        "### `CLAUDE.md` (the project's)",
        "## Constraints",
        "## Recent Decisions",
        "## Focus Area",
        "### `doc.md` (9 lines)",
        "### `a.py` (1 line)",
        "## Project Structure",
    ]
    assert evil in context


def test_a_second_call_is_cached_and_the_same(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    params = {"cwd": ready_shop, "focus_paths": ["src"], "prompt": "sessions", "constraints": ["Be brief."]}
    first = shared_daemon.call("GetContext", **params)
    second = shared_daemon.call("GetContext", **params)
    assert (first["cached"], second["cached"]) == (False, True)
    volatile = ("cached", "elapsed_ms")
    assert {name: value for name, value in first.items() if name not in volatile} == {
        name: value for name, value in second.items() if name not in volatile
    }


def test_same_bytes_after_a_restart_and_in_another_daemon(
    daemon: DaemonProcess, shop: Path, tmp_path: Path
) -> None:
    def ask(process: DaemonProcess) -> Any:
        process.open_ready(shop)
        return process.call(
            "GetContext", cwd=str(shop), focus_paths=["src/shop/auth.py"], prompt="expire", agent_name="a"
        )

    first = ask(daemon)
    daemon.stop()
    restarted = ask(daemon)
    assert restarted["context"] == first["context"]
    assert restarted["scope_id"] == first["scope_id"]
    with running_daemon(tmp_path) as other:
        elsewhere = ask(other)
    assert elsewhere["context"] == first["context"]
    assert elsewhere["slices"] == first["slices"]


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


def test_fresh_no_answers_from_what_is_known(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    params = {"cwd": ready_shop, "focus_paths": ["web/app.ts"], "fresh": "no"}
    first = shared_daemon.call("GetContext", **params)
    assert shared_daemon.call("GetContext", **params)["context"] == first["context"]


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


def test_node_of_a_definition_and_a_section(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    node = shared_daemon.call("GetNode", cwd=ready_shop, node_id="src/shop/sessions.py#Session.touch")
    fields = documented_fields(METHODS["GetNode"][1])
    required = fields - optional_fields(METHODS["GetNode"][1])
    assert set(node) == required | {"callers", "callees", "symbol", "signature", "doc"}
    assert (node["kind"], node["start_line"], node["end_line"]) == ("method", 12, 13)
    assert node["signature"] == "def touch(self) -> None:"
    assert node["doc"] == "Move the end of the session."
    assert node["definition"].strip().startswith("def touch")
    whole = shared_daemon.call("GetNode", cwd=ready_shop, node_id="src/shop/sessions.py#Session")
    assert [one["node_id"] for one in whole["symbols"]] == [
        "src/shop/sessions.py#Session.__init__",
        "src/shop/sessions.py#Session.touch",
    ]
    part = shared_daemon.call("GetNode", cwd=ready_shop, node_id="README.md#Shop/Setup")
    assert (part["kind"], part["definition"]) == ("section", "## Setup\n\nRun it.")


def test_node_follows_the_disk(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    new = Path(ready_shop) / "src/shop/new.py"
    new.write_text("from .cart import checkout\n\n\ndef fresh():\n    return checkout()\n")
    node = shared_daemon.call("GetNode", cwd=ready_shop, node_id="src/shop/new.py#fresh")
    assert (node["start_line"], node["degraded"]) == (4, [])
    new.write_text("\n\n" + new.read_text())
    assert shared_daemon.call("GetNode", cwd=ready_shop, node_id="src/shop/new.py#fresh")["start_line"] == 6
    cart = shared_daemon.call("GetNode", cwd=ready_shop, node_id="src/shop/cart.py", fresh="tree")
    assert {"path": "src/shop/new.py", "line": 3} in cart["importers"]
    new.unlink()
    error = shared_daemon.error("GetNode", cwd=ready_shop, node_id="src/shop/new.py", fresh="tree")
    assert error.code == "not_found"


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


def test_a_definition_in_an_unsaved_buffer(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    node_id = "src/shop/sessions.py#expire"
    shared_daemon.call(
        "NotifyFile",
        cwd=ready_shop,
        path="src/shop/sessions.py",
        event="changed",
        text="\n\n\ndef expire(): # unsaved\n    ...\n",
    )
    reply = shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=[node_id])
    assert "def expire(): # unsaved\n    ...\n" in reply["context"]
    assert reply["gaps"] == []
    node = shared_daemon.call("GetNode", cwd=ready_shop, node_id=node_id)
    assert node["definition"].startswith("def expire(session: Session)"), "what its lines are known for"


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


def test_an_open_file_is_hot_in_a_new_scope(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    absolute = f"{ready_shop}/web/money.ts"
    assert shared_daemon.call("NotifyFile", cwd=ready_shop, path=absolute, event="opened") == {
        "noted": "web/money.ts"
    }
    reply = shared_daemon.call("GetContext", cwd=ready_shop, session_id="editor", focus_paths=["README.md"])
    assert "- `web/money.ts` (open in an editor)" in section(reply["context"], "Project Structure")
    scope = shared_daemon.call("GetScope", scope_id=reply["scope_id"])
    assert {"path": "web/money.ts", "reason": "open in an editor"} in scope["hot_nodes"]


# Experiences


def graft(daemon: DaemonProcess, root: str, decision: str, **more: Any) -> Any:
    experience = {"decision": decision, "agent_id": "claude", "session_id": "s1", **more}
    return daemon.call("GraftExperience", cwd=root, experience=experience)


def test_a_decision_shows_in_the_next_context(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def ask() -> Any:
        return shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=["src/shop/auth.py"])

    before = ask()
    assert section(before["context"], "Recent Decisions") == ""
    about = {"rationale": "The law says so", "files_touched": ["src/shop/auth.py"]}
    reply = graft(shared_daemon, ready_shop, "Sessions end after an hour", **about)
    assert set(reply) == documented_fields(METHODS["GraftExperience"][1])
    assert (reply["grafted"], reply["duplicates"], reply["skipped"], reply["warnings"]) == (1, 0, [], [])
    assert len(reply["experience_ids"]) == 1
    after = ask()
    assert section(after["context"], "Recent Decisions") == (
        "\n- claude: Sessions end after an hour\n  why: The law says so\n  files: src/shop/auth.py\n\n"
    )
    assert after["scope_id"] == before["scope_id"]
    twice = graft(shared_daemon, ready_shop, "Sessions end  after an hour")
    assert (twice["grafted"], twice["duplicates"]) == (0, 1)


def test_decisions_come_newest_first_with_their_outcomes(
    shared_daemon: DaemonProcess, ready_shop: str
) -> None:
    def stamped(hour: int, decision: str, **outcome: str) -> None:
        more = {"outcome": outcome} if outcome else {}
        graft(shared_daemon, ready_shop, decision, timestamp=f"2025-01-31T{hour:02}:00:00Z", **more)

    stamped(10, "Cache sessions", kind="failure", error="stale\nreads")
    stamped(12, "Use Redis", kind="reverted")
    stamped(11, "Use UUIDs", kind="success")
    context = shared_daemon.call("GetContext", cwd=ready_shop)["context"]
    assert section(context, "Recent Decisions").strip().split("\n") == [
        "- claude: Use Redis (reverted)",
        "- claude: Use UUIDs",
        "- claude: Cache sessions (failed: stale reads)",
    ]


def test_at_most_five_decisions_and_the_relevant_ones(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def shown(**asked: Any) -> list[str]:
        context = shared_daemon.call("GetContext", cwd=ready_shop, **asked)["context"]
        return [line for line in section(context, "Recent Decisions").split("\n") if line.startswith("- ")]

    for hour in range(9):
        graft(shared_daemon, ready_shop, f"Choice {hour}", timestamp=f"2025-02-01T{hour:02}:00:00Z")
    for topic in ("coins", "taxes", "sizes", "stock", "orders", "gifts"):
        about = {"files_touched": ["src/shop/cart.py"], "timestamp": "2020-01-01T00:00:00Z"}
        graft(shared_daemon, ready_shop, f"Decided on {topic}", **about)
    assert len(shown(focus_paths=["src/shop/cart.py"])) == 5
    assert all("Decided on" in line for line in shown(focus_paths=["src/shop/cart.py"]))
    assert shown(focus_paths=["README.md"]) == [], "none rather than the latest"
    assert shown() == [f"- claude: Choice {number}" for number in (8, 7, 6)]


def test_decisions_take_a_bounded_part_of_a_context(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    words = (
        "coins melt slowly",
        "taxes follow towns",
        "birds sing early",
        "trains run late",
        "lamps glow red",
    )
    for saying in words:
        long = {"rationale": 60 * f"Since {saying}. ", "files_touched": ["src/shop/cart.py"]}
        graft(shared_daemon, ready_shop, f"Decided that {saying}. " + 60 * f"Then {saying}. ", **long)
    for max_tokens, count in ((300, 0), (1_500, 3), (6_000, 5)):
        asked = {"focus_paths": ["src/shop/cart.py"], "max_tokens": max_tokens, "reserve_tokens": 0}
        reply = shared_daemon.call("GetContext", cwd=ready_shop, **asked)
        decisions = [one for one in reply["slices"] if one["type"] == "agent_history"]
        assert len(decisions) == count
        assert sum(one["tokens"] for one in decisions) <= max_tokens * 0.1
        assert reply["context"].count("Decided that ") == count, "each begins with its first sentence"


def test_list_experiences(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    graft(
        shared_daemon,
        ready_shop,
        "Use Redis",
        agent_id="codex",
        outcome={"kind": "failure", "error": "down"},
        files_touched=["src/shop/auth.py", f"{ready_shop}/web/app.ts"],
        timestamp="2025-01-01T00:00:00Z",
    )
    graft(shared_daemon, ready_shop, "Use files", session_id="s2", timestamp="2025-01-02T00:00:00Z")
    graft(
        shared_daemon, ready_shop, "Use SQLite", rationale="redis is heavy", timestamp="2025-01-03T00:00:00Z"
    )

    def check(expected: list[str], total: int | None = None, **filters: Any) -> Any:
        reply = shared_daemon.call("ListExperiences", cwd=ready_shop, **filters)
        more = {"next"} if expected and total is not None else set()
        assert set(reply) == {"experiences", "total", *more}
        assert [one["decision"] for one in reply["experiences"]] == expected
        assert reply["total"] == (len(expected) if total is None else total)
        return reply["experiences"]

    check(["Use SQLite", "Use files", "Use Redis"])
    check(["Use SQLite"], 3, limit=1)
    check([], 3, limit=0)
    check(["Use files"], session_id="s2")
    check(["Use SQLite", "Use Redis"], query="REDIS")
    check(["Use SQLite", "Use files"], since="2025-01-02T00:00:00Z")
    check(["Use Redis"], outcome="failure")
    check([], outcome="reverted")
    (one,) = check(["Use Redis"], agent_id="codex")
    assert one["outcome"] == {"kind": "failure", "error": "down"}
    assert one["files_touched"] == ["src/shop/auth.py", "web/app.ts"]
    assert one["timestamp"] == "2025-01-01T00:00:00.000Z"
    assert one["experience_id"]


def test_decisions_survive_a_kill(daemon: DaemonProcess, shop: Path) -> None:
    graft(daemon, str(shop), "Remember me")
    daemon.stop(9)
    listed = daemon.call("ListExperiences", cwd=str(shop))["experiences"]
    assert [one["decision"] for one in listed] == ["Remember me"]


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


def test_subscribe_replaces_the_topics(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    with shared_daemon.subscribed("scope.created", "scope.released") as client:
        client.call("Subscribe", {"topics": ["scope.released"]}, DEADLINE_S)
        created = client.call("GetContext", {"cwd": ready_shop, "session_id": "quiet"}, DEADLINE_S)
        client.call("ReleaseScope", {"scope_id": created["scope_id"]}, DEADLINE_S)
        first = next(client.events(DEADLINE_S))
    assert (first["topic"], first["data"]["scope_id"]) == ("scope.released", created["scope_id"])


def test_who_does_not_subscribe_hears_nothing(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    with shared_daemon.client() as client, shared_daemon.subscribed("scope.created") as other:
        created = shared_daemon.call("GetContext", cwd=ready_shop, session_id="unheard")
        next_event(other, "scope.created", scope_id=created["scope_id"])
        client.call("Subscribe", {"topics": ["scope.released"]}, DEADLINE_S)
        shared_daemon.call("ReleaseScope", scope_id=created["scope_id"])
        assert next(client.events(DEADLINE_S))["topic"] == "scope.released"


# Rules, constraints, settings


def test_rules_by_include_mode(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    def rule(front: str, text: str) -> str:
        return f"---\n{front}\n---\n{text}\n"

    root = write_files(
        tmp_path / "ruled",
        {
            "AGENTS.md": "Always: agents.\n",
            ".cursor/rules/always.mdc": rule("alwaysApply: true", "Always: cursor."),
            ".cursor/rules/python.mdc": rule("globs: src/**/*.py\nalwaysApply: false", "Only: python."),
            ".cursor/rules/web.mdc": rule("globs: '*.ts,*.tsx'\nalwaysApply: false", "Only: web."),
            ".cursor/rules/asked.mdc": rule("description: When asked\nalwaysApply: false", "Only: asked."),
            "src/deep/a.py": "x = 1\n",
            "web/a.ts": "export {};\n",
        },
    )
    shared_daemon.open_ready(root)

    def check(focus: list[str], expected: set[str]) -> None:
        reply = shared_daemon.call("GetContext", cwd=str(root), focus_paths=focus)
        assert set(re.findall(r"(?:Always|Only): (\w+)\.", section(reply["context"], "Rules"))) == expected
        assert {one["include_mode"] for one in reply["items"]} <= {"always", "glob"}

    check([], {"agents", "cursor"})
    check(["src/deep/a.py"], {"agents", "cursor", "python"})
    check(["web/a.ts"], {"agents", "cursor", "web"})
    check(["src", "web/*.ts"], {"agents", "cursor", "python", "web"})


def test_a_changed_rule_shows_in_the_next_call(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def rules() -> str:
        return section(shared_daemon.call("GetContext", cwd=ready_shop)["context"], "Rules")

    assert "repository's logger" in rules()
    (Path(ready_shop) / "CLAUDE.md").write_text("Never log.\n")
    assert "Never log." in rules()
    with shared_daemon.subscribed("project.changed") as events:
        (Path(ready_shop) / "CLAUDE.md").unlink()
        (Path(ready_shop) / "AGENTS.md").write_text("Log twice.\n")
        next_event(events, "project.changed", project=ready_shop)
    context = shared_daemon.call("GetContext", cwd=ready_shop, fresh="tree")["context"]
    assert "Log twice." in section(context, "Rules")
    assert "Never log." not in context


def test_constraints_are_inherited_over_two_levels(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def ask(**more: Any) -> Any:
        return shared_daemon.call("GetContext", cwd=ready_shop, **more)

    def constraints(reply: Any) -> list[str]:
        return [
            line[2:] for line in section(reply["context"], "Constraints").split("\n") if line.startswith("- ")
        ]

    top = ask(constraints=["No network."], agent_name="top")
    middle = ask(constraints=["No new files."], agent_name="middle", parent_scope_id=top["scope_id"])
    bottom = ask(constraints=["Be brief."], agent_name="bottom", parent_scope_id=middle["scope_id"])
    assert constraints(bottom) == ["No network.", "No new files.", "Be brief."]
    scope = shared_daemon.call("GetScope", scope_id=bottom["scope_id"])
    assert scope["constraints"] == ["Be brief."]
    assert scope["inherited_constraints"] == ["No network.", "No new files."]
    # What an ancestor is told later holds for those below it at once.
    ask(scope_id=top["scope_id"], constraints=["No network.", "No mail."])
    assert constraints(ask(scope_id=bottom["scope_id"])) == [
        "No network.",
        "No mail.",
        "No new files.",
        "Be brief.",
    ]
    shared_daemon.call("ReleaseScope", scope_id=middle["scope_id"])
    assert constraints(ask(scope_id=bottom["scope_id"])) == [
        "No network.",
        "No mail.",
        "No new files.",
        "Be brief.",
    ]


def test_foveal_toml_takes_effect(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    def ask(**more: Any) -> Any:
        return shared_daemon.call("GetContext", cwd=ready_shop, focus_paths=["src/shop/auth.py"], **more)

    settings = Path(ready_shop) / "foveal.toml"
    assert "sessions.py` (imported by" in ask()["context"]
    settings.write_text("[context]\ndependencies_max = 0\nmax_tokens = 200\n")
    narrowed = ask()
    assert "sessions.py` (imported by" not in narrowed["context"]
    assert narrowed["tokens"] <= 150, "three quarters of 200, in the very next call"
    settings.write_text('[scan]\nexclude = ["web/"]\n')
    without_web = ask(fresh="tree")
    assert "app.ts" not in without_web["context"]
    assert "sessions.py` (imported by" in without_web["context"]
    settings.unlink()
    assert "app.ts" in ask(fresh="tree")["context"]


def test_foveal_toml_warns_of_unknown_keys(shared_daemon: DaemonProcess, ready_shop: str) -> None:
    (Path(ready_shop) / "foveal.toml").write_text("[context]\nmax_tokns = 5\n")
    reply = shared_daemon.call("GetContext", cwd=ready_shop)
    assert any("max_tokns" in reason and "max_tokens" in reason for reason in reply["degraded"])


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


def test_a_git_history_makes_files_hot(shared_daemon: DaemonProcess, shop: Path) -> None:
    for round_ in range(4):
        (shop / "web/money.ts").write_text(f"export const total = {round_};\n")
        git(shop, "commit", "-q", "-am", f"change {round_}")
    shared_daemon.open_ready(shop)
    reply = shared_daemon.call("GetContext", cwd=str(shop), session_id="historian", focus_paths=["README.md"])
    assert "- `web/money.ts` (often changed)" in reply["context"]
