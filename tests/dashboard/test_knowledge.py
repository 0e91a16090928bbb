"""The Knowledge page: items with source, mode and use, the servers of tools, exports, and former addresses."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from foveal.dashboard.pages import decisions

from tests.conftest import DaemonProcess, write_files
from tests.server_cases import RAW_SERVER
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a project with rules, an approved server with two tools, and one that nobody approved."""
    folder = tmp_path_factory.mktemp("p")
    raw = folder / "raw.py"
    server = {"command": sys.executable, "args": [str(raw), "pages"]}
    files: dict[str, str | bytes] = {
        ".git/HEAD": "x",
        "AGENTS.md": f"Be kind. {HOSTILE}\n",
        "raw.py": RAW_SERVER,
        ".mcp.json": json.dumps({"mcpServers": {"raw": server}}),
        ".cursor/mcp.json": json.dumps({"mcpServers": {"foveal": {"command": "foveal", "args": ["mcp"]}}}),
        ".vscode/mcp.json": json.dumps({"servers": {"waiting": {"type": "stdio", **server}}}),
    }
    write_files(folder, files)
    shared_daemon.open_ready(folder)
    for file in shared_daemon.call("ListToolServers", cwd=str(folder), refresh=False)["files"]:
        if file["path"].endswith("/.mcp.json"):
            named = {name: file[name] for name in ("path", "digest", "section")}
            shared_daemon.call("ApproveToolServers", cwd=str(folder), **named)
    shared_daemon.call("ListToolServers", cwd=str(folder))
    put(shared_daemon, folder, "sql", include="agent", description="Never <b>build</b> SQL from strings.")
    put(shared_daemon, folder, "css", include="glob", globs=["*.css"])
    reference = {
        "type": "reference",
        "name": "=glossary",
        "text": "Cart: what is bought.",
        "include": "agent",
    }
    shared_daemon.call("PutItem", cwd=str(folder), item=reference)
    return folder


def put(daemon: DaemonProcess, root: Path, name: str, **fields: Any) -> None:
    item = {"type": "rule", "name": name, "text": f"Text of {name}.", **fields}
    daemon.call("PutItem", cwd=str(root), item=item)


def address(root: Path, **query: str) -> str:
    return f"/knowledge?project={quote(str(root))}" + "".join(
        f"&{name}={quote(query[name])}" for name in query
    )


async def test_rules_are_shown_with_source_mode_and_text(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root))
    assert names_in(text) == ["AGENTS.md", "css", "sql"]
    assert f'href="vscode://file{quote(str(root))}/AGENTS.md:1"' in text
    assert "Never &lt;b&gt;build&lt;/b&gt; SQL from strings." in text
    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)" in text, "the text of AGENTS.md"
    assert "*.css" in text
    assert "written here" in text


async def test_an_unknown_kind_is_refused_in_words(pages: Pages, root: Path) -> None:
    async with pages.get(address(root, kind="spells")) as reply:
        assert reply.status == 400
        assert "Kind is one of rules, references, tools, decisions, quarantine" in await reply.text()


async def test_the_filter_narrows_by_server_mode_and_text(pages: Pages, root: Path) -> None:
    tools = {"kind": "tools", "server": "raw"}
    assert names_in(await read(pages, address(root, **tools))) == ["page0", "page1", "page2"]
    assert names_in(await read(pages, address(root, **tools, q="page1"))) == ["page1"]
    assert names_in(await read(pages, address(root, mode="glob"))) == ["css"]
    assert names_in(await read(pages, address(root, q="text of css"))) == ["css"]
    assert "No rule matches" in await read(pages, address(root, q="no such thing"))


async def test_each_table_is_exported_with_its_filter(pages: Pages, root: Path) -> None:
    async with pages.get(address(root, q="sql", format="json")) as reply:
        (row,) = await reply.json()
    assert (row["name"], row["include"], row["text"]) == ("sql", "agent", "Text of sql.")
    text = await read(pages, address(root, kind="references", format="csv"))
    assert "reference,'=glossary,,agent" in text, "no formula for a spreadsheet"
    for kind in ("decisions", "quarantine"):
        async with pages.get(address(root, kind=kind, format="json")) as reply:
            assert await reply.json() == []


async def test_all_decisions_of_one_moment_are_exported(
    pages: Pages, shared_daemon: DaemonProcess, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "EXPORTED_MAX", 2)
    moment = {"agent_id": "eve", "session_id": "s", "timestamp": "2025-01-31T12:00:00Z"}
    given = [f"decision {number}" for number in range(5)]
    for text in given:
        shared_daemon.call("GraftExperience", cwd=str(root), experience={"decision": text, **moment})
    async with pages.get(address(root, kind="decisions", agent="eve", format="json")) as reply:
        assert sorted(row["decision"] for row in await reply.json()) == given


async def test_foveal_itself_needs_no_approval(pages: Pages, root: Path) -> None:
    text = await read(pages, address(root, kind="tools"))
    assert "foveal itself: it needs no approval" in text
    assert ".cursor/mcp.json --cwd" not in text


async def test_use_and_what_it_suggests_are_shown(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    folder = write_files(tmp_path / "used", {".git/HEAD": "x"})
    put(shared_daemon, folder, "ignored", include="always")
    session = shared_daemon.call("CreateSession", cwd=str(folder))["session_id"]
    for n in range(20):
        reply = shared_daemon.call("GetContext", cwd=str(folder), session_id=session, prompt=f"question {n}")
        named = {"session_id": session, "request_id": reply["request_id"]}
        shared_daemon.call("ReportReply", **named, reply="Nothing of it.")
    usage = shared_daemon.call("GetItemUsage", cwd=str(folder))
    text = await read(pages, address(folder))
    assert "in 20 turns" in text
    assert "used by 0 of 20 replies" in text
    suggested = [unescape(one) for one in re.findall(r'<li class="row between"><span>(.*?)</span>', text)]
    assert suggested == [suggestion["text"] for suggestion in usage["suggestions"]]
    assert suggested, "twenty replies are enough"


async def test_an_item_can_be_had_whole(pages: Pages, root: Path) -> None:
    named = f"/knowledge/one?project={quote(str(root))}&type=rule"
    async with pages.get(f"{named}&name=sql") as reply:
        assert (await reply.json())["text"] == "Text of sql."
    async with pages.get(f"{named}&name=none") as reply:
        assert await reply.json() is None
    async with pages.get("/knowledge/one?type=rule&name=sql") as reply:
        assert reply.status == 400


def names_in(text: str) -> list[str]:
    return [
        unescape(one) for one in re.findall(r'<span class="item-name">.*?class="path">(.*?)</span>', text)
    ]
