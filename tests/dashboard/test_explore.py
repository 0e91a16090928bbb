"""Search shows how a question was understood, every list's rank, and code with its colours, escaped."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.explore import CHARACTERS_MAX, excerpt, highlighted

from tests.conftest import SMALL_PROJECT, DaemonProcess, write_files
from tests.site_cases import Pages, pages, read

__all__ = ["pages"]

HOSTILE = {"src/<img src=x>.py": 'def boom():\n    return "<script>alert(1)</script> sessions"\n'}


@pytest.fixture(scope="module")
def root(shared_daemon: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_files(tmp_path_factory.mktemp("p"), {**SMALL_PROJECT, **HOSTILE})
    shared_daemon.open_ready(folder)
    return folder


async def test_a_question_in_words(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/explore?project={quote(str(root))}&q=end+a+session")
    assert "src/<wbr>shop/<wbr>sessions.py" in text
    assert re.search(r"</strong> in [^<]* ms, by (words and meaning|names, words and meaning)", text)
    hits = text.split('<li class="hit">')[1:]
    assert hits
    assert all(re.search(r'<p class="soft small why">\w', hit) for hit in hits), "each hit has a reason"
    assert 'class="t-k">def</span>' in text
    assert f"vscode://file{quote(str(root / 'src/shop/sessions.py'))}:" in text


async def test_filters_are_kept_and_hold(pages: Pages, root: Path) -> None:
    address = f"/explore?project={quote(str(root))}&q=total+session&path=web/&language=typescript&limit=25"
    text = await read(pages, address)
    assert "sessions.py" not in text
    assert "web/<wbr>" in text
    assert "<option selected>25</option>" in text


@pytest.mark.parametrize("query", ["route=sideways", "limit=7"])
async def test_an_unknown_choice_is_refused_in_words(pages: Pages, root: Path, query: str) -> None:
    async with pages.get(f"/explore?project={quote(str(root))}&q=x&{query}") as reply:
        assert reply.status == 400
        assert "is one of" in await reply.text()


async def test_names_and_code_are_escaped(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/explore?project={quote(str(root))}&q=boom")
    assert "&lt;img src=x&gt;.py" in text
    assert "<img" not in text
    assert "<script>alert" not in text


async def test_a_definition_shows_its_callers_and_its_text(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/explore/file?project={quote(str(root))}&path=src/shop/auth.py%23login")
    assert "Called by" in text
    assert "src/<wbr>shop/<wbr>cart.py:" in text
    assert "Calls" in text
    first = re.findall(r'<span class="at">(\d+)</span>', text)[0]
    assert int(first) > 1, "its own lines"


async def test_a_file_tells_which_turns_showed_it(
    pages: Pages, shared_daemon: DaemonProcess, root: Path
) -> None:
    asked = {"cwd": str(root), "focus_paths": ["src/shop/auth.py"], "agent_name": "codex"}
    shown = shared_daemon.call("GetContext", **asked, prompt="how does a login end?")["context_id"]
    address = f"/explore/file?project={quote(str(root))}&path=src/shop/auth.py"
    text = await read(pages, address)
    assert f'href="/turns/{shown}">how does a login end?</a>' in text
    async with pages.get(f"{address}&table=turns&format=json") as reply:
        assert [row["context_id"] for row in await reply.json()] == [shown]
    text = await read(pages, f"/explore?project={quote(str(root))}")
    assert 'q=how+does+a+login+end%3F">how does a login end?</a>' in text
    hostile = quote("src/<img src=x>.py")
    text = await read(pages, f"/explore/file?project={quote(str(root))}&path={hostile}")
    assert shown not in text
    assert "No kept turn showed this file" in text


async def test_tables_of_a_file_are_exported(pages: Pages, root: Path) -> None:
    address = f"/explore/file?project={quote(str(root))}&path=src/shop/auth.py"
    text = await read(pages, f"{address}&table=definitions&format=csv")
    assert "login" in text
    text = await read(pages, f"{address}&table=files&format=csv")
    assert "depends on it,src/shop/cart.py" in text
    assert "it depends on,src/shop/sessions.py" in text
    async with pages.get(f"{address}&table=secrets&format=csv") as reply:
        assert reply.status == 400
    text = await read(pages, f"/explore?project={quote(str(root))}&q=end+a+session&format=csv")
    assert text.startswith("path,line,symbol")
    assert "src/shop/sessions.py" in text


async def test_a_folder_lists_its_files(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/explore?project={quote(str(root))}&path=src/shop/")
    assert ">auth.py</a>" in text
    assert ">web/" not in text


def test_an_excerpt_has_the_colours_of_its_definition_and_begins_with_its_line() -> None:
    """A line of a docstring is none of code, though by itself it could be."""
    text = '@cached\ndef limit():\n    """Says\n\n    for how many\n    if any"""\n    return 1'
    node = {"definition": text, "start_line": 10}
    hit = {
        "path": "a.py",
        "symbol": "limit",
        "snippet": '    for how many\n    if any"""',
        "snippet_line": 14,
    }
    head, gap, first, _ = excerpt(hit, node)
    assert (head[0], gap, first[0]) == (11, (None, "…"), 14)
    assert '<span class="t-k">def</span>' in head[1]
    assert 't-k">for' not in first[1]
    changed = excerpt({**hit, "snippet": "    for all"}, node)
    assert changed == excerpt({**hit, "snippet": "    for all"}, None) == [(14, "    for all")]


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("<b>", "a.unknown", "&lt;b&gt;"),
        ("\n\ndef f(): pass", "a.py", '\n\n<span class="t-k">def</span>'),
        ("<" * (CHARACTERS_MAX + 1), "a.py", "&lt;" * (CHARACTERS_MAX + 1)),
    ],
)
def test_colours_never_change_the_text(text: str, path: str, expected: str) -> None:
    assert highlighted(text, path).startswith(expected)
    assert unescape(re.sub("<[^>]*>", "", highlighted(text, path))) == text
