"""What clients put into a project survives, can be mended by hand, and is never written over unread."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.core.errors import InvalidRequest, StateError, TooLarge
from foveal.daemon.core.system import System
from foveal.daemon.rules.item_store import (
    MAX_ITEMS,
    MAX_TEXT_BYTES,
    ItemDraft,
    ItemStore,
    StoredItems,
    draft_of,
)
from foveal.daemon.rules.items import ItemKey


def rule(name: str, **fields: Any) -> ItemDraft:
    return draft_of({"type": "rule", "name": name, "include": "always", "text": "Do it.", **fields})


def tool(name: str, server: str, include: str = "agent") -> ItemDraft:
    return draft_of({"type": "tool", "name": name, "server_name": server, "include": include})


def store_in(folder: Path) -> ItemStore:
    return ItemStore(str(folder / "items.json"), System())


def test_put_items_survive_a_restart(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    assert store.load() == StoredItems()
    assert os.listdir(tmp_path) == []
    store.put(rule("a"))
    store.put(tool("search", "web"))
    store.put(rule("a", text="Do it twice.\n\nÜber"))
    again = store_in(tmp_path).load()
    assert again == store.load()
    assert list(again.drafts) == [ItemKey("rule", "a"), ItemKey("tool", "search", "web")]
    assert again.drafts[ItemKey("rule", "a")].text == "Do it twice.\n\nÜber"
    assert stat.S_IMODE((tmp_path / "items.json").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["items.json"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "can't be used"),
        (b'{"version": 2}', "version 2"),
        (b'{"version": 1, "items": [1]}', r"\$\.items\[0\]"),
        (b'{"version": 1, "items": [{"type": "rule", "name": "a"}]}', r"items\[0\].include"),
        (b'{"version": 1, "tool_modes": {"web": {"default": "glob"}}}', r"\$\.tool_modes\[...\]\.default"),
        (b" " * (16 * 1024 * 1024 + 1), "can't be used"),
    ],
)
def test_a_file_that_cannot_be_used_is_left_alone(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "items.json"
    path.write_bytes(content)
    store = store_in(tmp_path)
    with pytest.raises(StateError, match=reason) as raised:
        store.load()
    assert str(path) in str(raised.value)
    with pytest.raises(StateError):
        store.put(rule("a"))
    assert path.read_bytes() == content
    path.unlink()
    store.put(rule("a"))
    assert store.load().drafts


def test_a_disk_that_fails_changes_nothing(tmp_path: Path) -> None:
    class Full(System):
        full = False

        def fsync(self, descriptor: int) -> None:
            if self.full:
                raise OSError(28, "No space left on device")

    system = Full()
    store = ItemStore(str(tmp_path / "items.json"), system)
    store.put(rule("a"))
    before = (tmp_path / "items.json").read_bytes()
    system.full = True
    with pytest.raises(StateError, match="No space left"):
        store.put(rule("b"))
    assert list(store.load().drafts) == [ItemKey("rule", "a")]
    assert (tmp_path / "items.json").read_bytes() == before
    assert os.listdir(tmp_path) == ["items.json"]


def test_there_is_a_limit(tmp_path: Path) -> None:
    items = [{"type": "rule", "name": f"r{n}", "include": "manual", "text": "x"} for n in range(MAX_ITEMS)]
    (tmp_path / "items.json").write_text(json.dumps({"version": 1, "items": items}))
    store = store_in(tmp_path)
    with pytest.raises(TooLarge):
        store.put(rule("one more"))
    store.put(rule("r7"))
    assert len(store.load().drafts) == MAX_ITEMS


RULE: dict[str, Any] = {"type": "rule", "name": "commits", "include": "always", "text": "Sign them."}


@pytest.mark.parametrize(("given", "level"), [(1, 1), (999, 999), ("001", 1), ("42", 42), (None, None)])
def test_a_priority_level_may_have_three_digits(given: Any, level: int | None) -> None:
    assert draft_of(RULE | {"priority_level": given}).priority_level == level


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"type": "command"}, "item.type"),
        ({"type": 1}, "item.type"),
        ({"type": None}, "item.type"),
        ({"name": ""}, "item.name"),
        ({"name": "  "}, "item.name"),
        ({"name": "a\nb"}, "item.name"),
        ({"name": "a\x1b[2J"}, "item.name"),
        ({"name": "x" * 2_000}, "item.name"),
        ({"name": 3}, "item.name"),
        ({"include": "sometimes"}, "item.include"),
        ({"include": None}, "item.include"),
        ({"include": "glob"}, "item.globs"),
        ({"include": "glob", "globs": []}, "item.globs"),
        ({"globs": "*.py"}, "item.globs"),
        ({"globs": [1]}, "item.globs"),
        ({"globs": ["../secret"]}, "item.globs"),
        ({"globs": ["a"] * 101}, "item.globs"),
        ({"server_name": "web"}, "item.server_name"),
        ({"text": 5}, "item.text"),
        ({"text": "x" * (MAX_TEXT_BYTES + 1)}, "item.text"),
        ({"text": "ä" * (MAX_TEXT_BYTES // 2 + 1)}, "item.text"),
        ({"text": "a\0b"}, "item.text"),
        ({"text": "\u202egnihton"}, "item.text"),
        ({"description": "x" * 3_000}, "item.description"),
        ({"priority_level": 0}, "item.priority_level"),
        ({"priority_level": 1000}, "item.priority_level"),
        ({"priority_level": True}, "item.priority_level"),
        ({"priority_level": "000"}, "item.priority_level"),
        ({"priority_level": "1x"}, "item.priority_level"),
        ({"priority_level": "0001"}, "item.priority_level"),
        ({"source": "a\nb"}, "item.source"),
    ],
)
def test_what_cannot_be_used_is_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        draft_of(RULE | changes)
    assert raised.value.field == field
    assert str(raised.value).startswith("item.")
