"""What agents were given can be looked at and explained: on a real git project, by a real daemon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
    missing = shop.why("tools/turtle.py#nosuch")
    assert (missing["reasons"], missing["advice"]) == (["tools/turtle.py has no definition named nosuch"], [])
    assert shop.why("tools/turtle.py#C# in short")["reasons"][0].endswith(" no definition named C# in short")
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
            "it holds the rule .cursor/rules/sql.mdc, included by its mode glob, for files that match *.sql",
        ),
        ("tools", "it is a folder with 2 files, and none of them is in"),
    ],
)
def test_what_is_not_in_it_has_its_reason(shop: Shop, path: str, reason: str) -> None:
    found = shop.why(path)
    assert (found["shown"], found["slices"]) == (False, [])
    assert reason in found["reasons"]


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
