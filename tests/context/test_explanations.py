"""What a context says of a file is read from its own record: slices, what had no room, gaps, hot files."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.context.explanations import NOTHING_NEW, PathReasons, reasons_in_context
from foveal.daemon.context.reply import DROPPED_MAX
from foveal.daemon.context.requests import ContextRequest
from foveal.daemon.sessions.records import Scope
from foveal.daemon.workspace.records import HotNode
from msgspec.structs import replace

SCOPE = Scope("s_1", "/p", "", hot=(HotNode("src/hot.py", "edited just now"),))
REQUEST = ContextRequest(prompt="how?", max_tokens=4_000, reserve_tokens=1_000)


def a_slice(identifier: str, kind: str, source: str, **fields: Any) -> dict[str, Any]:
    path = identifier.partition(":")[2].partition("#")[0]
    return {
        "id": identifier,
        "type": kind,
        "layer": "focus",
        "weight": 0.5,
        "tokens": 1_200,
        "tokens_before": 1_200,
        "compressed": False,
        "source": source,
        **({"path": path} if path else {}),
    } | fields


def told(path: str, *slices: dict[str, Any], **fields: Any) -> PathReasons:
    reply = {"slices": list(slices), "gaps": [], "context": "", "tokens": 2_990, "bytes": 12_000} | fields
    return reasons_in_context(SCOPE, REQUEST, reply, path)


def test_it_says_how_much_is_shown_and_what_is_missing_of_it() -> None:
    part = a_slice(
        "focus:a.py#f", "focus", "asked for", compressed=True, tokens_before=9_000, start_line=3, end_line=8
    )
    gap = "a.py is in focus but not shown: it is binary"
    found = told("a.py", part, gaps=[gap, "ba.py is missing", "a.py.txt too"])
    assert found.reasons == (
        "it is shown as focus: asked for; lines 3 to 8, 1,200 of its 9,000 tokens, weight 0.5",
        gap,
    )


def test_a_context_without_news_says_so_first() -> None:
    near = [
        {"path": "a.py", "reason": "too improbable to send unasked: 3 %"},
        {"path": "b.py", "reason": "x"},
    ]
    reply = {"slices": [], "gaps": ["read a.py."], "context": "", "tokens": 0, "bytes": 0, "near": near}
    news = replace(REQUEST, news=True)
    found = reasons_in_context(SCOPE, news, reply, "a.py")
    assert found.reasons == (NOTHING_NEW, "read a.py.", "too improbable to send unasked: 3 %")
    assert not found.is_settled, "the search for the prompt may say more"
    assert NOTHING_NEW not in reasons_in_context(SCOPE, REQUEST, reply, "a.py").reasons
    sent = {**reply, "slices": [a_slice("focus:b.py", "focus", "asked for")]}
    assert NOTHING_NEW not in reasons_in_context(SCOPE, news, sent, "a.py").reasons


def test_a_rule_without_a_file_is_told_by_its_name() -> None:
    rule = a_slice("rule:brief", "rule", "brief:2, always, the project's foveal.toml", path="")
    found = told("brief", rule, a_slice("focus:brief.py", "focus", "asked for"))
    assert found.slices == ("rule:brief",)
    assert found.reasons[0].startswith("it is shown as rule: brief:2, always, the project's foveal.toml; ")
    of_a_file = a_slice("rule:brief", "rule", "brief:1, always, the project's", path="docs/brief")
    assert told("brief", of_a_file).slices == ()


def test_what_had_no_room_says_what_it_would_take() -> None:
    dropped = [{"id": "document:a.py#f", "type": "document", "weight": 0.25, "reason": "budget"}]
    found = told("a.py", dropped=dropped)
    assert (found.slices, found.is_settled) == ((), True)
    assert "no room for it in 3,000 tokens" in found.reasons[0]
    assert found.advice == ("ask with more than 4,000 max_tokens, or with less in focus",)
    bytes_short = told("a.py", dropped=dropped, tokens=500, bytes=99_990)
    assert "no room for it in 100,000 bytes" in bytes_short.reasons[0]
    assert bytes_short.advice == ("ask with more than 100,000 max_bytes, or with less in focus",)
    lines = [{**dropped[0], "id": "document:a.py:12"}]
    assert told("a.py", dropped=lines) == told("a.py", dropped=dropped)
    copies = [{**dropped[0], "reason": "duplicate"}]
    assert told("a.py", dropped=copies).reasons == ("it is left out because another slice shows the same",)
    assert told("b.py", dropped=dropped) == PathReasons()
    many = told("a.py", dropped=dropped * DROPPED_MAX)
    assert many.reasons[-1] == "of the slices without room only the 50 with the most weight are recorded"


@pytest.mark.parametrize(
    ("gap", "named"),
    [
        ("src/a.py is in focus but not shown: it is too large", True),
        ("no room in the budget for src/a.py, b.py: ask", True),
        ("focus path 'src/a.py' doesn't exist", True),
        ("read src/a.py.", True),
        ("web/src/a.py is missing", False),
        ("src/a.pyx is missing", False),
        ("src/a.py/b is missing", False),
        ("src/a.py#f is missing", False),
    ],
)
def test_a_gap_counts_where_it_names_the_very_path(gap: str, named: bool) -> None:
    assert told("src/a.py", gaps=[gap]).reasons == ((gap,) if named else ())
