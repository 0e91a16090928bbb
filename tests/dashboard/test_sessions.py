"""Sessions on the dashboard: the list, a session with its sets and items, a request and what was sent with it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.session import BLANK, given_in, sets_of, turns_of
from foveal.dashboard.pages.sessions import FILTERS, chosen

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
    now = datetime(2030, 1, 9, tzinfo=UTC)
    fields = {"agent_name": "codex", "current_intent": "Fix the Payment", "ended": None, "project": "/p"}
    sessions: list[dict[str, Any]] = [
        {"session_id": "a", "title": "Checkout", "last_heard": "2030-01-08T12:00:00Z", "tokens": 1, **fields},
        {
            "session_id": "b",
            "title": "Search",
            "last_heard": "2030-01-01T00:00:00Z",
            **fields,
            "tokens": 2,
            "ended": "x",
        },
    ]

    def found(**given: str) -> list[str]:
        return [one["session_id"] for one in chosen(sessions, dict.fromkeys(FILTERS, "") | given, now)]

    assert found(q="payment checkout") == ["a"]
    assert found(state="open") == ["a"]
    assert found(state="ended") == ["b"]
    assert found(agent="claude-code") == []
    assert found(agent="codex", project="/p") == ["a", "b"]
    assert found(project="/q") == []
    assert found(days="1") == ["a"]
    assert found(days="30") == ["a", "b"]
    assert found(order="tokens") == ["b", "a"]


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
    text = await read(pages, f"/sessions/{session}?tab=context")
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
    assert [entry.link for one in found for entry in one["entries"]] == ["", "", ""]


async def test_items_stand_in_three_columns_by_priority_and_server(
    pages: Pages, shared_daemon: DaemonProcess, session: str
) -> None:
    shared_daemon.call("AddSessionItem", session_id=session, type="rule", name="by hand")
    shared_daemon.call("RemoveSessionItem", session_id=session, type="tool", name="feed", server_name="zoo")
    text = await read(pages, f"/sessions/{session}?tab=items")
    assert names_in(text, "rule") == ["first", "CLAUDE.md", "second", "by hand"]
    assert names_in(text, "tool") == ["ask", "pay"]
    rules = column(text, "rule")
    assert ">Always</span>" in rules
    assert ">Manual</span>" in rules
    assert ">priority 200</span>" in rules
    assert 'title="Remove first"' in rules
    assert "&lt;img src=x" in rules
    assert '<span class="server">bank</span>' in column(text, "tool")
    assert "Kept out by hand: 1" in text
    offered = column(text, "rule").split("Not in this session")[1]
    assert ">found</span>" in offered
    assert 'data-method="AddSessionItem"' in offered


async def test_names_of_items_are_completed_but_for_those_in_it(pages: Pages, session: str) -> None:
    async with pages.get(f"/sessions/{session}/items?type=rule&q=f") as reply:
        labels = [item["label"] for item in (await reply.json())["items"]]
    assert labels == ["found"], "first is in it already"


# The timeline


def entry(minute: int, kind: str, **given: Any) -> dict[str, Any]:
    return {**BLANK, "at": f"2030-01-01T00:{minute:02}:00Z", "kind": kind, **given}


def test_what_happened_after_a_prompt_stands_below_it() -> None:
    turns = turns_of(
        [
            entry(1, "read", paths=["before.py"]),
            entry(2, "prompt", text="Fix it", tokens=900),
            entry(3, "read", paths=["a.py"]),
            entry(4, "read", paths=["b.py", "a.py"]),
            entry(5, "read", paths=["c.py"], agent_id="sub"),
            entry(6, "edit", paths=["a.py"]),
            entry(7, "compaction"),
        ]
    )
    assert given_in([entry(1, "prompt", context_id="c_1"), entry(2, "edit")]) == {"c_1"}
    assert [turn.head and turn.head["kind"] for turn in turns] == [None, "prompt", "compaction"]
    assert [(step.kind, step.paths) for step in turns[1].steps] == [
        ("read", ["a.py", "b.py"]),
        ("read", ["c.py"]),
        ("edit", ["a.py"]),
    ]


async def test_each_entry_names_its_agent_which_leads_to_its_scope(
    pages: Pages, shared_daemon: DaemonProcess, root: Path, session: str
) -> None:
    main = ask(shared_daemon, root, session)["scope_id"]
    given = {"session_id": session, "agent_id": "ab12", "agent_name": "explorer", "prompt": "who logs in?"}
    scope = shared_daemon.call("GetContext", cwd=str(root), **given)["scope_id"]
    text = await read(pages, f"/sessions/{session}")
    agents = text.split('id="agents"')[1].partition("</p>")[0]
    assert re.findall(r'href="(.*?)".*?>(.*?)</a>', agents) == [
        (f"/scope/{main}", "no agent named"),
        (f"/scope/{scope}", "explorer ab12"),
    ]
    entry = text.split('class="part prompt"')[1]
    assert f'<a class="agent" href="/scope/{scope}"' in entry
    assert entry.index("explorer ab12</a>: ") < entry.index("who logs in?")


# Requests


def column(text: str, kind: str) -> str:
    """Return the markup of one of the three columns."""
    return text.split(f'id="column-{kind}"')[1].partition("</section>")[0]


def names_in(text: str, kind: str) -> list[str]:
    """Return the names of a column's items, in their order."""
    inside = column(text, kind).partition("Not in this session")[0]
    return re.findall(r'<span class="item-name">.*?class="path"[^>]*>(.*?)</', inside)
