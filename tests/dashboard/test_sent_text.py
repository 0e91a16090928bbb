"""The text that was sent stands on a page to the byte, each part of it once, and each slice in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from foveal.dashboard.pages.slices import slice_rows
from foveal.dashboard.pages.turn import ON_PAGE_MAX, Text, on_page, sent_texts

from tests.context_cases import context_map, slice_map

RULE = '### `CLAUDE.md`\n\nUse <b>tabs</b> & "quotes".\r\n\n'
CODE = "### `src/a.py`\n\nif a < b and c > d:\n\n"
CONTEXT = f"# PROJECT CONTEXT\n\n## Rules\n\n{RULE}## Focus Area\n\n{CODE}".rstrip("\n") + "\n"


def made(**fields: Any) -> dict[str, Any]:
    rule, code = CONTEXT.index(RULE), CONTEXT.index(CODE.rstrip("\n"))
    slices = [
        slice_map("focus:src/a.py", 10, span=[code, len(CONTEXT)]),
        slice_map("rule:CLAUDE.md", 10, "anchor", span=[rule, rule + len(RULE)]),
    ]
    return context_map(slices, CONTEXT, **fields)


def texts_of(context: dict[str, Any]) -> list[Text]:
    return sent_texts(context, slice_rows(context["slices"]))


def parts_of(text: Text) -> dict[int, str]:
    return {at: piece for piece, at in text.pieces if at is not None}


@pytest.mark.parametrize("head", ["Rule: CLAUDE.md (the project's)", "Rule: CLAUDE.md"])
def test_messages_are_told_apart_and_rules_found_in_their_own(head: str) -> None:
    messages = [
        {"role": "system", "content": f"Hello.\n\n{CODE}The end."},
        {"role": "user", "content": f"{head}\n\nUse tabs."},
        {"role": "assistant", "content": "Yes."},
    ]
    tools = [{"name": "a<b"}]
    texts = texts_of(
        made(format="messages", messages=messages, tools=tools, system_prompt="", user_prompt="")
    )
    assert [text.title for text in texts] == [
        "System prompt",
        f"Message of the user: {head}",
        "Message of the assistant",
        "Tools",
    ]
    assert [text.text for text in texts[:3]] == [message["content"] for message in messages]
    assert parts_of(texts[0]) == {0: CODE.rstrip("\n") + "\n"}
    assert parts_of(texts[1]) == {1: f"{head}\n\nUse tabs."}
    assert json.loads(texts[3].text) == tools


def test_a_text_that_is_not_kept_is_none() -> None:
    context = made()
    del context["context"]
    assert texts_of(context) == []


@pytest.mark.parametrize(("character", "named"), [("x", ["long"]), ('"', ["long"]), ("<", ["short"])])
def test_a_page_has_room_for_so_much_text_as_it_is_written(character: str, named: list[str]) -> None:
    sizes = {"long": ON_PAGE_MAX, "short": 20_000}
    texts = [Text(name, "", ((character * size, None),)) for name, size in sizes.items()]
    contents = on_page(texts)
    assert list(contents) == named
    assert sum(len(content) for content in contents.values()) <= ON_PAGE_MAX
