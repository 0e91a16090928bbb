"""What agents were given can be looked at and explained: on a real git project, by a real daemon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_cases import CommandLine
from tests.conftest import SMALL_PROJECT, DaemonProcess, git, next_event, write_files
from tests.daemon.test_methods import PROTOCOL, documented_fields

FILES: Mapping[str, str | bytes] = {
    **SMALL_PROJECT,
    ".gitignore": "*.log\nbuilt/\n",
    ".fovealignore": "private/\n",
    ".env": "PASSWORD=wombat99\n",
    "app.log": "a line\n",
    "private/plan.md": "a plan\n",
    "node_modules/lib/index.js": "x = 1\n",
    "dump.txt": b"x" * 1_100_000,
    "tools/turtle.py": 'def turtle():\n    """Walk slowly."""\n',
    "tools/hare.py": 'def hare():\n    """Run fast."""\n',
    ".cursor/rules/sql.mdc": "---\nglobs: '*.sql'\n---\nNever build SQL from strings.\n",
    "foveal.toml": '[agents.intern]\ndeny_paths = ["tools/**"]\n[agents.stranger]\nallow = false\n',
}
PROMPT = "how do sessions end?"


@dataclass
class Shop:
    """The project, and a context of it that was given."""

    daemon: DaemonProcess
    root: Path
    context: Mapping[str, Any]

    @property
    def context_id(self) -> str:
        found = self.context["context_id"]
        assert isinstance(found, str)
        return found

    def ask(self, **fields: Any) -> Any:
        return self.daemon.call("GetContext", cwd=str(self.root), **fields)

    def why(self, path: str, context_id: str = "", **fields: Any) -> Any:
        return self.daemon.call("ExplainPath", context_id=context_id or self.context_id, path=path, **fields)


@pytest.fixture(scope="module")
def shop(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    root = write_files(tmp_path_factory.mktemp("given") / "shop", FILES)
    (root / "link").symlink_to("src")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    shared_daemon.open_ready(root)
    context = shared_daemon.call(
        "GetContext", cwd=str(root), focus_paths=["src/shop/auth.py", "logo.png"], prompt=PROMPT
    )
    return Shop(shared_daemon, root, context)


def test_a_context_comes_back_as_it_was_given(shop: Shop) -> None:
    fields = {"focus_paths": ["web/app.ts"], "prompt": "add up\nprices", "format": "messages"}
    first = shop.ask(**fields, agent_name="sam")
    again = shop.ask(**fields, agent_name="sam")
    assert (again["cached"], again["context_id"]) == (True, first["context_id"])
    given = shop.daemon.call("GetBuiltContext", context_id=first["context_id"])
    told_once = {"scope_id", "cached", "elapsed_ms"}
    assert {name: given[name] for name in first if name not in told_once} == {
        name: value for name, value in first.items() if name not in told_once
    }
    assert (given["times"], given["cached"], given["agent_name"]) == (2, True, "sam")
    assert given["prompt"] == "add up\nprices"
    assert (given["focus_paths"], given["expanded"], given["problem"]) == (["web/app.ts"], [], "")
    assert given["elapsed_ms"] >= given["last_elapsed_ms"] > 0
    listed = shop.daemon.call("ListContexts", cwd=str(shop.root), limit=1)["contexts"]
    assert [one["context_id"] for one in listed] == [first["context_id"]]
    assert listed[0]["prompt"] == "add up"
    assert listed[0]["slices"] == len(first["slices"])
    entry = documented_fields(PROTOCOL.partition("An entry of ListContexts is ")[2])
    optional = {"request_id", "previous", "same_as", "preview"}
    assert entry - optional <= set(listed[0]) <= entry


def test_they_are_listed_by_project_scope_and_session(shop: Shop) -> None:
    session = shop.daemon.call("CreateSession", cwd=str(shop.root))["session_id"]
    ids = [
        shop.ask(session_id=session, focus_paths=["web/app.ts"], prompt=prompt)["context_id"]
        for prompt in ("one", "two", "three")
    ]

    def listed(**fields: Any) -> list[str]:
        return [one["context_id"] for one in shop.daemon.call("ListContexts", **fields)["contexts"]]

    assert listed(session_id=session) == ids[::-1]
    assert listed(session_id=session, limit=2) == ids[:0:-1]
    assert listed(session_id=session, limit=2, before=ids[1]) == ids[:1]
    assert listed(session_id=session, before="c_unknown") == []
    assert listed(cwd=str(shop.root.parent)) == []
    entries = shop.daemon.call("ListContexts", session_id=session)["contexts"]
    assert listed(scope_id=entries[0]["scope_id"]) == ids[::-1]
    assert [one.get("previous", "") for one in entries] == [ids[1], ids[0], ""]
    requests = shop.daemon.call("ListRequests", session_id=session)["requests"]
    assert [one["request_id"] for one in entries] == [one["request_id"] for one in requests]


def test_a_render_that_says_the_same_is_told(shop: Shop) -> None:
    fields: dict[str, Any] = {"focus_paths": ["web/money.ts"]}
    first = shop.ask(**fields)
    second = shop.ask(**fields, max_tokens=9_000)
    assert second["context"] == first["context"]
    [entry, *_] = shop.daemon.call("ListContexts", scope_id=first["scope_id"])["contexts"]
    assert entry["same_as"] == entry["previous"] == first["context_id"]


def test_the_event_names_the_context(shop: Shop) -> None:
    with shop.daemon.subscribed("context.built") as client:
        first = shop.ask(focus_paths=["README.md"], prompt="what is sold?")
        event = next_event(client, "context.built", context_id=first["context_id"])
        assert (event["data"]["cached"], event["data"]["project"]) == (False, str(shop.root))
        shop.ask(focus_paths=["README.md"], prompt="what is sold?")
        next_event(client, "context.built", context_id=first["context_id"], cached=True)


def test_what_is_in_a_context_has_its_reason(shop: Shop) -> None:
    for path, reason in (
        ("src/shop/auth.py", "it is shown as focus: asked for; "),
        ("src/shop/sessions.py", "it is shown as document: found for the prompt, probability 0."),
        ("src/shop/cart.py", "it is shown as dependency: imports src/shop/auth.py; "),
        ("CLAUDE.md", "it is shown as rule: CLAUDE.md:1, always, the project's; "),
        (f"{shop.root}/src/shop/auth.py#login", "it is shown as focus: asked for; "),
    ):
        found = shop.why(path)
        assert found["shown"], path
        assert found["reasons"][0].startswith(reason)
        assert found["advice"] == []
    assert shop.why("logo.png")["reasons"][1] == "logo.png is in focus but not shown: it is binary"
    assert len(shop.why("src")["slices"]) >= 3
    reply = documented_fields(PROTOCOL.partition("or a node id, and answers ")[2])
    assert set(found) == reply


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("src/shop/none.py", "it doesn't exist in the project"),
        ("old/auth.py", "it doesn't exist in the project; there is src/shop/auth.py"),
        ("old/none.py", "it doesn't exist: there is no old in the project"),
        ("app.log", "app.log is ignored by git (.gitignore:1:*.log)"),
        ("private/plan.md", "private/ is left out by .fovealignore"),
        (
            "node_modules/lib/index.js",
            "node_modules/ is by its name a folder of fetched, generated or cached files",
        ),
        ("dump.txt", "it has 1,100,000 bytes, more than scan.max_file_bytes (1,048,576)"),
        ("link", "it is a symlink, which is never followed: what it leads to has a path of its own"),
        (
            "link/shop/auth.py",
            "link is a symlink, which is never followed: what it leads to has a path of its own",
        ),
        (".env", "it is not shown: files that hold secrets by their names are shown to nobody"),
        (
            ".cursor/rules/sql.mdc",
            "it holds the rule .cursor/rules/sql.mdc (mode glob), which is included where a file in focus matches *.sql",
        ),
        ("tools", "it is a folder with 2 files, and none of them is in"),
    ],
)
def test_what_is_not_in_it_has_its_reason(shop: Shop, path: str, reason: str) -> None:
    found = shop.why(path)
    assert (found["shown"], found["slices"]) == (False, [])
    assert reason in found["reasons"]


def test_what_nothing_leads_to_says_what_was_tried_and_what_would_bring_it_in(shop: Shop) -> None:
    found = shop.why("tools/turtle.py")
    assert not found["named"]
    assert found["reasons"] == [
        "nothing that is in focus imports it",
        "the search for the prompt doesn't find it among the first 100",
    ]
    assert found["advice"] == [
        f"put it in focus: foveal expand {shop.context['scope_id']} tools/turtle.py",
        "or name it in the prompt: tools/turtle.py",
    ]
    silent = shop.ask(focus_paths=["src/shop/auth.py"], max_tokens=4_000)
    reasons = shop.why("src/shop/cart.py", silent["context_id"])["reasons"]
    assert "the request had no prompt, so that nothing was searched for it" in reasons


def test_where_time_was_short_the_advice_is_to_ask_again(shop: Shop) -> None:
    hurried = shop.ask(prompt="Where does the giraffe sleep?", deadline_ms=1)
    assert hurried["partial"]
    first, *others = shop.why("tools/turtle.py", hurried["context_id"])["advice"]
    assert first == "ask again: what wasn't ready in time may be by now"
    assert any(one.startswith("put it in focus: ") for one in others)


def test_what_the_search_finds_too_late_has_its_place(shop: Shop) -> None:
    write_files(
        shop.root, {f"lists/l{number:02}.md": f"# List {number}\n\ngiraffe\n" for number in range(30)}
    )
    found = shop.ask(prompt="giraffe", fresh="tree", max_tokens=600)
    paths = {one.get("path") for one in found["slices"]}
    left = [f"lists/l{number:02}.md" for number in range(30) if f"lists/l{number:02}.md" not in paths]
    explained = [shop.why(path, found["context_id"])["reasons"] for path in left]
    assert all(
        "nothing is in focus, so that no import leads to it" in one or "no room" in one[0]
        for one in explained
    )
    assert any("the search for the prompt has it at place " in reason for one in explained for reason in one)


def test_what_had_no_room_and_what_came_into_focus_later(shop: Shop) -> None:
    small = shop.ask(focus_paths=["src", "web", "tools", "README.md"], max_tokens=200)
    dropped = [one["id"] for one in small["dropped"] if one["type"] == "focus"]
    found = shop.why(dropped[0].partition(":")[2], small["context_id"])
    assert "there was no room for it in 150 tokens" in found["reasons"][0]
    assert found["advice"][0] == "ask with more than 200 max_tokens, or with less in focus"
    scope = shop.ask(focus_paths=["web/app.ts"], constraints=["of its own"])
    shop.daemon.call("ExpandFocus", scope_id=scope["scope_id"], paths=["tools/turtle.py"])
    later = shop.why("tools/turtle.py", scope["context_id"])
    assert (
        later["reasons"][0] == "it was put in focus after this context was built: ask for the context again"
    )
    assert later["advice"] == []


def test_a_context_is_told_only_to_who_may_see_all_of_it(shop: Shop) -> None:
    wide = shop.ask(focus_paths=["tools/turtle.py"])["context_id"]
    narrow = shop.ask(focus_paths=["src/shop/auth.py"], agent_name="intern")["context_id"]
    for agent, seen, code in (
        ("intern", {narrow}, "not_found"),
        ("stranger", set(), "permission_denied"),
        ("", {wide, narrow}, ""),
    ):
        listed = shop.daemon.call("ListContexts", limit=100, agent_name=agent)
        ids = {one["context_id"] for one in listed["contexts"]}
        assert ids & {wide, narrow} == seen
        for context_id in (wide, narrow):
            for method, fields in (("GetBuiltContext", {}), ("ExplainPath", {"path": "src/shop/auth.py"})):
                asked: dict[str, Any] = {"context_id": context_id, "agent_name": agent, **fields}
                if context_id in seen:
                    assert shop.daemon.call(method, **asked)["context_id"] == context_id
                else:
                    assert shop.daemon.error(method, **asked).code == code
    refused = shop.daemon.error("ListContexts", cwd=str(shop.root), agent_name="stranger")
    assert refused.code == "permission_denied"
    hidden = [shop.why(path, narrow) for path in ("tools/turtle.py", "tools/none.py")]
    assert hidden[0]["reasons"] == hidden[1]["reasons"]
    assert "hidden from this agent by deny_paths of [agents.intern]" in hidden[0]["reasons"][0]
    assert hidden[0]["advice"] == []


def test_rules_that_are_stricter_now_hold_for_what_was_given_before(shop: Shop, tmp_path: Path) -> None:
    root = write_files(tmp_path / "strict", {"a/x.py": "x = 1\n", "b.py": "b = 1\n"})
    shop.daemon.open_ready(root)
    given = shop.daemon.call("GetContext", cwd=str(root), focus_paths=["a/x.py"], agent_name="intern")
    fields = {"context_id": given["context_id"]}
    assert shop.daemon.call("GetBuiltContext", **fields, agent_name="intern")["context"] == given["context"]
    (root / "foveal.toml").write_text('[agents.intern]\ndeny_paths = ["a/**"]\n')
    assert shop.daemon.error("GetBuiltContext", **fields, agent_name="intern").code == "not_found"
    assert shop.daemon.error("GetBuiltContext", **fields).code == "not_found", "its scope keeps the name"


@pytest.mark.parametrize("path", ["", "../x", "/etc/passwd", ".", "a\0b"])
def test_a_path_outside_is_refused(shop: Shop, path: str) -> None:
    error = shop.daemon.error("ExplainPath", context_id=shop.context_id, path=path)
    assert (error.code, error.data) == ("invalid_params", {"field": "path"})


def test_the_history_of_the_metrics_begins_empty(shop: Shop) -> None:
    for period, step in (("hour", 10.0), ("day", 300.0)):
        history = shop.daemon.call("GetMetrics", history=period)["history"]
        assert (history["period"], history["step_s"]) == (period, step)
        assert all(one["seconds"] >= step - 1 for one in history["samples"])
    assert "history" not in shop.daemon.call("GetMetrics")
    assert shop.daemon.error("GetMetrics", history="week").data == {"field": "history"}


def test_the_command_line_lists_prints_and_explains(foveal: CommandLine) -> None:
    assert foveal.says("contexts") == "no agent got a context yet\n"
    assert "no agent got a context of this project" in foveal.fails("why", "last", "web/app.ts")
    reply = foveal.json("context", "add up prices", "--focus", "web/app.ts")
    header, row = foveal.says("contexts").splitlines()
    assert header.split() == ["CONTEXT", "AT", "TIMES", "TOKENS", "OF", "MS", "FOR", "PROMPT"]
    assert row.startswith(reply["context_id"])
    assert row.endswith("add up prices")
    assert foveal.says("contexts", "last") == foveal.says("contexts", reply["context_id"]) == reply["context"]
    assert foveal.json("contexts", "last")["context_id"] == reply["context_id"]
    code, output, errors = foveal("contexts", "--all", "--limit", "1")
    assert (code, output.splitlines()[0].endswith("PROJECT")) == (0, True)
    assert "--limit" in errors, "it says that there are more"
    shown = foveal.says("why", "last", "web/app.ts")
    assert shown.startswith("web/app.ts: shown\n  it is shown as focus: asked for; ")
    code, output, errors = foveal("why", reply["context_id"], "none.py")
    assert (code, errors) == (1, "")
    assert output == "none.py: not in it\n  it doesn't exist in the project\n"
    assert "hint: foveal contexts" in foveal.fails("why", "c_0", "x")
    assert "hint: foveal contexts" in foveal.fails("contexts", "c_0")
    assert "nothing was sampled yet" in foveal.says("metrics", "--history", "day")
