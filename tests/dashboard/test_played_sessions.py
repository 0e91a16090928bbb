"""Every page of sessions as agents really have them: played by hooks' events, then each link is followed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import pytest

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.daemon.test_timeline import Host
from tests.hook_cases import payload
from tests.hooks.test_hook import hook
from tests.site_cases import Pages, pages

__all__ = ["pages"]

ASKS = "How does expire() end a session?"
SILENT = "do it again"
HOSTILE = "<img src=x onerror=alert(1)> {{ 7 * 7 }} %s {0} ' \" & \\ \u202e \u0007 \x7f \u2028"
UNKNOWN = re.compile(r"(?<![\w.])(None|nan|NaN|undefined|Infinity|inf|null|Undefined)(?![\w.])")
"""What a program writes where a value is missing. A sentence may begin with `None`."""

LINKS_MAX = 160
"""Maximum pages opened of one session; each has some tens."""


def begun(host: Host) -> None:
    host.tell("SessionStart", source="startup")


def asked(host: Host, prompt: str = ASKS, number: int = 1, **fields: Any) -> None:
    host.tell("UserPromptSubmit", prompt_id=f"p{number}", prompt=prompt, **fields)


def silent(host: Host) -> None:
    """Run the hooks themselves, as a host does."""
    for name, given in (("SessionStart", {}), ("UserPromptSubmit", {"prompt": SILENT})):
        fields = payload("claude-code", name, host.root, session_id=host.session_id, **given)
        hook("claude-code", fields, host.daemon.environ)


def out_of_time(host: Host) -> None:
    begun(host)
    tell_late(host, "UserPromptSubmit", prompt_id="p1", prompt=ASKS)


def tell_late(host: Host, event: str, **fields: Any) -> None:
    given = {"hook_event_name": event, "session_id": host.session_id, "cwd": str(host.root), **fields}
    host.daemon.call("HookEvent", host=host.host, event=event, payload=given, deadline_ms=1)


def subagent(host: Host) -> None:
    begun(host)
    asked(host)
    task = {"subagent_type": "explore", "prompt": "Find out where sessions expire."}
    host.tell("PreToolUse", tool_name="Task", tool_use_id="t1", tool_input=task)
    host.tell("SubagentStart", agent_id="a1", agent_type="explore")
    host.tell("SubagentStart", agent_id="a2", agent_type="explore")
    host.tell("SubagentStop", agent_id="a1", agent_type="explore", agent_transcript_path="")


def fork(host: Host) -> None:
    begun(host)
    asked(host)
    copy = Host(host.daemon, host.root, f"{host.session_id}-copy")
    copy.tell("SessionStart", source="fork")
    asked(copy, SILENT)
    asked(copy, ASKS, 2)
    host.session_id = copy.session_id


def unusual_characters(host: Host) -> None:
    begun(host)
    asked(host, f"{HOSTILE} expire()?")
    host.tell(
        "PostToolUse", tool_name="Write", tool_use_id="t1",
        tool_input={"file_path": str(host.root / 'src/a "b" <c>&#é\n.py')},
    )  # fmt: skip


def nul(host: Host) -> None:
    begun(host)
    asked(host, "How does expire()\0 end a \0session?")
    asked(host, "\0", 2)


def pruned(host: Host) -> None:
    """Play a session whose turns are no longer kept; its timeline still names them."""
    begun(host)
    asked(host)
    asked(host, SILENT, 2)
    assert host.daemon.call("ListContexts", session_id=host.session_id)["contexts"], "they are on the disk"
    with closing(sqlite3.connect(host.daemon.state / "deliveries.sqlite")) as database, database:
        gone = database.execute(
            "DELETE FROM contexts WHERE session IN (SELECT id FROM sessions WHERE name = ?)",
            (host.session_id.encode(),),
        )
        assert gone.rowcount == 2


def writing_of_the_world(host: Host) -> None:
    name = "שלום עולם 👩‍👩‍👧‍👦 مرحبا " * 10
    host.daemon.call("CreateSession", cwd=str(host.root), session_id=host.session_id, name=name[:200].strip())
    about = {
        "current_intent": "\U0001d4b3" * 500,
        "env_hint": "🐍",
        "context": {"files": [str(host.root / "é")]},
    }
    host.daemon.call("UpdateSession", session_id=host.session_id, **about)
    asked(host, "איך פג תוקף 👾 expire()?")
    asked(host, "x" * 30_000, 2)


PLAYS: Mapping[str, Callable[[Host], None]] = {
    play.__name__: play
    for play in (
        silent, out_of_time, subagent, fork, unusual_characters, nul, pruned, writing_of_the_world,
    )
}  # fmt: skip


class PageText(HTMLParser):
    """The links of a page, and its words and attributes but for code and what was sent."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.words: list[str] = []
        self._verbatim: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag in {"pre", "code", "script", "style"}:
            self._verbatim.append(tag)
        self.words += [value or "" for name, value in attrs if not name.startswith("data-")]

    def handle_endtag(self, tag: str) -> None:
        if self._verbatim and self._verbatim[-1] == tag:
            self._verbatim.pop()

    def handle_data(self, data: str) -> None:
        if not self._verbatim:
            self.words.append(data)

    @property
    def missing(self) -> list[str]:
        """The words and attributes that say that a value was missing."""
        return [text for text in self.words if UNKNOWN.search(re.sub(r"^\s*None(?=\.| yet| that)", "", text))]


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_files(tmp_path_factory.mktemp("p") / "shop", SMALL_PROJECT)
    shared_daemon.open_ready(folder)
    return folder


async def walk(client: Pages, starts: list[str], inside: tuple[str, ...]) -> dict[str, PageText]:
    """Open pages and all that they lead to inside some addresses; none fails or shows a missing value."""
    waiting, found = list(starts), dict[str, PageText]()
    while waiting and len(found) < LINKS_MAX:
        address = waiting.pop(0)
        if address in found:
            continue
        async with client.get(address, allow_redirects=False) as reply:
            text = (await reply.read()).decode()
            is_gone = reply.status == 404 and address.startswith("/turns/") and "kept any more" in text
            assert reply.status == 200 or is_gone, f"{address}: {reply.status} {text[-3000:]}"
        page = found[address] = PageText(text if reply.content_type == "text/html" else "")
        assert page.missing == [], address
        for link in page.links:
            target = urlsplit(urljoin(address, link))
            wanted = target._replace(fragment="").geturl()
            if not target.netloc and target.path.startswith(inside) and wanted not in found:
                waiting.append(wanted)
    return found


@pytest.mark.parametrize("kind", PLAYS)
async def test_every_page_of_a_session_opens(
    kind: str, pages: Pages, shared_daemon: DaemonProcess, root: Path
) -> None:
    host = Host(shared_daemon, root, f"played-{kind}")
    PLAYS[kind](host)
    assert host.entries(), "something happened in it"
    page = f"/sessions/{quote(host.session_id)}"
    tabs = [page, f"{page}?tab=items", f"{page}?tab=context", f"{page}?format=json", f"{page}?format=csv"]
    given = shared_daemon.call("ListContexts", session_id=host.session_id)["contexts"]
    turns = [f"/turns/{one['context_id']}" for one in given]
    found = await walk(pages, [*tabs, *turns, *(f"{turn}/difference" for turn in turns)], (page, "/turns/"))
    assert set(tabs + turns) <= found.keys()


async def test_every_other_page_opens_beside_such_sessions(
    pages: Pages, shared_daemon: DaemonProcess, root: Path
) -> None:
    for kind, play in PLAYS.items():
        play(Host(shared_daemon, root, f"beside-{kind}"))
    sites = ("/", "/sessions", "/knowledge", "/explore", "/usage", "/project", "/diagnostics")
    starts = [*sites, "/diagnostics?period=day", "/usage?by=session", f"/explore?q={quote('expire session')}"]
    found = await walk(pages, starts, ("/sessions?", "/knowledge", "/usage", "/diagnostics", "/project"))
    assert set(starts) <= found.keys()
