"""Items over the socket: where they come from, which of them a request gets, and which a context shows."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, DaemonProcess, running_daemon, write_files
from tests.search_cases import until
from tests.server_cases import RAW_SERVER

RULES = {
    "A": ("always", "Every answer is in English.", ""),
    "B": ("manual", "Sign commits with the release key.", ""),
    "C": (
        "agent",
        "Write a database migration for each change of a table, and test it on a copy of the data.",
        "How to change the schema of the database with a migration.",
    ),
    "X": ("always", "Never push to main.", ""),
    "Y": (
        "agent",
        "Use the colour tokens of the design system in CSS, never raw hexadecimal colours.",
        "Colours and themes in the style sheets.",
    ),
}
MIGRATION = "Add a column to the orders table: which migration of the database schema do I write?"
COLOURS = "Which colour do I use for the theme of the button in the CSS style sheet?"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {
        "src/a.py": "x = 1\n",
        "docs/notes.md": "# Notes\n\nRemember this.\n",
        ".git/HEAD": "x",
    }
    return write_files(tmp_path / "p", files).resolve()


@pytest.fixture(scope="module")
def searching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give a daemon whose model is there, for searches."""
    folder = tmp_path_factory.mktemp("d")
    with running_daemon(folder, embedding=True) as daemon:
        rule = {"type": "rule", "name": "any", "text": "Any text."}
        root = write_files(folder / "any", {".git/HEAD": "x"})
        # A search waits for the model for 2 s, which it may take longer to load on a busy machine.
        asked = {"cwd": str(root), "query": "any", "items": [rule], "deadline_ms": 600_000}
        until(lambda: not daemon.call("SearchItems", **asked)["degraded"], "the model is loaded")
        yield daemon


def put(daemon: DaemonProcess, root: Path, name: str, include: str, **fields: Any) -> Any:
    item = {"type": "rule", "name": name, "include": include, "text": f"Text of {name}.", **fields}
    return daemon.call("PutItem", cwd=str(root), item=item)["item"]


def classic(daemon: DaemonProcess, root: Path) -> None:
    for name, (include, text, description) in RULES.items():
        put(daemon, root, name, include, text=text, description=description)


def listed(daemon: DaemonProcess, root: Path) -> dict[str, str]:
    return {one["name"]: one["include"] for one in daemon.call("ListItems", cwd=str(root))["items"]}


def used(reply: Any) -> dict[str, str]:
    return {one["name"]: one["include_mode"] for one in reply["items"]}


def session_names(daemon: DaemonProcess, session: str) -> list[str]:
    return [one["name"] for one in daemon.call("GetSession", session_id=session)["items"]]


# Whose they are

OWNED = {
    "CLAUDE.md": "the project's",
    "web/AGENTS.md": "the project's",
    "~/.claude/CLAUDE.md": "the user's",
    "~/.claude/CLAUDE.md` (the user's)": "the project's foveal.toml",
    "brief": "the user's config.toml",
    "made": "put with foveal",
}
"""Names of rules by whose they are; one tries to pass for another's."""


def test_each_rule_says_whose_it_is(tmp_path: Path, project: Path) -> None:
    def toml(name: str) -> str:
        return f'[[items]]\ntype = "rule"\nname = "{name}"\ntext = "Rule of {name}."\n'

    forged = next(name for name, whose in OWNED.items() if whose.endswith("foveal.toml"))
    files = {"CLAUDE.md": "One.\n", "web/AGENTS.md": "Two.\n", "web/a.js": "1\n", "foveal.toml": toml(forged)}
    write_files(project, files)
    mine = {"home/.claude/CLAUDE.md": "Three.\n", "config/config.toml": toml("brief")}
    with running_daemon(write_files(tmp_path / "d", mine)) as daemon:
        put(daemon, project, "made", "always")
        asked: dict[str, Any] = {"cwd": str(project), "focus_paths": ["web/a.js"]}
        reply = daemon.call("GetContext", **asked)
        headings = {
            name: f"`{name.replace('`', chr(92) + 'x60')}` ({whose})" for name, whose in OWNED.items()
        }
        rules = reply["context"].partition("## Rules\n\n")[2].partition("\n## ")[0]
        found = {line.removeprefix("### ") for line in rules.split("\n") if line.startswith("### ")}
        assert found == set(headings.values())
        assert reply["context"] == daemon.call("GetContext", **asked)["context"]

        slices = json.loads(daemon.call("GetContext", **asked, format="json")["context"])["slices"]
        texts = [one["text"].split("\n")[0] for one in slices if one["type"] == "rule"]
        assert set(texts) == {f"### {heading}" for heading in headings.values()}
        messages = daemon.call("GetContext", **asked, format="messages")["messages"]
        starts = {message["content"].split("\n")[0] for message in messages}
        assert {f"Rule: {name} ({whose})" for name, whose in OWNED.items()} <= starts

        why = {one["id"]: one["source"] for one in reply["slices"] if one["type"] == "rule"}
        assert why == {f"rule:{name}": why[f"rule:{name}"] for name in OWNED}
        assert all(why[f"rule:{name}"].endswith(f", {whose}") for name, whose in OWNED.items())
        explained = daemon.call(
            "ExplainPath", cwd=str(project), context_id=reply["context_id"], path="CLAUDE.md"
        )
        assert "it is shown as rule: CLAUDE.md:1, always, the project's" in explained["reasons"][0]
        event = {"session_id": "c", "source": "startup"}
        told = daemon.call(
            "HookEvent", host="cursor", event="sessionStart", payload=json.dumps(event), cwd=str(project)
        )
        assert "### `~/.claude/CLAUDE.md` (the user's)" in json.dumps(told).replace("\\u2019", "'")


# The agent level


def test_items_come_from_all_sources(shared_daemon: DaemonProcess, project: Path) -> None:
    toml = '[[items]]\ntype = "rule"\nname = "configured"\ntext = "Be brief."\ninclude = "agent"\n'
    write_files(project, {"AGENTS.md": "Be kind.\n", "foveal.toml": toml})
    made = put(shared_daemon, project, "made", "glob", globs=["*.py"], description="d", priority_level=450)
    assert made == {
        "type": "rule",
        "name": "made",
        "include": "glob",
        "description": "d",
        "globs": ["*.py"],
        "priority_level": 450,
        "source": "PutItem",
        "line": 1,
        "put": True,
    }
    reply = shared_daemon.call("ListItems", cwd=str(project))
    assert (reply["warnings"], reply["texts_left_out"]) == ([], 0)
    assert [(one["name"], one["include"], one["put"]) for one in reply["items"]] == [
        ("AGENTS.md", "always", False),
        ("configured", "agent", False),
        ("made", "glob", True),
    ]
    by_name = {one["name"]: one for one in reply["items"]}
    assert by_name["AGENTS.md"]["text"] == "Be kind."
    assert by_name["configured"]["source"] == str(project / "foveal.toml")
    without = shared_daemon.call("ListItems", cwd=str(project), content=False)["items"]
    assert without == [{name: one[name] for name in one if name != "text"} for one in reply["items"]]
    status = shared_daemon.call("Status", cwd=str(project))["projects"][0]
    assert status["degraded"] == [], "the table of items is no unknown key"


def test_what_is_put_is_changed_and_deleted(shared_daemon: DaemonProcess, project: Path) -> None:
    write_files(project, {"AGENTS.md": "Be kind.\n"})
    assert put(shared_daemon, project, "AGENTS.md", "manual", text="")["include"] == "manual"
    assert listed(shared_daemon, project) == {"AGENTS.md": "manual"}
    deleted = shared_daemon.call("DeleteItem", cwd=str(project), type="rule", name="AGENTS.md")
    assert deleted["item"]["include"] == "always"
    error = shared_daemon.error("DeleteItem", cwd=str(project), type="rule", name="AGENTS.md")
    assert (error.code, "AGENTS.md" in error.message) == ("invalid_params", True)
    assert shared_daemon.error("DeleteItem", cwd=str(project), type="rule", name="no").code == "not_found"


def test_items_survive_a_restart(daemon: DaemonProcess, project: Path) -> None:
    put(daemon, project, "made", "agent")
    daemon.stop()
    assert listed(daemon, project) == {"made": "agent"}


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (None, "item"),
        ({"name": "x", "include": "always", "text": "t"}, "item.type"),
        ({"type": "rule", "include": "always", "text": "t"}, "item.name"),
        ({"type": "rule", "name": "x", "text": "t"}, "item.include"),
        ({"type": "rule", "name": "x", "include": "always"}, "item.text"),
        ({"type": "rule", "name": "x", "include": "glob", "text": "t"}, "item.globs"),
        ({"type": "tool", "name": "x", "include": "always"}, "item.server_name"),
        ({"type": "rule", "name": "x", "include": "always", "text": 5}, "item.text"),
    ],
)
def test_an_item_that_can_not_be_put(
    shared_daemon: DaemonProcess, project: Path, item: Any, field: str
) -> None:
    error = shared_daemon.error("PutItem", cwd=str(project), **({"item": item} if item else {}))
    assert (error.code, error.data) == ("invalid_params", {"field": field})


def test_modes_of_tools(shared_daemon: DaemonProcess, project: Path) -> None:
    for name in ("search", "write"):
        tool = {"type": "tool", "name": name, "server_name": "hub", "include": "always"}
        shared_daemon.call("PutItem", cwd=str(project), item=tool)
    cwd = {"cwd": str(project), "server_name": "hub"}
    assert shared_daemon.call("SetToolMode", **cwd, name="write", include="manual") == {
        "changed": True,
        "tools": [{"name": "write", "include": "manual"}],
    }
    assert not shared_daemon.call("SetToolMode", **cwd, name="write", include="manual")["changed"]
    assert listed(shared_daemon, project) == {"search": "always", "write": "manual"}
    shared_daemon.call("SetToolMode", **cwd, name="write", include="default")
    assert shared_daemon.error("SetToolMode", **cwd, name="write", include="glob").code == "invalid_params"
    assert shared_daemon.error("SetToolMode", **cwd, name="no", include="agent").code == "not_found"
    unknown = {"cwd": str(project), "server_name": "club", "include": "agent"}
    assert shared_daemon.error("SetToolMode", **unknown).code == "not_found"


def test_a_damaged_file_of_items_is_named_and_left_alone(daemon: DaemonProcess, project: Path) -> None:
    write_files(project, {"AGENTS.md": "Be kind.\n"})
    put(daemon, project, "made", "always")
    (path,) = daemon.state.glob("projects/*/items.json")
    daemon.stop()
    path.write_text("{")
    reply = daemon.call("GetContext", cwd=str(project))
    assert used(reply) == {"AGENTS.md": "always"}
    assert any(str(path) in reason for reason in reply["degraded"])
    assert any(str(path) in warning for warning in daemon.call("ListItems", cwd=str(project))["warnings"])
    error = daemon.error("PutItem", cwd=str(project), item={"type": "rule", "name": "a", "include": "manual"})
    assert (error.code, str(path) in error.message) == ("internal", True)
    assert path.read_text() == "{"


@pytest.mark.skipif(sys.platform != "linux", reason="no other system sets the limits of another process")
def test_what_could_not_be_read_without_descriptors_is_read_again(
    daemon: DaemonProcess, project: Path
) -> None:
    """No stamp changes when descriptors come back, so what was found without them must not be kept.

    The files lie where nobody watches: else the watcher's word of them would have them read again.
    """
    rule = daemon.home / ".claude" / "CLAUDE.md"
    write_files(rule.parent, {rule.name: "Be kind.\n"})
    put(daemon, project, "made", "always")
    (made,) = daemon.state.glob("projects/*/items.json")
    params = {"cwd": str(project), "fresh": "tree"}
    with daemon.client() as client:
        assert client.call("GetContext", params, DEADLINE_S)["degraded"] == []
        rule.write_text("Be kinder.\n")
        made.write_text(made.read_text().replace("Text of made.", "Another text."))
        former = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (0, former[1]))
        try:
            degraded = client.call("GetContext", params, DEADLINE_S)["degraded"]
        finally:
            resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, former)
        assert any("Too many open files" in reason for reason in degraded)
        reply = client.call("GetContext", params, DEADLINE_S)
    assert reply["degraded"] == []
    assert "Be kinder." in reply["context"]
    assert "Another text." in reply["context"]


# A request without a session


def test_without_a_session_items_go_by_their_modes(shared_daemon: DaemonProcess, project: Path) -> None:
    put(shared_daemon, project, "in", "always")
    put(shared_daemon, project, "python", "glob", globs=["*.py"])
    put(shared_daemon, project, "go", "glob", globs=["*.go"])
    put(shared_daemon, project, "by hand", "manual")
    put(shared_daemon, project, "found", "agent")
    reference = {"type": "reference", "name": "api", "include": "always", "text": "The API has two methods."}
    shared_daemon.call("PutItem", cwd=str(project), item=reference)
    reply = shared_daemon.call("GetContext", cwd=str(project), focus_paths=["src/a.py"])
    assert used(reply) == {"in": "always", "python": "glob", "api": "always"}
    assert "Text of in." in reply["context"]
    assert "## References\n\n### `api`" in reply["context"]
    assert not any(text in reply["context"] for text in ("Text of go", "Text of by hand", "Text of found"))
    assert "request_id" not in reply
    nothing = shared_daemon.call("GetContext", cwd=str(project), focus_paths=["docs/notes.md"])
    assert used(nothing) == {"in": "always", "api": "always"}


def test_what_is_put_shows_in_the_next_context(shared_daemon: DaemonProcess, project: Path) -> None:
    before = shared_daemon.call("GetContext", cwd=str(project))
    put(shared_daemon, project, "new", "always")
    after = shared_daemon.call("GetContext", cwd=str(project))
    assert (used(before), used(after)) == ({}, {"new": "always"})
    shared_daemon.call("DeleteItem", cwd=str(project), type="rule", name="new")
    again = shared_daemon.call("GetContext", cwd=str(project))
    assert again["context"] == before["context"]


def test_items_for_one_request(shared_daemon: DaemonProcess, project: Path) -> None:
    put(shared_daemon, project, "in", "always")
    put(shared_daemon, project, "by hand", "manual")
    reply = shared_daemon.call(
        "GetContext",
        cwd=str(project),
        include_items=[{"type": "rule", "name": "by hand"}, {"type": "rule", "name": "gone"}],
        exclude_items=[{"type": "rule", "name": "in"}],
    )
    assert used(reply) == {"by hand": "manual"}
    assert "the rule gone isn't there (any more)" in reply["gaps"]
    assert used(shared_daemon.call("GetContext", cwd=str(project))) == {"in": "always"}
    for name in ("include_items", "exclude_items"):
        error = shared_daemon.error("GetContext", cwd=str(project), **{name: [{"type": "tool", "name": "x"}]})
        assert (error.code, error.data) == ("invalid_params", {"field": f"{name}.server_name"})


# A request in a session


def test_the_classic_example(searching: DaemonProcess, project: Path) -> None:
    """A always, B manual, C agent, X always, Y agent: each question gets the one that it is about."""
    classic(searching, project)
    session = searching.call("CreateSession", cwd=str(project))["session_id"]
    searching.call("AddSessionItem", session_id=session, type="rule", name="B")
    assert sorted(session_names(searching, session)) == ["A", "B", "X"]

    def ask(prompt: str, **params: Any) -> Any:
        return searching.call("GetContext", cwd=str(project), session_id=session, prompt=prompt, **params)

    always = {"A": "always", "X": "always", "B": "manual"}
    first, second = ask(MIGRATION), ask(COLOURS)
    assert used(first) == always | {"C": "agent"}
    assert used(second) == always | {"Y": "agent"}
    assert not any("items of mode agent" in one for one in (*first["degraded"], *second["degraded"]))
    scores = {one["name"]: one.get("similarity_score") for one in first["items"]}
    assert scores["C"] > 0.3
    assert {name: score for name, score in scores.items() if name != "C"} == dict.fromkeys("ABX")
    assert RULES["C"][1] in first["context"]
    assert RULES["Y"][1] not in first["context"]
    assert sorted(session_names(searching, session)) == ["A", "B", "X"]
    assert first["request_id"] != second["request_id"]
    again = ask(MIGRATION)
    assert again["context"] == first["context"]
    assert again["request_id"] not in {first["request_id"], second["request_id"]}
    assert used(ask("yes, do that", history=[{"role": "user", "content": MIGRATION}])) == always | {
        "C": "agent"
    }


def test_what_was_removed_by_hand_comes_back_by_no_way(searching: DaemonProcess, project: Path) -> None:
    classic(searching, project)
    put(searching, project, "G", "glob", globs=["*.py"])
    write_files(project, {"AGENTS.md": "Each migration of the database schema adds a column to orders.\n"})
    session = searching.call("CreateSession", cwd=str(project))["session_id"]
    for name in ("A", "C", "G"):
        searching.call("AddSessionItem", session_id=session, type="rule", name=name)
        searching.call("RemoveSessionItem", session_id=session, type="rule", name=name)
    searching.call("RemoveSessionItem", session_id=session, type="rule", name="AGENTS.md")
    params = {"cwd": str(project), "session_id": session, "focus_paths": ["src/a.py"]}
    reply = searching.call("GetContext", **params, prompt=f"{MIGRATION} As AGENTS.md says.")
    assert set(used(reply)) == {"X"}
    assert "adds a column to orders" not in reply["context"]
    assert "### `src/a.py`" in reply["context"]
    assert not any(one in reply["context"] for one in (RULES["A"][1], RULES["C"][1], "Text of G"))
    record = searching.call("GetRequest", session_id=session, request_id=reply["request_id"])
    reasons = {one["name"]: one["reason"] for one in record["considered"]}
    assert reasons["C"] == "removed"
    assert reasons["Y"] == "floor"


def test_a_session_says_how_items_are_chosen(searching: DaemonProcess, project: Path) -> None:
    classic(searching, project)
    session = searching.call("CreateSession", cwd=str(project), selection={"preset": "off"})["session_id"]
    params = {"cwd": str(project), "session_id": session, "prompt": MIGRATION}
    assert set(used(searching.call("GetContext", **params))) == {"A", "X"}
    searching.call("UpdateSession", session_id=session, selection={"rules": "normal"})
    assert set(used(searching.call("GetContext", **params))) == {"A", "X", "C"}
    write_files(project, {"foveal.toml": '[selection.agents.quiet]\nrules = "off"\n'})
    quiet = {**params, "session_id": "not made", "agent_name": "quiet"}
    assert set(used(searching.call("GetContext", **quiet))) == {"A", "X"}
    assert set(used(searching.call("GetContext", **quiet | {"agent_name": "other"}))) == {"A", "X", "C"}


def test_items_are_searched(searching: DaemonProcess, project: Path) -> None:
    classic(searching, project)
    reply = searching.call("SearchItems", cwd=str(project), query=MIGRATION)
    assert [one["name"] for one in reply["items"]][:1] == ["C"]
    assert reply["items"][0]["similarity_score"] >= reply["items"][0]["similarity"]
    assert reply["degraded"] == []
    assert (
        searching.call("SearchItems", cwd=str(project), query=MIGRATION, top_n=0, include_score=2)["items"]
        == []
    )
    assert searching.call("SearchItems", cwd=str(project), query=MIGRATION, types=["tool"])["items"] == []
    given = [{"type": "rule", "name": "Y"}, {"type": "rule", "name": "new", "text": "Migrations of schemas."}]
    found = searching.call("SearchItems", cwd=str(project), query=MIGRATION, items=given)
    assert [one["name"] for one in found["items"]] == ["new"]
    assert "new" not in listed(searching, project)
    for params, field in (
        ({"preset": "odd"}, "preset"),
        ({"types": ["page"]}, "types"),
        ({"top_k": -1}, "top_k"),
        ({"include_score": "high"}, "include_score"),
    ):
        error = searching.error("SearchItems", cwd=str(project), query="x", **params)
        assert (error.code, error.data) == ("invalid_params", {"field": field})


def test_where_the_search_fails_the_rest_is_answered(shared_daemon: DaemonProcess, project: Path) -> None:
    classic(shared_daemon, project)
    session = shared_daemon.call("CreateSession", cwd=str(project))["session_id"]
    reply = shared_daemon.call("GetContext", cwd=str(project), session_id=session, prompt=MIGRATION)
    assert set(used(reply)) == {"A", "X"}
    assert any("items of mode agent are left out" in reason for reason in reply["degraded"])
    record = shared_daemon.call("GetRequest", session_id=session, request_id=reply["request_id"])
    assert record["degraded"] == reply["degraded"]


def test_a_changed_rule_changes_in_all_sessions(shared_daemon: DaemonProcess, project: Path) -> None:
    write_files(project, {"AGENTS.md": "Be kind.\n"})
    sessions = [shared_daemon.call("CreateSession", cwd=str(project))["session_id"] for _ in range(2)]

    def contexts() -> list[str]:
        return [
            shared_daemon.call("GetContext", cwd=str(project), session_id=session)["context"]
            for session in sessions
        ]

    assert all("Be kind." in context for context in contexts())
    write_files(project, {"AGENTS.md": "Be very brief.\n"})
    assert all("Be very brief." in context and "Be kind." not in context for context in contexts())
    (project / "AGENTS.md").unlink()
    reply = shared_daemon.call("GetContext", cwd=str(project), session_id=sessions[0])
    assert used(reply) == {}
    assert "the rule AGENTS.md isn't there (any more)" in reply["gaps"]


# Files of rules

HIDDEN: dict[str, str | bytes] = {
    "AGENTS.md": "Zebra crossings have stripes.\n",
    "copy/CLAUDE.md": "---\npaths: nowhere/**\n---\nZebra foals have stripes too.\n",
    "GEMINI.md": "@docs/zebra.md\n",
    "docs/zebra.md": "# Zebra\n\nA zebra has STRIPES.\n",
    ".cursor/rules/zebra.mdc": "---\nalwaysApply: false\n---\nThe zebra has stripes.\n",
    "foveal.toml": '[[items]]\ntype = "rule"\nname = "z"\ntext = "Zebra stripes."\ninclude = "manual"\n',
}
ZEBRA = "Where are the stripes of the zebra? See AGENTS.md, docs/zebra.md and foveal.toml."


def shown(reply: Any) -> set[str]:
    return {one["path"] for one in reply["slices"] if one["layer"] == "focus" and "path" in one}


def hidden_session(daemon: DaemonProcess, root: Path) -> str:
    """Make a session without any of the rules of HIDDEN, all of which are indexed."""
    write_files(root, HIDDEN)
    assert daemon.open_ready(root)["state"] == "ready"
    session = str(daemon.call("CreateSession", cwd=str(root))["session_id"])
    for name in listed(daemon, root):
        daemon.call("RemoveSessionItem", session_id=session, type="rule", name=name)
    return session


def test_no_file_of_a_rule_enters_as_something_else(shared_daemon: DaemonProcess, project: Path) -> None:
    session = hidden_session(shared_daemon, project)
    files = [str(project / path) for path in HIDDEN]
    shared_daemon.call("SetRelevantContext", session_id=session, set_name="files", items=files)
    params = {"cwd": str(project), "session_id": session, "prompt": ZEBRA}
    for focus in (["src/a.py"], ["."], ["docs"], ["**/*.md", "**/*.mdc", "*.toml"], []):
        reply = shared_daemon.call("GetContext", **params, focus_paths=focus)
        assert shown(reply).isdisjoint(HIDDEN), focus
        assert "stripes" not in reply["context"].lower()
        assert reply["items"] == []
    assert any("holds rules" in gap for gap in reply["gaps"])


def test_a_file_of_a_rule_is_shown_to_who_asks_for_it(shared_daemon: DaemonProcess, project: Path) -> None:
    write_files(project, HIDDEN)
    asked = [".cursor/rules/zebra.mdc", "foveal.toml", "docs/zebra.md"]
    reply = shared_daemon.call("GetContext", cwd=str(project), focus_paths=asked)
    assert shown(reply) == set(asked)
    session = hidden_session(shared_daemon, project)
    reply = shared_daemon.call("GetContext", cwd=str(project), session_id=session, focus_paths=["AGENTS.md"])
    assert shown(reply) == set()
    assert "AGENTS.md is in focus but not shown: its rule was removed from the session" in reply["gaps"]
    shared_daemon.call("AddSessionItem", session_id=session, type="rule", name="AGENTS.md")
    reply = shared_daemon.call("GetContext", cwd=str(project), session_id=session, focus_paths=["AGENTS.md"])
    assert "Zebra crossings have stripes." in reply["context"]
    assert not any("AGENTS.md" in gap for gap in reply["gaps"])


def test_patterns_are_held_against_what_is_in_focus_only(shared_daemon: DaemonProcess, project: Path) -> None:
    write_files(project, {"src/b.sql": "-- the zebra table\n"})
    put(shared_daemon, project, "sql", "glob", globs=["*.sql"])
    shared_daemon.open_ready(project)

    def check(expected: bool, **params: Any) -> None:
        reply = shared_daemon.call("GetContext", cwd=str(project), **params)
        assert ("sql" in used(reply)) is expected

    check(False, prompt="the zebra table in src/b.sql")
    check(False, focus_paths=["src/a.py"])
    check(True, focus_paths=["src/new.sql"])  # the agent is about to make it
    check(True, focus_paths=["src"])
    check(True, focus_paths=["src/b.sql#anything"])
    session = shared_daemon.call("CreateSession", cwd=str(project))["session_id"]
    check(False, session_id=session)
    for path in ("later.sql", "src/b.sql"):
        files = [str(project / path)]
        shared_daemon.call("SetRelevantContext", session_id=session, set_name="files", items=files)
        check(True, session_id=session)
    shared_daemon.call("RemoveSessionItem", session_id=session, type="rule", name="sql")
    check(False, session_id=session)


def test_a_mode_that_changes_holds_in_all_sessions(shared_daemon: DaemonProcess, project: Path) -> None:
    put(shared_daemon, project, "a", "always")
    put(shared_daemon, project, "b", "manual")
    session = shared_daemon.call("CreateSession", cwd=str(project))["session_id"]
    params = {"cwd": str(project), "session_id": session}
    assert used(shared_daemon.call("GetContext", **params)) == {"a": "always"}
    put(shared_daemon, project, "a", "manual")
    put(shared_daemon, project, "b", "always")
    put(shared_daemon, project, "c", "always")
    assert used(shared_daemon.call("GetContext", **params)) == {"b": "always", "c": "always"}
    shared_daemon.call("RemoveSessionItem", session_id=session, type="rule", name="c")
    shared_daemon.call("AddSessionItem", session_id=session, type="rule", name="a")
    assert used(shared_daemon.call("GetContext", **params)) == {"a": "manual", "b": "always"}


# Sessions that can't be used


DAMAGE = {
    "{": "Expecting property",
    '{"version": 99}': "newer foveal (version 99",
    '{"version": "one"}': "no JSON object with a version",
}


def test_a_session_that_can_not_be_read_is_told_of(daemon: DaemonProcess, project: Path) -> None:
    put(daemon, project, "a", "always")
    sessions = [str(daemon.call("CreateSession", cwd=str(project))["session_id"]) for _ in DAMAGE]
    daemon.stop()
    for session, (damage, said) in zip(sessions, DAMAGE.items(), strict=True):
        (daemon.state / "sessions" / session / "meta.json").write_text(damage)
        ask = {"cwd": str(project), "session_id": session, "prompt": "x?"}
        reply = daemon.call("GetContext", **ask)
        (problem,) = (one for one in reply["degraded"] if "session" in one)
        assert problem.startswith(f"the session {session} can't be read: ")
        assert said in problem
        assert used(reply) == {"a": "always"}
        record = daemon.call("GetRequest", session_id=session, request_id=reply["request_id"])
        assert record["degraded"] == reply["degraded"]
    daemon.stop()
    for session in sessions:
        reply = daemon.call("GetContext", cwd=str(project), session_id=session)
        assert any(f"the session {session} can't be read: " in one for one in reply["degraded"])
    assert daemon.call("CreateSession", cwd=str(project), session_id=sessions[0])["revision"] == 0
    reply = daemon.call("GetContext", cwd=str(project), session_id=sessions[0], fresh="tree")
    assert not any("session" in one for one in reply["degraded"])


def test_a_selection_that_was_mended_badly_is_told_of(daemon: DaemonProcess, project: Path) -> None:
    put(daemon, project, "a", "always")
    session = daemon.call("CreateSession", cwd=str(project))["session_id"]
    daemon.stop()
    meta = daemon.state / "sessions" / session / "meta.json"
    fields = json.loads(meta.read_text())
    meta.write_text(json.dumps(fields | {"selection": {"top_n": "many"}}))
    for _ in range(2):
        reply = daemon.call("GetContext", cwd=str(project), session_id=session, prompt="x?")
        assert any(f"the selection of the session {session} is ignored" in one for one in reply["degraded"])
        assert used(reply) == {"a": "always"}


def test_a_session_of_another_project_is_refused(
    shared_daemon: DaemonProcess, project: Path, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "q", {".git/HEAD": "x"}).resolve()
    session = shared_daemon.call("CreateSession", cwd=str(other))["session_id"]
    for _ in range(2):
        error = shared_daemon.error("GetContext", cwd=str(project), session_id=session, prompt="x?")
        assert (error.code, error.data) == ("invalid_params", {"field": "session_id"})
        assert str(project) in error.message
        assert str(other) in error.message
    assert shared_daemon.call("ListRequests", session_id=session)["requests"] == []


# Files of a session


def test_files_of_a_session_are_shown_if_they_lie_inside(
    shared_daemon: DaemonProcess, project: Path, tmp_path: Path
) -> None:
    outside = write_files(tmp_path / "other", {"secret.txt": "SECRET\n"}) / "secret.txt"
    (project / "link.txt").symlink_to(outside)
    session = shared_daemon.call("CreateSession", cwd=str(project))["session_id"]
    files = [str(project / "docs/notes.md"), str(outside), str(project / "link.txt"), str(project / "no.md")]
    shared_daemon.call("SetRelevantContext", session_id=session, set_name="files", items=files)
    params = {"cwd": str(project), "session_id": session, "focus_paths": ["src/a.py"]}
    reply = shared_daemon.call("GetContext", **params)
    assert "Remember this." in reply["context"]
    assert "SECRET" not in json.dumps(reply)
    weights = {one["path"]: one["weight"] for one in reply["slices"] if one["layer"] == "focus"}
    assert weights["src/a.py"] > weights["docs/notes.md"]
    for path in files[1:3]:
        said = f"{path}, a file of the session, is not shown: "
        assert any(one.startswith(said) for one in reply["gaps"])
    assert f"{files[3]}, a file of the session, is no file (any more)" in reply["gaps"]
    shared_daemon.call("SetRelevantContext", session_id=session, set_name="files", items=[])
    assert "Remember this." not in shared_daemon.call("GetContext", **params)["context"]


# Tool servers


def test_tools_are_listed_once_their_file_is_approved(shared_daemon: DaemonProcess, project: Path) -> None:
    write_files(project, {"server.py": RAW_SERVER})
    command = {"command": sys.executable, "args": [str(project / "server.py"), "pages"]}
    write_files(project, {".mcp.json": json.dumps({"mcpServers": {"raw": command}})})
    cwd = {"cwd": str(project)}
    (file,) = shared_daemon.call("ListToolServers", **cwd)["files"]
    assert (file["approved"], file["servers"][0]["tools"]) == (False, [])
    assert "isn't approved" in file["servers"][0]["left_out"]
    assert listed(shared_daemon, project) == {}
    wrong = shared_daemon.error("ApproveToolServers", **cwd, path=file["path"], digest="0" * 64)
    assert (wrong.code, wrong.data) == ("invalid_params", {"field": "digest"})
    assert shared_daemon.error("ApproveToolServers", **cwd, path="/no", digest="0").code == "not_found"
    approval = {"path": file["path"], "section": file["section"], "digest": file["digest"]}
    assert shared_daemon.call("ApproveToolServers", **cwd, **approval) == {"approved": 1}
    (file,) = shared_daemon.call("ListToolServers", **cwd)["files"]
    assert [one["name"] for one in file["servers"][0]["tools"]] == ["page0", "page1", "page2"]
    assert listed(shared_daemon, project) == {"page0": "always", "page1": "always", "page2": "always"}
    shared_daemon.call("SetToolMode", **cwd, server_name="raw", include="manual")
    shared_daemon.call("SetToolMode", **cwd, server_name="raw", name="page1", include="always")
    reply = shared_daemon.call("GetContext", **cwd)
    assert reply["items"] == [
        {"type": "tool", "name": "page1", "server_name": "raw", "include_mode": "always"}
    ]
    write_files(project, {".mcp.json": json.dumps({"mcpServers": {"raw": command | {"args": ["other"]}}})})
    assert shared_daemon.call("GetContext", **cwd)["items"] == [], "at once"
    (file,) = shared_daemon.call("ListToolServers", **cwd)["files"]
    assert file["approved"] is False, "what changed has to be approved anew"
    assert shared_daemon.call("RevokeToolServers", **cwd, path=file["path"]) == {"revoked": 1}
    assert listed(shared_daemon, project) == {}


def test_what_was_of_use_weighs_no_more(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    files = {
        "pay.py": "def pay_invoice(): ...\n",
        "foveal.toml": "[context]\nfeedback = true\n",
        ".git/HEAD": "",
    }
    root = str(write_files(tmp_path / "kite", files))
    shared_daemon.open_ready(root)
    session = shared_daemon.call("CreateSession", cwd=root)["session_id"]
    asked = {"cwd": root, "prompt": "pay_invoice"}

    def pieces() -> list[object]:
        return [(one["id"], one["weight"]) for one in shared_daemon.call("GetContext", **asked)["slices"]]

    before, reply = pieces(), shared_daemon.call("GetContext", **asked, session_id=session)
    assert not any("feedback" in reason for reason in reply["degraded"])
    shared_daemon.call(
        "ReportReply", session_id=session, request_id=reply["request_id"], reply="I edited pay.py"
    )
    assert shared_daemon.call("GetBuiltContext", context_id=reply["context_id"])["used"]
    assert pieces() == before
    assert shared_daemon.call("GetFeedback", cwd=root) == {"root": root, "enabled": False, "boosts": []}
    assert shared_daemon.call("ClearFeedback", cwd=root)["cleared"] == 0
