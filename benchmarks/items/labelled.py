"""The labelled set: rules, references and tools, and the queries with the items that should come."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from foveal.daemon.rules.records import Item, ItemKey

DATA = Path(__file__).parent / "data"

Half = Literal["choosing", "held-out"]


@dataclass(frozen=True)
class Query:
    """What a person asks, what was said before, the items that should come (none for some), and its half."""

    text: str
    history: tuple[dict[str, str], ...]
    wanted: frozenset[ItemKey]
    half: Half

    def wanted_of(self, kind: str) -> frozenset[ItemKey]:
        """Return those of a kind, `rules` (references too) or `tools`."""
        return frozenset(key for key in self.wanted if (key.type == "tool") == (kind == "tools"))


def read_items() -> list[Item]:
    """Return all rules, references and tools, of mode `agent`."""
    return [
        Item(
            line["type"],
            line["name"],
            "agent",
            line.get("text", ""),
            f"benchmark:{name}",
            description=line["description"],
            server_name=line.get("server_name", ""),
        )
        for name in ("rules", "tools")
        for line in _lines(f"{name}.jsonl")
    ]


def read_queries(items: list[Item]) -> list[Query]:
    """Return the queries; every second one is held out. Raises `KeyError` for a label that is no item."""
    keys = {_label(item): ItemKey(item.type, item.name, item.server_name) for item in items}
    queries = []
    for number, line in enumerate(_lines("queries.jsonl")):
        wanted = frozenset(keys[label] for label in (*line["rules"], *line["tools"]))
        half: Half = "held-out" if number % 2 else "choosing"
        queries.append(Query(line["query"], tuple(line["history"]), wanted, half))
    return queries


def _label(item: Item) -> str:
    """Return an item as the labels name it: `python-style`, `git/git_log`."""
    return f"{item.server_name}/{item.name}" if item.server_name else item.name


def _lines(name: str) -> list[dict[str, Any]]:
    with (DATA / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
