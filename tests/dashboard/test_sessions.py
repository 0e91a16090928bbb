"""Sessions on the dashboard: the list, a session with its sets and items, a request and what was sent with it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.sessions import chosen, completions, sets_of

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

HOSTILE = '<img src=x onerror="alert(1)">'
RULES = [
    ("second", "always", 300, "Comes after the first."),
    ("first", "always", 200, "What a reader sees first."),
    ("by hand", "manual", 400, HOSTILE),
    ("found", "agent", 500, "Found by its meaning."),
]


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_files(tmp_path_factory.mktemp("p"), SMALL_PROJECT)
    shared_daemon.open_ready(folder)
    for name, include, level, description in RULES:
        item: dict[str, Any] = {"type": "rule", "name": name, "include": include, "text": f"Text of {name}."}
        item |= {"priority_level": level, "description": description}
        shared_daemon.call("PutItem", cwd=str(folder), item=item)
    for server, name in (("zoo", "feed"), ("bank", "pay"), ("bank", "ask")):
        item = {"type": "tool", "name": name, "server_name": server, "include": "always"}
        shared_daemon.call("PutItem", cwd=str(folder), item=item)
    return folder


@pytest.fixture
def session(shared_daemon: DaemonProcess, root: Path) -> str:
    made = shared_daemon.call("CreateSession", cwd=str(root), name="Payment bug", agent_name="codex")
    return str(made["session_id"])


def ask(daemon: DaemonProcess, root: Path, session: str, prompt: str = "what is a session?") -> Any:
    return daemon.call("GetContext", cwd=str(root), session_id=session, prompt=prompt)


# The list


async def test_the_list_is_filtered_and_leads_to_sessions(
    pages: Pages, shared_daemon: DaemonProcess, root: Path, session: str
) -> None:
    shared_daemon.call("CreateSession", cwd=str(root), session_id="ended-one", name="Old & done")
    shared_daemon.call("EndSession", session_id="ended-one")
    text = await read(pages, f"/sessions?project={quote(str(root))}")
    assert f'href="/sessions/{session}"' in text
    assert "Old &amp; done" in text
    ended = await read(pages, f"/sessions?project={quote(str(root))}&state=ended")
    assert "Old &amp; done" in ended
    assert f'href="/sessions/{session}"' not in ended
    nothing = await read(pages, f"/sessions?project={quote(str(root))}&q=no+such+words")
    assert "No session matches" in nothing


def test_a_filter_takes_all_words_from_any_field() -> None:
    fields = {"agent_name": "codex", "current_intent": "Fix the Payment", "ended": None}
    sessions: list[dict[str, Any]] = [
        {"session_id": "a", "name": "Checkout", **fields},
        {"session_id": "b", "name": "Search", **fields, "ended": "2030-01-01T00:00:00Z"},
    ]

    def found(*given: str) -> list[str]:
        return [one["session_id"] for one in chosen(sessions, *given)]

    assert found("payment checkout", "", "") == ["a"]
    assert found("", "open", "") == ["a"]
    assert found("", "ended", "") == ["b"]
    assert found("", "", "claude-code") == []
    assert found("", "", "codex") == ["a", "b"]


# A session


async def test_sets_lead_to_the_editor_to_the_web_and_to_ports(
    pages: Pages, shared_daemon: DaemonProcess, root: Path, session: str
) -> None:
    sets = {
        "files": [f"{root}/src/shop/auth.py"],
        "endpoints": ["https://example.org/a?b=c&d", "ftp://example.org/x"],
        "ports": ["8080"],
        "people": [HOSTILE],
    }
    shared_daemon.call("UpdateSession", session_id=session, context=sets)
    text = await read(pages, f"/sessions/{session}")
    assert f'href="vscode://file{quote(str(root))}/src/shop/auth.py:1"' in text
    assert "src/<wbr>shop/<wbr>auth.py" in text
    assert 'href="https://example.org/a?b=c&amp;d"' in text
    assert 'rel="noopener noreferrer"' in text
    assert 'href="ftp:' not in text
    assert 'href="http://localhost:8080"' in text
    assert "<img src=x" not in text


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http:", "http://[", "//x"]
)
def test_only_web_addresses_are_links(text: str) -> None:
    found = sets_of({"endpoints": [text], "ports": ["80x", "٣"]}, "/p", lambda root, path: "")
    assert [entry.link for one in found for entry in one.entries] == ["", "", ""]


async def test_items_stand_in_three_columns_by_priority_and_server(
    pages: Pages, shared_daemon: DaemonProcess, session: str
) -> None:
    shared_daemon.call("AddSessionItem", session_id=session, type="rule", name="by hand")
    shared_daemon.call("RemoveSessionItem", session_id=session, type="tool", name="feed", server_name="zoo")
    text = await read(pages, f"/sessions/{session}")
    assert names_in(text, "rule") == ["first", "CLAUDE.md", "second", "by hand"]
    assert names_in(text, "tool") == ["ask", "pay"]
    rules = column(text, "rule")
    assert ">Always</span>" in rules
    assert ">Manual</span>" in rules
    assert ">200</span>" in rules
    assert "&lt;img src=x" in rules
    assert '<span class="server">bank</span>' in column(text, "tool")
    assert "Kept out by hand: 1" in text
    assert ">1 item</a> may come in when a message is about them" in text


async def test_a_session_whose_project_is_gone_is_shown_all_the_same(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    gone = write_files(tmp_path / "gone", {".git/HEAD": "x", "AGENTS.md": "Be kind.\n"})
    made = shared_daemon.call("CreateSession", cwd=str(gone))["session_id"]
    shared_daemon.call("CloseProject", path=str(gone))
    (gone / "AGENTS.md").unlink()
    (gone / ".git" / "HEAD").unlink()
    (gone / ".git").rmdir()
    for entry in gone.iterdir():
        entry.unlink()
    gone.rmdir()
    text = await read(pages, f"/sessions/{made}")
    assert "What these items are" in text
    assert "AGENTS.md" in text


async def test_a_session_that_there_is_none_of_is_not_found(pages: Pages) -> None:
    async with pages.get("/sessions/none") as reply:
        assert reply.status == 404
        assert "none" in await reply.text()


async def test_names_of_items_are_completed_but_for_those_in_it(pages: Pages, session: str) -> None:
    async with pages.get(f"/sessions/{session}/items?type=rule&q=f") as reply:
        labels = [item["label"] for item in (await reply.json())["items"]]
    assert labels == ["found"], "first is in it already"


def test_names_that_begin_with_what_was_typed_come_first() -> None:
    items = [
        {"type": "tool", "name": name, "server_name": "s", "description": description}
        for name, description in (("x", "about cards"), ("discard", ""), ("card", ""), ("y", ""))
    ]
    found = completions(items, "card")
    assert [(one["label"], one["server_name"]) for one in found] == [
        ("s: card", "s"),
        ("s: discard", "s"),
        ("s: x", "s"),
    ]


async def test_the_last_open_page_is_kept_and_offered(
    pages: Pages, shared_daemon: DaemonProcess, session: str
) -> None:
    address = f"/sessions/{session}/last-open"
    async with pages.post(address, json={"address": "/search?q=who+calls+login"}) as reply:
        assert (await reply.json()) == {"applet": ["search", "q=who calls login"]}
    kept = shared_daemon.call("GetSession", session_id=session)["context"]
    assert kept == {"applet": ["search", "q=who calls login"]}
    text = await read(pages, f"/sessions/{session}")
    assert f'href="/search?q=who+calls+login&amp;session={session}">Search: who calls login</a>' in text
    async with pages.post(address, json={"address": "https://evil.example/"}) as reply:
        assert reply.status == 400
    async with pages.post(address, json={"address": "/search", "seen_at": "now"}) as reply:
        assert reply.status == 400
    async with pages.post(address, json={"address": "/search", "seen_at": 10**400}) as reply:
        assert reply.status == 400
    assert shared_daemon.call("GetSession", session_id=session)["context"] == kept
    async with pages.post("/sessions/none/last-open", json={"address": "/"}) as reply:
        assert reply.status == 404


async def test_of_two_pages_the_one_seen_last_is_kept_in_whatever_order_they_come(
    pages: Pages, shared_daemon: DaemonProcess, session: str
) -> None:
    async def kept(query: str, seen_at: float) -> Any:
        told = {"address": f"/search?q={query}", "seen_at": seen_at}
        async with pages.post(f"/sessions/{session}/last-open", json=told) as reply:
            assert reply.status == 200
            return (await reply.json())["applet"]

    assert await kept("second", 1000.5) == ["search", "q=second"]
    assert await kept("first", 1000.25) is None
    assert shared_daemon.call("GetSession", session_id=session)["context"] == {
        "applet": ["search", "q=second"]
    }
    assert await kept("third", 100_000) == ["search", "q=third"]
    assert await kept("by another clock", 2_000) == ["search", "q=by another clock"]


# Requests


async def test_requests_are_paged_and_each_is_a_link(
    pages: Pages, shared_daemon: DaemonProcess, root: Path, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foveal.dashboard.pages.sessions.REQUESTS", 2)
    made = [ask(shared_daemon, root, session, f"question {n}")["request_id"] for n in range(3)]
    first = await read(pages, f"/sessions/{session}")
    assert linked_requests(first) == made[:0:-1]
    assert "question 2" in first
    more = re.search(r'href="([^"]*before=[^"]*)"', first)
    assert more is not None
    second = await read(pages, unescape(more[1]).partition("#")[0])
    assert linked_requests(second) == made[:1]


def column(text: str, kind: str) -> str:
    """Return the markup of one of the three columns."""
    return text.split(f'id="column-{kind}"')[1].partition("</section>")[0]


def names_in(text: str, kind: str) -> list[str]:
    """Return the names of a column's items, in their order."""
    return re.findall(r'<span class="item-name">.*?class="path"[^>]*>(.*?)</', column(text, kind))


def linked_requests(text: str) -> list[str]:
    return re.findall(r'data-stop href="[^"]*/requests/([^"]*)"', text)
