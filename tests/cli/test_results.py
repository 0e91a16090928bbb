"""Results as a person reads them: a place to go to, what it is, why it was found, its lines with numbers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from foveal.cli.query import describe_results

RESULT: dict[str, Any] = {
    "node_id": "src/auth.py#Session.login",
    "path": "src/auth.py",
    "start_line": 7,
    "end_line": 20,
    "kind": "method",
    "symbol": "Session.login",
    "score": 0.6249,
    "sources": {"vector": 2, "lexical": 1},
    "line": 9,
    "snippet": "def login(self):\n    pass\n\treturn 1",
    "snippet_line": 8,
    "language": "python",
    "why": ["defines login"],
}
CALL = {**RESULT, "symbol": "handle", "enclosing": "handle", "line": 10, "certainty": "resolved"}


@pytest.fixture(autouse=True)
def no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def text(*results: dict[str, Any]) -> str:
    reply = {"project": "/p/shop", "results": results}
    return "\n".join(describe_results(reply, "/p/shop"))


def test_a_result() -> None:
    assert text(RESULT).splitlines() == [
        " 1 src/auth.py:9  Session.login (method)  0.62",
        "   words #1, meaning #2; defines login",
        "    8- def login(self):",
        "    9:     pass",
        "   10- \treturn 1",
    ]
    section = {**RESULT, "symbol": "Usage/Options/All of them", "kind": "section"}
    more = [{"node_id": "src/auth.py#Usage/Colours", "start_line": 3, "end_line": 4, "kind": "section"}]
    found = text({**section, "more": more})
    assert found.startswith(" 1 src/auth.py:9  All of them (section)  0.62\n")
    assert found.endswith("\n   also 3-4 Colours")
    assert "   words #1, graph #3\n" in text({**RESULT, "sources": {"graph": 3, "lexical": 1}, "why": []})
    assert "   8-" in text({**RESULT, "sources": {}, "why": []}).splitlines()[1]


def test_references_are_a_line_each_in_columns() -> None:
    outside = {
        **CALL,
        "path": "src/a.py",
        "line": 16,
        "snippet": "login()",
        "snippet_line": 16,
        "enclosing": "",
    }
    assert text(CALL, outside).splitlines() == [
        "src/auth.py:10  handle  return 1",
        "src/a.py:16             login()",
    ]
    assert len(text(CALL, {**CALL, "certainty": ""}).splitlines()) > 2, "what words found reads as ever"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"certainty": "name"}, "[by name]"),
        ({"via": "a → b"}, "[via a → b]"),
        ({"via": "Base.save", "certainty": "name"}, "[by name; via Base.save]"),
        ({"reference": {"path": "b.py", "line": 3}, "via": "b.py:3"}, "[at b.py:3]"),
        ({"via": "handle"}, "return 1"),
        ({"line": 99}, "handle"),
        ({"snippet": "x" * 200, "snippet_line": 10}, "x" * 120 + "…"),
    ],
)
def test_what_is_said_behind_a_reference(changes: dict[str, Any], expected: str) -> None:
    assert text({**CALL, **changes}).endswith(expected)


def test_names_can_not_steer_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    evil = {"path": "a\x1b[2J.py", "symbol": "x\x1b]0;t\x07", "kind": "k\n", "why": ["\x9b1m"]}
    for result in (
        {**RESULT, **evil, "snippet": ""},
        {**CALL, **evil, "enclosing": "\x1b]0;t\x07", "via": "\x9b1m", "snippet": "\x1b]0;t\x07", "line": 8},
    ):
        assert not {"\x1b", "\x07", "\x9b"}.intersection(text(result))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    found = text({**RESULT, **evil, "snippet": "\x1b]0;pwned\x07 = 1\r\nb"})
    assert "\\x1b]0;pwned\\x07 = 1\n" in re.sub(r"\x1b\[[0-9;]*m", "", found)
    assert "\x1b]" not in found
    assert "\r" not in found
