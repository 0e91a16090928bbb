"""The applet is a slug with parameters: of a repeated one the last, and another page takes its place."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.sessions.context_sets import Applet, applet_entries, applet_in, merged_applet


def test_the_form_is_a_slug_and_pairs() -> None:
    def check(given: list[str], expected: tuple[str, ...]) -> None:
        assert applet_entries(given) == expected

    check([], ())
    check(["board"], ("board",))
    check(["team/board", "tab=2", "q=a=b"], ("team/board", "tab=2", "q=a=b"))
    check(["board", "tab=", " id = 7 "], ("board", "tab=", "id=7"))
    check(["board", "tab=1", "id=7", "tab=2"], ("board", "tab=2", "id=7"))


def test_another_form_is_refused() -> None:
    for given in (["tab=2"], ["my board"], ["board", "tab"], ["board", "=2"], ["board", " =2"]):
        with pytest.raises(InvalidRequest, match="applet") as raised:
            applet_entries(given)
        assert raised.value.field == "items"


def test_it_is_parsed_for_events() -> None:
    def check(given: list[str], expected: Applet | None) -> None:
        assert applet_in(given) == expected

    check([], None)
    check(["board"], Applet("board", {}))
    check(["board", "tab=2", "q=a=b"], Applet("board", {"tab": "2", "q": "a=b"}))
    check(["board", "odd"], Applet("board", {"odd": ""}))  # as a mended file may have it


def test_a_merge_joins_parameters_of_the_same_page_only() -> None:
    def check(former: list[str], given: list[str], expected: tuple[str, ...]) -> None:
        assert merged_applet(former, given) == expected

    check([], ["board", "tab=1"], ("board", "tab=1"))
    check(["board", "tab=1"], [], ("board", "tab=1"))
    check(["board", "tab=1", "id=7"], ["board", "tab=2"], ("board", "tab=2", "id=7"))
    check(["board", "tab=1"], ["notes"], ("notes",))
