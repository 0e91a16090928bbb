"""Search shows how a question was understood, every list's rank, and code with its colours, escaped."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from foveal.dashboard.pages.search import CHARACTERS_MAX, highlighted

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
    text = await read(pages, f"/search?project={quote(str(root))}&q=end+a+session")
    assert "src/<wbr>shop/<wbr>sessions.py" in text
    assert 'Understood as <span class="badge accent">' in text
    assert 'class="t-k">def</span>' in text
    assert f"vscode://file{quote(str(root / 'src/shop/sessions.py'))}:" in text


async def test_a_question_about_structure_says_how_sure_it_is(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/search?project={quote(str(root))}&q=who+calls+login%3F")
    assert "structural</span>" in text
    assert "resolved</span>" in text
    assert "cart.py" in text


async def test_filters_are_kept_and_hold(pages: Pages, root: Path) -> None:
    address = f"/search?project={quote(str(root))}&q=total+session&path=web/&language=typescript&limit=25"
    text = await read(pages, address)
    assert "sessions.py" not in text
    assert "web/<wbr>" in text
    assert "<option selected>25</option>" in text


async def test_what_finds_nothing_says_what_to_do(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/search?project={quote(str(root))}&q=zzzqqq&path=nowhere/")
    assert "Nothing answers that" in text


@pytest.mark.parametrize("query", ["route=sideways", "limit=7"])
async def test_an_unknown_choice_is_refused_in_words(pages: Pages, root: Path, query: str) -> None:
    async with pages.get(f"/search?project={quote(str(root))}&q=x&{query}") as reply:
        assert reply.status == 400
        assert "is one of" in await reply.text()


async def test_names_and_code_are_escaped(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/search?project={quote(str(root))}&q=boom")
    assert "&lt;img src=x&gt;.py" in text
    assert "<img" not in text
    assert "<script>alert" not in text


async def test_the_graph_of_a_file_can_be_followed(pages: Pages, root: Path) -> None:
    text = await read(pages, f"/graph?project={quote(str(root))}&path=src/shop/auth.py")
    assert f'href="/graph?project={quote(str(root), safe="")}&amp;path=src%2Fshop%2Fsessions.py"' in text
    assert "1 file depends on it" in text  # cart.py
    text = await read(pages, f"/graph?project={quote(str(root))}&path=src/shop/auth.py%23login")
    assert ">auth.py</text>" in text


async def test_a_file_that_is_not_there(pages: Pages, root: Path) -> None:
    async with pages.get(f"/graph?project={quote(str(root))}&path=no/such.py") as reply:
        assert reply.status == 404
        assert "no/such.py" in await reply.text()


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
