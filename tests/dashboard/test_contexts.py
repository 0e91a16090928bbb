"""Contexts and scopes on the dashboard: what was given, drawn and to the byte, why, and what changed."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.context import after
from foveal.dashboard.pages.slices import slice_rows
from foveal.ipc.errors import NOT_FOUND

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

PAGE_BYTES_MAX = 300_000
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
    page = await read(pages, f"/contexts/{given['context_id']}")
    assert "<script>alert" not in page
    assert texts_in(page) == {"context": given["context"]}
    for row in slice_rows(given["slices"]):
        assert page.count(f'id="slice-{row.at}"') == page.count(f'id="part-{row.at}"') == 1
        assert f'href="#slice-{row.at}" data-slice="{row.at}"' in page
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
    page = await read(pages, f"/contexts/{given['context_id']}")
    sent = {
        "prompts": [given.get("system_prompt"), given.get("user_prompt")],
        "messages": [message["content"] for message in given.get("messages", ())],
        "json": [given["context"]],
    }[form]
    found = texts_in(page)
    assert list(found.values()) == sent
    said = "Open a session for a user"
    assert page.count(said) == sum(str(text).count(said) for text in sent) > 0
    assert page.count('class="part"') == len(given["slices"])
    for name, text in found.items():
        async with pages.get(f"/contexts/{given['context_id']}/text/{name}") as reply:
            assert await reply.read() == text.encode()
            assert reply.headers["Content-Type"] == "text/plain; charset=utf-8"


async def test_a_context_of_100_kb_makes_a_page_below_300(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(shared_daemon, root, "src", max_tokens=60_000)
    assert given["bytes"] > 95_000
    page = await read(pages, f"/contexts/{given['context_id']}")
    assert len(page.encode()) < PAGE_BYTES_MAX
    assert texts_in(page) == {"context": given["context"]}
    larger = ask(shared_daemon, root, "src", max_tokens=100_000, max_bytes=400_000)
    page = await read(pages, f"/contexts/{larger['context_id']}")
    assert len(page.encode()) < PAGE_BYTES_MAX
    assert texts_in(page) == {}
    address = f"/contexts/{larger['context_id']}/text/context"
    assert address in page
    async with pages.get(address) as reply:
        assert (await reply.read()).decode() == larger["context"]


async def test_slices_come_in_an_order_and_a_page_at_a_time(
    pages: Pages, shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    files = {f"m{number:03}.py": f"VALUE_{number} = {'x' * number!r}\n" for number in range(75)}
    folder = str(write_files(tmp_path / "many", files))
    shared_daemon.open_ready(folder)
    given = ask(shared_daemon, folder, "*.py", max_tokens=20_000)
    assert len(given["slices"]) > 75
    address = f"/contexts/{given['context_id']}"
    assert 'href="?order=tokens#slices"' in await read(pages, address)
    first = await read(pages, f"{address}?order=tokens")
    tokens = [one["tokens"] for one in given["slices"]]
    rows = [int(at) for at in re.findall(r'<tr id="slice-(\d+)"', first)]
    assert [tokens[at] for at in rows] == sorted(tokens, reverse=True)[:60]
    second = await read(pages, f"{address}?order=tokens&page=2")
    assert {*rows, *map(int, re.findall(r'<tr id="slice-(\d+)"', second))} == set(range(len(tokens)))
    other = next(at for at in range(len(tokens)) if at not in rows)
    assert f'href="?order=tokens&amp;page=2#slice-{other}"' in first
    async with pages.get(f"{address}?order=sideways") as reply:
        assert reply.status == 400


async def test_why_a_file_is_in_or_not_is_answered_without_a_script(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(shared_daemon, root, "src/shop/auth.py")
    address = f"/contexts/{given['context_id']}"
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


async def test_dropped_slices_and_gaps_are_told_in_words(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(
        shared_daemon, root, "src/shop/*", "nowhere.py", "src/hostile.py", max_tokens=110, reserve_tokens=0
    )
    assert given["dropped"]
    page = await read(pages, f"/contexts/{given['context_id']}")
    assert "no room was left for it" in page
    assert "nowhere.py&#39; doesn&#39;t exist" in page


async def test_a_context_that_is_not_kept_is_a_page_that_says_so(pages: Pages) -> None:
    async with pages.get("/contexts/c_none") as reply:
        assert reply.status == 404
        text = await reply.text()
    assert "the daemon keeps the last" in text
    assert "ListContexts" not in text


# All of them


async def test_contexts_are_listed_and_filtered(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    codex = ask(shared_daemon, root, "web/app.ts", agent_name="codex", session_id="s-1")["context_id"]
    other = ask(shared_daemon, root, "web/money.ts", agent_name="zed & co")["context_id"]
    everything = await read(pages, f"/contexts?project={quote(root)}")
    assert everything.index(other) < everything.index(codex)
    assert "zed &amp; co" in everything
    for query in ("agent=codex", "session=s-1"):
        chosen = await read(pages, f"/contexts?{query}")
        assert codex in chosen
        assert other not in chosen
    assert "None of the contexts fits" in await read(pages, "/contexts?agent=nobody")


def test_a_list_goes_on_behind_an_id() -> None:
    contexts = [{"context_id": str(number)} for number in range(5)]
    assert after(contexts, "", 2) == (contexts[:2], "1")
    assert after(contexts, "1", 3) == (contexts[2:], "")
    assert after(contexts, "gone", 9) == (contexts, "")


async def test_scopes_are_listed_with_their_focus_and_tokens(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(shared_daemon, root, "README.md")
    page = await read(pages, f"/contexts?project={quote(root)}")
    row = re.search(
        rf'<tr>\s*<td class="grow"><a data-stop class="path" href="/scopes/{given["scope_id"]}".*?</tr>',
        page,
        re.DOTALL,
    )
    assert row is not None
    assert "README.md" in row[0]
    assert f"{given['tokens']:,}" in row[0]


# One scope


async def test_a_scope_shows_what_it_sees_and_how_to_change_it(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    given = ask(shared_daemon, root, "src/shop/auth.py", constraints=["Be kind"], agent_name="claude")
    shared_daemon.call("ExpandFocus", scope_id=given["scope_id"], paths=["src/shop/cart.py"])
    page = await read(pages, f"/scopes/{given['scope_id']}")
    assert "What claude sees" in page
    assert "Be kind" in page
    assert page.count('data-method="ContractFocus"') == 2
    assert "The focus has changed since" in page
    assert f"/contexts/{given['context_id']}#slice-0" in page
    ask(shared_daemon, root, scope_id=given["scope_id"], focus_paths=None)
    assert "The focus has changed since" not in await read(pages, f"/scopes/{given['scope_id']}")
    shared_daemon.call("ReleaseScope", scope_id=given["scope_id"])
    assert "It is gone" in await read(pages, f"/scopes/{given['scope_id']}")
    async with pages.get("/scopes/s_none") as reply:
        assert reply.status == 404


async def test_files_are_completed(pages: Pages, root: str) -> None:
    async with pages.get("/files", params={"project": root, "q": "shop/SES"}) as reply:
        assert await reply.json() == {"files": ["src/shop/sessions.py"]}
    async with pages.get("/files", params={"project": root, "q": " "}) as reply:
        assert await reply.json() == {"files": []}


def test_looking_at_a_scope_counts_as_nothing_sent(shared_daemon: DaemonProcess, root: str) -> None:
    session = {"cwd": root, "session_id": "looked-at", "prompt": "How does login work?"}
    looked = shared_daemon.call("GetContext", **session, preview=True)
    assert "request_id" not in looked
    assert shared_daemon.error("ListRequests", session_id="looked-at").code == NOT_FOUND, "it has none"
    sent = shared_daemon.call("GetContext", **session, delta=True)
    assert sent["context"] == looked["context"]
    assert sent["saved_tokens"] == 0
    entries = shared_daemon.call("ListContexts", session_id="looked-at")["contexts"]
    assert [entry.get("preview", False) for entry in entries] == [False, True]
    shared_daemon.call("GetContext", **session)
    latest = shared_daemon.call("ListContexts", session_id="looked-at")["contexts"][0]
    assert (latest["context_id"], latest["times"]) == (looked["context_id"], 2)
    assert "preview" not in latest, "now it was sent"


# Two of a scope


async def test_what_changed_between_two_contexts_of_a_scope(
    pages: Pages, shared_daemon: DaemonProcess, root: str
) -> None:
    first = ask(shared_daemon, root, "web/app.ts", session_id="changing")
    address = f"/scopes/{first['scope_id']}/difference"
    assert "There is nothing to compare" in await read(pages, address)
    second = ask(shared_daemon, root, "web/app.ts", "src/hostile.py", session_id="changing")
    page = await read(pages, address)
    assert "came in" in page
    assert "<script>alert" not in page
    assert re.search(r'<span class="added">\+ [^<]*hostile.py', page)
    back = await read(pages, f"{address}?before={second['context_id']}&after={first['context_id']}")
    assert "is gone" in back
    same = await read(pages, f"{address}?before={first['context_id']}&after={first['context_id']}")
    assert "There is nothing to compare" in same
    async with pages.get(f"{address}?before=c_other") as reply:
        assert reply.status == 400
    async with pages.get("/scopes/s_none/difference") as reply:
        assert reply.status == 404
    assert shared_daemon.error("GetBuiltContext", context_id="c_other").code == NOT_FOUND
