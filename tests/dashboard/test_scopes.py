"""Scopes are listed by what they are called, and each tells what it is shown, what not, and what changed."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from foveal.dashboard.pages.scope import _named
from foveal.dashboard.pages.scopes import chosen, title_of, who

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

SCOPE: dict[str, Any] = {"scope_id": "s_1", "focus_paths": [], "expanded": []}


def test_scope_is_called_by_its_prompt_else_by_its_focus() -> None:
    assert title_of({**SCOPE, "last_prompt": "fix login", "expanded": ["a.py"]}) == "fix login"
    assert title_of({**SCOPE, "focus_paths": ["a.py"], "expanded": ["b.py", "c.py"]}) == "a.py and 2 more"
    assert title_of(SCOPE) == "No prompt yet"
    assert who({"agent_name": "explorer", "agent_id": "ab12"}) == "explorer ab12"
    assert who({}) == "no agent named"


def test_change_is_named_by_its_place() -> None:
    assert _named("document:src/a.py#f", "document") == "src/a.py#f"
    assert _named("constraint:0", "constraint") == "Constraint 1"


def test_filter_takes_state_agent_project_and_words() -> None:
    fields = ("scope_id", "who", "session_id", "session", "last_prompt", "project", "task_type", "agent_name")
    empty = {**dict.fromkeys(fields, ""), "focus_paths": [], "expanded": [], "parent_scope_id": ""}
    rows = [
        {**empty, "scope_id": "1", "agent_name": "lead", "project": "/a", "ended": True, "has_page": True},
        {**empty, "scope_id": "2", "parent_scope_id": "1", "ended": False, "has_page": True},
        {**empty, "scope_id": "3", "expanded": ["src/login.py"], "ended": False, "has_page": False},
    ]

    def check(expected: str, **wanted: str) -> None:
        kept = {"q": "", "project": "", "agent": "", "state": "", **wanted}
        assert "".join(row["scope_id"] for row in chosen(rows, kept)) == expected

    check("123")
    check("1", state="ended")
    check("2", state="open")
    check("2", state="subagent")
    check("3", state="pinned")
    check("1", agent="lead")
    check("1", project="/a")
    check("3", q="login SRC")


async def test_no_scopes_say_what_to_do(pages: Pages) -> None:
    text = await read(pages, "/scopes?q=nothing-has-this")
    assert "No scope matches" in text or "foveal hooks install" in text


async def test_scope_tells_what_it_is_shown_and_what_not(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    call = shared_daemon.call
    root = shared_daemon.open_ready(write_files(tmp_path / "sh<op", SMALL_PROJECT))["root"]
    above = call(
        "GetContext", cwd=root, session_id="a", agent_name="lead", constraints=["No <b>network</b>."]
    )
    below = {"agent_name": "scout", "agent_id": "ab12", "parent_scope_id": above["scope_id"]}
    asked = {"prompt": "how does login <work>?", "focus_paths": ["README.md"]}
    scope = call("GetContext", cwd=root, session_id="a", **below, **asked)["scope_id"]
    call("ExpandFocus", scope_id=scope, node_ids=["src/shop/auth.py"])
    last = call("GetContext", scope_id=scope, prompt="and where is it called?")

    listed = await read(pages, f"/scopes?project={quote(root)}")
    for said in ("scout ab12", "subagent of lead", "and where is it called?", "1 pinned", f"/scope/{scope}"):
        assert said in listed, said
    async with pages.get(f"/scopes?project={quote(root)}&agent=scout&format=csv") as answer:
        [row] = csv.DictReader(io.StringIO(await answer.text()))
    assert (row["who"], row["last_prompt"]) == ("scout ab12", "and where is it called?")
    assert int(row["tokens"]) == last["tokens"]

    text = await read(pages, f"/scope/{scope}?why=web/app.ts")
    for said in (
        "Anchor",
        "Horizon",
        "auth.py",
        "def login",
        "No &lt;b&gt;network&lt;/b&gt;.",
        f'<a href="/scope/{above["scope_id"]}">lead</a>',
        "how does login &lt;work&gt;?",
        "pinned</span>",
        "Not in focus, and why",
        "Added automatically",
        "<h1>Scope of scout ab12</h1>",
        "its last turn",
        'data-method="ReleaseScope"',
    ):
        assert said in text, said
    assert "style=" not in text
    whole = await read(pages, f"/scope/{scope}/text")
    for said in (
        "def login",
        f'href="/scope/{scope}"',
        "As plain text",
        "data-copies",
        "No &lt;b&gt;network",
    ):
        assert said in whole, said
    plain = await read(pages, f"/scope/{scope}/text?format=text")
    assert "No <b>network</b>." in plain
    assert "As plain text" not in plain
    # Looking is no turn.
    assert len(call("ListContexts", scope_id=scope)["contexts"]) == 2

    [latest, first] = call("GetScope", scope_id=scope, turns=5)["turns"]
    with closing(sqlite3.connect(shared_daemon.state / "deliveries.sqlite")) as database, database:
        damage = (
            "UPDATE contents SET record = X'00' WHERE number = (SELECT content FROM contexts WHERE id = ?)"
        )
        assert database.execute(damage, (latest["context_id"].encode(),)).rowcount == 1
    reply = call("GetScope", scope_id=scope, turns=5, layers=True)
    assert [turn["context_id"] for turn in reply["turns"]] == [first["context_id"]]
    assert (reply["now"]["prompt"], len(reply["degraded"])) == ("", 1)
    assert latest["context_id"] in reply["degraded"][0]
    assert reply["degraded"][0] in await read(pages, f"/scope/{scope}")

    call("ReleaseScope", scope_id=scope)
    released = await read(pages, f"/scope/{scope}")
    assert "was released" in released
    assert "and where is it called?" in released
    async with pages.get("/scope/s_none") as answer:
        assert answer.status == 404
        assert "/scopes" in await answer.text()


async def test_scope_of_a_closed_project_is_told_without_opening_it(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = shared_daemon.open_ready(write_files(tmp_path / "shop", SMALL_PROJECT))["root"]
    scope = shared_daemon.call("GetContext", cwd=root, prompt="login")["scope_id"]
    shared_daemon.call("CloseProject", path=root)
    text = await read(pages, f"/scope/{scope}")
    assert "Its project isn" in text
    async with pages.get(f"/scope/{scope}/text") as answer:
        assert answer.status == 400
    assert root not in [project["root"] for project in shared_daemon.call("ListProjects")["projects"]]


async def test_a_page_lacks_only_what_cant_be_told(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = shared_daemon.open_ready(write_files(tmp_path / "shop", SMALL_PROJECT))["root"]
    named = shared_daemon.call("GetContext", cwd=root, session_id="my session/1", prompt="login")
    await read(pages, f"/turns/{named['context_id']}")
    (tmp_path / "shop").rename(tmp_path / "away")
    text = await read(pages, f"/scope/{named['scope_id']}")
    assert "Latest turns" in text
