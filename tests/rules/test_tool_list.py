"""A list of tools is kept for one configuration of a server, bounded, and a failure doesn't lose it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import StateError
from foveal.daemon.core.system import System
from foveal.daemon.rules.server_definition import McpServer
from foveal.daemon.rules.tool_list import MAX_LISTS, ListedTool, ToolList, ToolLists, is_name, tool_items
from msgspec.structs import replace

SERVER = McpServer(
    "web", "gemini", "project", "/p/.gemini/settings.json", 4, "/p", command="x", denied=("drop",)
)
LIST = ToolList(
    (ListedTool("search", "Finds", '{"type":"object"}'), ListedTool("drop")), listed_at="2026-01-01T00:00:00Z"
)


def lists_in(folder: Path) -> ToolLists:
    return ToolLists(str(folder / "lists"), System())


def test_a_list_is_of_one_configuration(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    assert lists.load(SERVER) is None
    assert lists.store(SERVER, LIST) == LIST
    assert lists_in(tmp_path).load(SERVER) == LIST
    assert lists.load(replace(SERVER, name="other", line=9)) == LIST
    assert lists.load(replace(SERVER, command="y")) is None


def test_a_failure_keeps_the_tools_that_were_known(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    failed = ToolList(problem="it hangs", listed_at="2026-01-02T00:00:00Z")
    assert lists.store(SERVER, failed) == failed
    lists.store(SERVER, LIST)
    assert lists.store(SERVER, failed) == replace(failed, tools=LIST.tools)
    assert lists.store(SERVER, ToolList()) == ToolList()


def test_tools_become_items_without_those_that_are_forbidden(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    lists.store(SERVER, LIST)
    (item,) = lists.items((replace(SERVER, command="y"), SERVER))
    assert (item.type, item.name, item.server_name, item.include) == ("tool", "search", "web", "always")
    assert (item.source, item.line) == (SERVER.source, 4)
    assert (item.description, item.text) == ("Finds", '{"type":"object"}')
    assert tool_items(replace(SERVER, allowed=()), LIST) == ()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "{}",
        '{"version": 2}',
        {"tools": [{"name": "a"}]},
        {"tools": [{"name": "a", "description": 1, "input_schema": ""}]},
        {"tools": [{"name": "", "description": "", "input_schema": ""}]},
        {"tools": 1},
        {"problem": 1},
        {"left_out": "1"},
        "[" * 100_000,
    ],
)
def test_a_damaged_file_counts_as_none(tmp_path: Path, content: str | dict[str, Any]) -> None:
    lists = lists_in(tmp_path)
    lists.store(SERVER, LIST)
    path = tmp_path / "lists" / f"{SERVER.digest}.json"
    text = content if isinstance(content, str) else json.dumps(json.loads(path.read_text()) | content)
    path.write_text(text)
    assert lists.load(SERVER) is None
    assert lists.items((SERVER,)) == ()
    assert lists.store(SERVER, LIST) == LIST


def test_the_lists_unused_for_longest_go_first(tmp_path: Path) -> None:
    lists = lists_in(tmp_path)
    lists.store(SERVER, LIST)
    path = tmp_path / "lists" / f"{SERVER.digest}.json"
    os.utime(path, (1, 1))
    for number in range(MAX_LISTS):
        (path.parent / f"{number}.json").write_text("{}")
    newer = replace(SERVER, command="y")
    lists.store(newer, LIST)
    assert lists.load(newer) == LIST
    assert lists.load(SERVER) is None
    assert len(os.listdir(path.parent)) == MAX_LISTS


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "lists").write_text("")
    with pytest.raises(StateError, match="lists"):
        lists_in(tmp_path).store(SERVER, LIST)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", True),
        ("search/web.v2", True),
        ("", False),
        (" ", False),
        ("a\nb", False),
        ("a\x1b", False),
        ("x" * 129, False),
    ],
)
def test_names(name: str, expected: bool) -> None:
    assert is_name(name) is expected
