"""Looking changes nothing: every page is visited in a real browser, with scripts, and no state differs."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser

from tests.browser_cases import Site
from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files

PAGES = (
    "/",
    "/sessions",
    "/sessions/s1",
    "/sessions/s1?tab=items",
    "/sessions/s1?tab=context",
    "/turns/{context_id}",
    "/turns/{context_id}/difference?with={other_id}",
    "/knowledge?project={root}",
    "/knowledge?project={root}&kind=tools",
    "/knowledge?project={root}&kind=decisions&session=s1",
    "/knowledge?project={root}&kind=quarantine",
    "/knowledge/decisions/{experience_id}?project={root}",
    "/explore?project={root}&q=how+do+sessions+expire&session=s1",
    "/explore/file?project={root}&path=src/shop/auth.py",
    "/usage",
    "/project?project={root}",
    "/diagnostics",
)

PASSING = ("foveal.log", "dashboard.json", "daemon.json", "lock", "start.lock", "metrics.sqlite")
"""Files of the state folder that change with time, with a start of the daemon, or with a login."""


def test_no_page_changes_anything(browser: Browser, site: Site, tmp_path: Path) -> None:
    daemon = site.daemon
    root = str(write_files(tmp_path / "shop", SMALL_PROJECT).resolve())
    ids = seed(daemon, root)
    told = daemon.call("ResumeSession", session_id="s1")
    rest(daemon)
    daemon.open_ready(root)  # so that what a start itself does is done
    rest(daemon)
    kept = content(daemon.state)
    daemon.open_ready(root)
    answers = answers_of(daemon, root)
    assert sent_by_visits(browser, site, ids) == []
    assert answers_of(daemon, root) == answers
    rest(daemon)
    assert content(daemon.state) == kept
    assert daemon.call("ResumeSession", session_id="s1") == told


def sent_by_visits(browser: Browser, site: Site, ids: Mapping[str, str]) -> list[str]:
    """Visit every page, and return the requests that could change something."""
    sent: list[str] = []
    with browser.new_context() as context:
        page = context.new_page()
        page.on(
            "request", lambda one: sent.append(f"{one.method} {one.url}") if one.method != "GET" else None
        )
        page.goto(site.login_url())
        for address in PAGES:
            reply = page.goto(site.address + address.format(**ids))
            assert (reply and reply.status, page.locator("h1").count()) == (200, 1), address
        page.goto("about:blank")  # what a page sends when it is left, it has sent
    return [one for one in sent if not one.startswith("HEAD ")]


def seed(daemon: DaemonProcess, root: str) -> dict[str, str]:
    """Let an agent work in a project, and return the ids that addresses need."""
    daemon.open_ready(root)
    daemon.call("CreateSession", cwd=root, session_id="s1", name="Payment bug", agent_name="codex")
    context = {"files": [f"{root}/src/shop/auth.py"], "applet": ["board", "tab=2"]}
    daemon.call("UpdateSession", session_id="s1", current_intent="Find the bug", context=context)
    rule = {"type": "rule", "name": "api errors", "include": "agent", "text": "Be kind."}
    daemon.call("PutItem", cwd=root, item=rule)
    decision = {"decision": "Expire sessions lazily", "agent_id": "codex", "session_id": "s1"}
    grafted = daemon.call("GraftExperience", cwd=root, experience=decision)
    asked = {"cwd": root, "session_id": "s1", "agent_name": "codex"}
    other, turn = (
        daemon.call("GetContext", **asked, prompt=prompt)
        for prompt in ("who logs in?", "how do sessions expire?")
    )
    return {
        "root": quote(root, safe=""),
        "context_id": turn["context_id"],
        "other_id": other["context_id"],
        "experience_id": grafted["experience_ids"][0],
    }


def rest(daemon: DaemonProcess) -> None:
    """Stop the daemon, so that everything is written."""
    daemon.stop()


def answers_of(daemon: DaemonProcess, root: str) -> Mapping[str, Any]:
    """Return what the daemon answers about all that pages show."""
    about: Mapping[str, Mapping[str, Any]] = {
        "GetSession": {"session_id": "s1"},
        "ListSessions": {},
        "ListRequests": {"session_id": "s1"},
        "ListContexts": {},
        "ListScopes": {},
        "ListItems": {"cwd": root},
        "GetItemUsage": {"cwd": root},
        "ListExperiences": {"cwd": root},
        "GetFeedback": {"cwd": root},
        "GetTrust": {"cwd": root},
        "ListHosts": {},
    }
    return {name: daemon.call(name, **given) for name, given in about.items()}


def content(state: Path) -> Mapping[str, Any]:
    """Return the logical content of a state folder at rest: the rows of databases, the bytes of other files."""
    found: dict[str, Any] = {}
    for path in sorted(state.rglob("*")):
        if (
            path.is_file()
            and path.name not in PASSING
            and not path.name.endswith(("-wal", "-shm", "-seal", ".lock"))
        ):
            name = str(path.relative_to(state))
            found[name] = rows(path) if path.suffix == ".sqlite" else path.read_bytes()
    return found


def rows(path: Path) -> Mapping[str, list[str]]:
    """Return the rows of each table of a database, sorted."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(map(repr, file.execute(f'SELECT * FROM "{name}"'))) for name in tables}
