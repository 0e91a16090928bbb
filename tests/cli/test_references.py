"""Answers of the graph as a person reads them: a line each, in columns, with what isn't sure said behind it."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.cli.query import describe_results

CALL: dict[str, Any] = {
    "node_id": "src/views.py#handle",
    "path": "src/views.py",
    "start_line": 5,
    "end_line": 8,
    "kind": "function",
    "symbol": "handle",
    "enclosing": "handle",
    "score": 1.0,
    "sources": {"tree": 1},
    "line": 6,
    "snippet": "def handle(request):\n    return login(request)",
    "snippet_line": 5,
    "language": "python",
    "why": ["calls it"],
    "certainty": "resolved",
}


def text(*results: dict[str, Any], question: str = "what calls login") -> list[str]:
    reply = {"project": "/p/shop", "results": results}
    return list(describe_results(reply, question, "/p/shop"))


@pytest.fixture(autouse=True)
def no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def test_a_line_each_in_columns() -> None:
    outside = {
        **CALL,
        "node_id": "src/a.py",
        "path": "src/a.py",
        "line": 16,
        "snippet": "login()",
        "snippet_line": 16,
    }
    del outside["symbol"], outside["enclosing"]
    assert text(CALL, outside) == [
        "src/views.py:6  handle  return login(request)",
        "src/a.py:16             login()",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"certainty": "name"}, "[by name]"),
        ({"via": "a → b"}, "[via a → b]"),
        ({"via": "Base.save", "certainty": "name"}, "[by name; via Base.save]"),
        ({"reference": {"path": "b.py", "line": 3}, "via": "b.py:3"}, "[at b.py:3]"),
        ({"via": "handle"}, "return login(request)"),
        ({"line": 99}, "handle"),
    ],
)
def test_what_is_said_behind_it(changes: dict[str, Any], expected: str) -> None:
    (line,) = text({**CALL, **changes})
    assert line.endswith(expected)


def test_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    (line,) = text(CALL)
    assert "\x1b[" in line
    assert "login" in line


def test_what_was_found_by_words_too_reads_as_ever() -> None:
    other = {**CALL, "certainty": ""}
    assert len(text(CALL, other)) > 2
