"""Definitions of a name and definitions that fit a query, from the daemon's index. Lines count from 1."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...ipc.aclient import DaemonLink
from ...ipc.errors import NOT_FOUND, RpcError

PLACES = 100
"""Maximum definitions asked for; editors show no more."""


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """A definition: its absolute `path`, its `line`, and the `text` there, "" if unknown."""

    path: str
    line: int
    kind: str
    symbol: str
    text: str = ""

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return last_name(self.symbol)

    @property
    def container(self) -> str:
        """The qualified name without its last part."""
        return self.symbol.rpartition(".")[0]


class SymbolIndex:
    """Asks the daemon for definitions, for one connection."""

    def __init__(self, link: DaemonLink) -> None:
        self._link = link

    async def find_definitions(self, cwd: str, path: str, line: int, name: str) -> list[SymbolPlace]:
        """Return the definitions of a name at a line of a file; several if it isn't sure.

        Resolved references of that line go before all definitions of the name. Raises `RpcError`.
        """
        node = await self._node(cwd, path)
        if node is not None:
            root = path.removesuffix(f"/{node['path']}")
            sure = await self._referred(cwd, root, node, line, name)
            if sure:
                return sure
        found = await self._defined(cwd, name)
        return sorted(found, key=lambda place: place.path != path)

    async def find_symbols(self, cwd: str, query: str) -> list[SymbolPlace]:
        """Return definitions for a part of a name or a question in words, best first.

        Raises `RpcError`.
        """
        words = query.split()
        if not words:
            return []
        if len(words) == 1:
            reply = await self._link.call("FindSymbols", {"cwd": cwd, "query": query, "limit": PLACES})
            return [_symbol_place(reply["project"], symbol) for symbol in reply["symbols"]]
        reply = await self._query(cwd, query, limit=PLACES)
        found = [_place(reply["project"], result) for result in reply["results"]]
        # Each position once, and none without a name.
        return list(
            {(place.path, place.line, place.symbol): place for place in found if place.symbol}.values()
        )

    async def _referred(
        self, cwd: str, root: str, node: Mapping[str, Any], line: int, name: str
    ) -> list[SymbolPlace]:
        """Return the resolved definitions of a name at this line."""
        symbols = _symbols(root, node)
        own = [place for place in symbols if place.line == line and place.name == name]
        if own:
            return own
        owner = _innermost(node["symbols"], line)
        inner = await self._node(cwd, owner) if owner else None
        for found in filter(None, (inner, node)):
            targets = dict.fromkeys(
                callee["node_id"]
                for callee in found.get("callees", ())
                if callee.get("node_id") and callee["line"] == line and callee["certainty"] == "resolved"
                if last_name(_symbol_of(callee["node_id"])) == name
            )
            if targets:
                return await self._places(cwd, root, targets)
        imported = [item["path"] for item in node["imports"] if item["line"] == line and item.get("path")]
        return await self._places(cwd, root, [f"{path}#{name}" for path in imported])

    async def _places(self, cwd: str, root: str, node_ids: Iterable[str]) -> list[SymbolPlace]:
        nodes = await asyncio.gather(*[self._node(cwd, node_id) for node_id in node_ids])
        return [
            SymbolPlace(
                f"{root}/{node['path']}",
                node["start_line"],
                node["kind"],
                node.get("symbol", ""),
                node["definition"].split("\n", 1)[0],
            )
            for node in nodes
            if node is not None
        ]

    async def _defined(self, cwd: str, name: str) -> list[SymbolPlace]:
        """Return all definitions of exactly this name."""
        reply = await self._query(cwd, f"where is `{name}` defined", route="structural", limit=PLACES)
        places = [_place(reply["project"], result) for result in reply["results"]]
        return [place for place in places if place.name == last_name(name)]

    async def _query(self, cwd: str, query: str, **params: Any) -> Any:
        return await self._link.call("Query", {"cwd": cwd, "query": query, **params})

    async def _node(self, cwd: str, node_id: str) -> Any:
        """Return a node, None if there is none."""
        try:
            return await self._link.call("GetNode", {"cwd": cwd, "node_id": node_id})
        except RpcError as error:
            if error.code != NOT_FOUND:
                raise
            return None


def last_name(symbol: str) -> str:
    """Return the last part of a qualified name."""
    return symbol.rpartition(".")[2]


def _symbol_of(node_id: str) -> str:
    """Return the qualified name in a node id, without the number of a repeated name."""
    return re.sub(r"~\d+$", "", node_id.partition("#")[2])


def _symbol_place(root: str, symbol: Mapping[str, Any]) -> SymbolPlace:
    name = _symbol_of(symbol["node_id"])
    return SymbolPlace(f"{root}/{symbol['path']}", symbol["line"], symbol["kind"], name, symbol["text"])


def _symbols(root: str, node: Mapping[str, Any]) -> list[SymbolPlace]:
    """Return the definitions of a file's node."""
    lines = node["definition"].split("\n")
    first = node["start_line"]
    places = []
    for symbol in node["symbols"]:
        at = symbol["start_line"]
        text = lines[at - first] if 0 <= at - first < len(lines) else ""
        places.append(
            SymbolPlace(f"{root}/{node['path']}", at, symbol["kind"], _symbol_of(symbol["node_id"]), text)
        )
    return places


def _innermost(symbols: Iterable[Mapping[str, Any]], line: int) -> str:
    """Return the node id of the shortest definition around a line, empty if there is none."""
    around = [symbol for symbol in symbols if symbol["start_line"] <= line <= symbol["end_line"]]
    shortest = min(around, key=lambda one: one["end_line"] - one["start_line"], default=None)
    return str(shortest["node_id"]) if shortest else ""


def _place(root: str, result: Mapping[str, Any]) -> SymbolPlace:
    line = result["start_line"]
    lines = result["snippet"].split("\n")
    at = line - result["snippet_line"]
    text = lines[at] if 0 <= at < len(lines) else ""
    return SymbolPlace(f"{root}/{result['path']}", line, result["kind"], result.get("symbol", ""), text)
