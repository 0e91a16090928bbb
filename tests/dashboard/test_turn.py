"""The page of a turn: what was sent, drawn and to the byte, why, what was missed, and what changed."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.slices import slice_rows
from foveal.dashboard.pages.turn import NO_ROOM, ROWS, gaps_of, item_columns, without_room

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

HOSTILE = '<script>alert("1")</script>'
FILES = {
    **SMALL_PROJECT,
    "src/hostile.py": f"# {HOSTILE}\r\nNAME = '{HOSTILE}' # & more\n",
    "src/shop/large.py": "".join(
        f'def rule_{number}(value: str) -> str:\n    """Check \\"{number}\\" & <{number}>."""\n    return "{number}"\n\n\n'
        for number in range(1_800)
    ),
}


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = write_files(tmp_path_factory.mktemp("p"), FILES)
    shared_daemon.open_ready(folder)
    return str(folder)


def ask(daemon: DaemonProcess, root: str, *paths: str, **fields: Any) -> Any:
    return daemon.call("GetContext", **{"cwd": root, "focus_paths": list(paths), **fields})


def texts_in(page: str) -> dict[str, str]:
    """Return the texts that stand on a page as a browser reads them, by their names."""
    found = re.findall(r'<pre class="wrap" id="text-([^"]*)"[^>]*>\n(.*?)</pre>', page, re.DOTALL)
    return {name: unescape(re.sub(r"</?span[^>]*>", "", text)) for name, text in found}


# One context


async def test_a_context_is_shown_to_scale_and_to_the_byte(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(shared_daemon, root, "src/shop/auth.py", "src/hostile.py", constraints=[HOSTILE])
    page = await read(pages, f"/turns/{given['context_id']}")
    assert "<script>alert" not in page
    assert texts_in(page) == {"context": given["context"]}
    for row in slice_rows(given["slices"]):
        assert page.count(f'id="slice-{row.at}"') == page.count(f'id="part-{row.at}"') == 1
    drawn = await read(pages, f"/turns/{given['context_id']}?view=map")
    for row in slice_rows(given["slices"]):
        assert f'href="#slice-{row.at}" data-slice="{row.at}"' in drawn
    part = re.search(r'id="part-(\d+)">([^<]*hostile.py[^<]*)<', page)
    assert part is not None
    start, end = given["slices"][int(part[1])]["span"]
    assert unescape(part[2]) == given["context"][start:end]
    assert f"vscode://file{quote(root)}/src/shop/auth.py:1" in page
    assert "left free" in page
    assert "reserved for the answer" in page


@pytest.mark.parametrize("form", ["prompts", "messages", "json"])
async def test_what_was_sent_in_other_formats_is_there_once(
    pages: Pages, shared_daemon: DaemonProcess, root: str, form: str
) -> None:
    given = ask(shared_daemon, root, "src/shop/cart.py", format=form, prompt="How does login work?")
    page = await read(pages, f"/turns/{given['context_id']}")
    sent = {
        "prompts": [given.get("system_prompt"), given.get("user_prompt")],
        "messages": [message["content"] for message in given.get("messages", ())],
        "json": [given["context"]],
    }[form]
    found = texts_in(page)
    assert list(found.values()) == sent
    said = "Open a session for a user"
    assert page.count(said) == sum(str(text).count(said) for text in sent) > 0
    assert page.count('class="part"') == (0 if form == "json" else len(given["slices"]))
    for name, text in found.items():
        async with pages.get(f"/turns/{given['context_id']}/text/{name}") as reply:
            assert await reply.read() == text.encode()
            assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"


async def test_slices_come_in_an_order_and_a_page_at_a_time(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    files = {f"m{number:03}.py": f"VALUE_{number} = {'x' * number!r}\n" for number in range(75)}
    folder = str(write_files(tmp_path / "many", files))
    shared_daemon.open_ready(folder)
    given = ask(shared_daemon, folder, "*.py", max_tokens=20_000)
    assert len(given["slices"]) > 75
    address = f"/turns/{given['context_id']}"
    assert 'href="?order=tokens#slices"' in await read(pages, address)
    first = await read(pages, f"{address}?view=map")
    weights = [one["weight"] for one in given["slices"]]
    rows = [int(at) for at in re.findall(r'<tr id="slice-(\d+)"', first)]
    assert [weights[at] for at in rows] == sorted(weights, reverse=True)[:ROWS], "what decided comes first"
    last = -(-len(weights) // ROWS)
    others = [await read(pages, f"{address}?page={page}") for page in range(2, last + 1)]
    listed = [[int(at) for at in re.findall(r'<tr id="slice-(\d+)"', text)] for text in others]
    assert sorted([*rows, *(at for page in listed for at in page)]) == list(range(len(weights)))
    other = listed[0][0]
    assert f'href="?view=map&amp;page=2#slice-{other}"' in first
    async with pages.get(f"{address}?order=sideways") as reply:
        assert reply.status == 400


async def test_why_a_file_is_in_or_not_is_answered_without_a_script(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(shared_daemon, root, "src/shop/auth.py")
    address = f"/turns/{given['context_id']}"
    shown = await read(pages, f"{address}?why=src/shop/sessions.py")
    assert "imported by src/shop/auth.py" in shown
    missing = await read(pages, f"{address}?why=src/none.py")
    assert "is not in it" in missing
    assert "doesn&#39;t exist" in missing
    outside = await read(pages, f"{address}?why=../../etc/passwd")
    assert "path" in outside
    assert f'value="{"../../etc/passwd"}"' in outside
    hostile = await read(pages, f"{address}?why={quote(HOSTILE)}")
    assert "<script>alert" not in hostile


# The focus


async def test_the_focus_is_shown_with_what_changed_since(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(shared_daemon, root, "src/shop/auth.py", constraints=["Be kind"], agent_name="claude")
    address = f"/turns/{given['context_id']}"
    assert "The focus has changed since" not in await read(pages, address)
    shared_daemon.call("ExpandFocus", scope_id=given["scope_id"], paths=["src/shop/cart.py"])
    page = await read(pages, address)
    assert "Be kind" in page
    assert page.count('data-method="ContractFocus"') == 2
    assert "added since" in page
    assert "The focus has changed since" in page
    shared_daemon.call("ReleaseScope", scope_id=given["scope_id"])
    assert "Its scope was released" in await read(pages, address)


# What it missed


async def test_a_place_is_pinned_to_the_session_if_its_scope_is_gone(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    shared_daemon.call("CreateSession", cwd=root, session_id="outlives")
    prompt = "Which rule checks number 12?"
    given = ask(shared_daemon, root, prompt=prompt, session_id="outlives", max_tokens=200, reserve_tokens=0)
    shared_daemon.call("ReleaseScope", scope_id=given["scope_id"])
    page = await read(pages, f"/turns/{given['context_id']}")
    fields = re.search(r'data-method="SetRelevantContext" data-fields="([^"]*)"', page)
    assert fields is not None
    shared_daemon.call("SetRelevantContext", **json.loads(unescape(fields[1])))
    page = await read(pages, f"/turns/{given['context_id']}")
    assert "pinned" in page.split('id="near"')[1].partition('id="why"')[0]


async def test_files_are_completed(pages: Pages, root: str) -> None:
    async with pages.get("/files", params={"project": root, "q": "shop/SES"}) as reply:
        assert await reply.json() == {"files": ["src/shop/sessions.py"]}
    async with pages.get("/files", params={"project": root, "q": " "}) as reply:
        assert await reply.json() == {"files": []}


# Two turns


async def test_what_changed_between_any_two_turns(
    pages: Pages, shared_daemon: DaemonProcess, root: str, tmp_path: Path
) -> None:
    first = ask(shared_daemon, root, "web/app.ts", session_id="changing")
    second = ask(shared_daemon, root, "web/app.ts", "src/hostile.py", session_id="changing")
    one, two = first["context_id"], second["context_id"]
    page = await read(pages, f"/turns/{two}/difference")
    assert "came in" in page
    assert "<script>alert" not in page
    assert re.search(r'<span class="added">\+ [^<]*hostile.py', page)
    assert "is gone" in await read(pages, f"/turns/{one}/difference?with={two}")
    assert "There is nothing to compare" in await read(pages, f"/turns/{one}/difference?with={one}")
    other = ask(shared_daemon, root, "README.md", session_id="another")["context_id"]
    assert f'<option value="{one}"' in await read(pages, f"/turns/{other}")
    assert "are gone" in await read(pages, f"/turns/{other}/difference?with={two}")
    async with pages.get(f"/turns/{two}/difference?with=c_other") as reply:
        assert reply.status == 404
    folder = str(write_files(tmp_path / "other", {"a.py": "A = 1\n"}))
    shared_daemon.open_ready(folder)
    foreign = ask(shared_daemon, folder, "a.py")["context_id"]
    async with pages.get(f"/turns/{two}/difference?with={foreign}") as reply:
        assert reply.status == 400


# What is missing


def test_what_is_missing_is_told_once_and_without_advice_for_programs() -> None:
    gaps = [f"{NO_ROOM}a.py: ask with a larger max_tokens", "b.py is gone"]
    gaps.append("shortened to fit max_bytes: c.py; ask with a larger max_bytes")
    assert gaps_of(gaps) == ["b.py is gone", "shortened to fit max_bytes: c.py"]
    dropped = [("document:a", "budget"), ("needed:b", "budget"), ("place:c", "duplicate")]
    assert without_room([{"id": name, "reason": reason} for name, reason in dropped]) == 1


# Rules, references and tools


def test_items_of_a_turn_stand_in_columns_by_priority_and_name() -> None:
    def item(kind: str, name: str, mode: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "name": name, "include_mode": mode, **more}

    tools = [
        item("tool", name, "agent", server_name=server) for name, server in (("ask", "zoo"), ("ask", "bank"))
    ]
    sent = [item("rule", "Zed", "always"), item("rule", "b", "agent", similarity_score=0.7), *tools]
    no_room = item("rule", "large", "manual", dropped=True)
    left = {"type": "rule", "name": "far", "similarity_score": 0.1, "reason": "floor", "priority_level": 7}
    record = {
        "items": [{**sent[0], "priority_level": 1}],
        "considered": [left],
        "referred": [{"type": "rule", "name": "b"}],
    }
    known = {
        ("rule", "b", ""): {"priority_level": 2, "description": "today's"},
        ("rule", "Zed", ""): {"priority_level": 9},
    }
    rules, references, found = item_columns([*sent, no_room], record, known)
    rows = [(row["name"], row["priority_level"], row["include"], row["referred"]) for row in rules["sent"]]
    assert rows == [("Zed", 1, "always", False), ("b", 2, "agent", True)]
    assert rules["sent"][1]["description"] == "today's"
    assert [(row["name"], row["why"]) for row in rules["left"]] == [
        ("far", "score too low"),
        ("large", "no room"),
    ]
    assert (references["sent"], references["left"]) == ([], [])
    assert [row["server_name"] for row in found["sent"]] == ["bank", "zoo"]


async def test_a_turn_shows_its_items_with_badge_priority_server_and_description(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    items: list[dict[str, Any]] = [
        {
            "type": "rule",
            "name": "first",
            "text": "Be exact.",
            "priority_level": "001",
            "description": HOSTILE,
        },
        {"type": "tool", "name": "query", "server_name": "db", "description": "Run a query"},
    ]
    for item in items:
        shared_daemon.call("PutItem", cwd=root, item={"include": "always", **item})
    shared_daemon.call("CreateSession", cwd=root, session_id="with-items")
    given = ask(shared_daemon, root, session_id="with-items", prompt="who logs in?")
    page = await read(pages, f"/turns/{given['context_id']}")
    assert f'<a href="/scope/{given["scope_id"]}">scope of ' in page
    rules, tools = (page.split(f'id="column-{kind}"')[1].split("</section>")[0] for kind in ("rule", "tool"))
    assert re.search(
        r">first</a>.*?>Always</span>.*?>priority 001</span>.*?&lt;script&gt;alert", rules, re.DOTALL
    )
    assert re.search(r'"server">db</span>.*?>query</a>.*?>priority 500</span> *Run a query', tools, re.DOTALL)
    assert rules.index(">first<") < rules.index(">CLAUDE.md<")
