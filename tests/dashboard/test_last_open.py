"""The page last open in a session: a fixed table of pages, checked parameters, and no way out of the site."""

from __future__ import annotations

import pytest
from foveal.dashboard.pages.last_open import PLACES, applet_of, last_open
from foveal.dashboard.pages.sessions import SET_MAX
from foveal.ipc.errors import RpcError


@pytest.mark.parametrize(
    ("address", "applet"),
    [
        ("/", ["overview"]),
        (
            "/search?q=who+calls+login&project=%2Fsrc%2Fshop",
            ["search", "q=who calls login", "project=/src/shop"],
        ),
        ("/items?mode=agent&page=2&theme=dark", ["items", "mode=agent", "page=2"]),
        ("/contexts/c_12", ["context", "id=c_12"]),
        ("/contexts", ["contexts"]),
        ("/search?q=a%3Db", ["search", "q=a=b"]),
        ("/search?q=" + "x" * 501, ["search"]),
        ("/search?q=a%0Ab", ["search"]),
    ],
)
def test_a_page_is_kept_by_its_slug_with_what_it_shows(address: str, applet: list[str]) -> None:
    assert applet_of(address) == applet


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/search?q=x",
        "//evil.example/search",
        "javascript:alert(1)",
        "search",
        "",
        "/actions/EndSession",
        "/sessions/s-1",
        "/contexts/../items",
        "/contexts/%2e%2e",
        "http://[",
    ],
)
def test_what_is_no_page_of_the_table_is_not_kept(address: str) -> None:
    with pytest.raises(RpcError) as raised:
        applet_of(address)
    assert (raised.value.code, raised.value.data) == ("invalid_params", {"field": "address"})


@pytest.mark.parametrize(
    ("entries", "link", "title"),
    [
        (["search", "q=who calls login"], "/search?q=who+calls+login&session=s-1", "Search"),
        (["context", "id=c_1"], "/contexts/c_1?session=s-1", "Context"),
        (
            ["items", "session=other", "next=//evil.example", "type=tool"],
            "/items?type=tool&session=s-1",
            "Items",
        ),
        (["context", "id=../items"], "", "context"),
        (["context"], "", "context"),
        (["https://evil.example/"], "", "https://evil.example/"),
        (["terminal", "cwd=/src"], "", "terminal"),
    ],
)
def test_an_applet_leads_only_to_pages_of_the_table(entries: list[str], link: str, title: str) -> None:
    found = last_open(entries, "s-1")
    assert found is not None
    assert (found.link, found.title) == (link, title)


def test_nothing_is_offered_where_nothing_was_open() -> None:
    assert last_open([], "s-1") is None


def test_each_page_comes_back_as_it_was_kept() -> None:
    for place in PLACES.values():
        query = "&".join(f"{name}=1" for name in place.parameters)
        address = f"{place.path.replace('{id}', 'x_1')}?{query}"
        applet = applet_of(address)
        found = last_open(applet, "s-1")
        assert len(applet) <= SET_MAX, "as many as a set may have"
        assert found is not None
        assert found.link.split("?")[0] == place.path.replace("{id}", "x_1")
        assert all(f"{name}=1" in found.link for name in place.parameters)
