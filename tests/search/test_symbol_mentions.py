"""Identifiers are found with how sure it is that they are some; plain words, paths and products are none."""

from __future__ import annotations

import pytest
from foveal.daemon.search.mentions import (
    IN_CODE,
    MEMBER,
    QUOTED_CODE,
    SHAPED,
    TITLE_CASE,
    find_symbols,
)


def check(text: str, expected: dict[str, float]) -> None:
    assert {mention.name: mention.certainty for mention in find_symbols(text)} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What calls `login`?", {"login": QUOTED_CODE}),
        ("`Cart.total()` and `Foo#bar`", {"Cart.total": QUOTED_CODE, "Foo#bar": QUOTED_CODE}),
        ("parse_config and parseUrl fail", {"parse_config": SHAPED, "parseUrl": SHAPED}),
        ("MAX_RETRIES in HTTPServer", {"MAX_RETRIES": SHAPED, "HTTPServer": SHAPED}),
        ("crate::net::Listener, Foo->bar", {"crate::net::Listener": SHAPED, "Foo->bar": SHAPED}),
        ("auth.session is slow", {"auth.session": MEMBER}),
        ("call foo() now", {"foo": SHAPED}),
        (r"Shop\Cart throws", {r"Shop\Cart": SHAPED}),
        ("the user of Session waits", {"Session": TITLE_CASE}),
        ("Session expires. Nothing else.", {}),
        ("GitHub, JavaScript and Node.js on Linux", {}),
        ("see src/a.py and utils.py", {}),
        ("v1.2.3 of 8d819856d4 e.g. 3.5", {}),
        ("Couldn't it be March?", {}),
        ("look at example.org", {}),
        ("a plain sentence with well-known words", {}),
    ],
)
def test_symbols_in_prose(text: str, expected: dict[str, float]) -> None:
    check(text, expected)


def test_pasted_code_is_less_sure_and_comes_last() -> None:
    found = find_symbols("Why does `run` hang?", ["conn = open_conn(maxRetries)\nfor x in conn: pass"])
    assert [(mention.name, mention.certainty) for mention in found] == [
        ("run", QUOTED_CODE),
        ("open_conn", IN_CODE),
        ("maxRetries", IN_CODE),
    ]
