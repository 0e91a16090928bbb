"""Owns asking an MCP server for its tools: all pages of them within bounds, and what to say if it fails.

Runs in the process that lists tools. Whatever a server does costs its own list only.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.types import Tool as ListedTool

from .item_texts import one_line
from .tool_connection import ToolConnection
from .tool_list import MAX_DESCRIPTION_CHARACTERS, MAX_SCHEMA_CHARACTERS, MAX_TOOLS, is_name

MAX_PAGES = 100


async def list_tools(launch: dict[str, Any]) -> dict[str, Any]:
    """List a server's tools: a map with `tools`, `problem` and `left_out`. Never raises for what it does."""
    server = ToolConnection(launch)
    listed: tuple[list[ListedTool], bool] | None = None
    try:
        async with asyncio.timeout(launch["timeout_s"]):
            async with Client(server.transport(), mode="legacy", cache=None) as client:
                listed = await _all_tools(client)
    except Exception as error:  # noqa: BLE001 - a stranger's program may cause any, and must cost only its list
        if listed is None:  # else only its end went wrong
            return {"tools": [], "problem": server.problem or _described(error, launch), "left_out": 0}
    finally:
        await server.end()
    assert listed is not None
    tools, complete = listed
    kept = _kept(tools)
    return {"tools": kept, "problem": "", "left_out": len(tools) - len(kept) + (0 if complete else 1)}


async def _all_tools(client: Client) -> tuple[list[ListedTool], bool]:
    """Return the tools of all pages, and whether these were all pages."""
    tools: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            return tools, True
        if len(tools) > MAX_TOOLS:
            break
    return tools, False


def _kept(tools: list[ListedTool]) -> list[dict[str, str]]:
    """Return the tools that can be used, each name once, within the limits."""
    kept: dict[str, dict[str, str]] = {}
    for tool in tools:
        if is_name(tool.name) and len(kept) < MAX_TOOLS:
            description = (tool.description or tool.title or "").strip()[:MAX_DESCRIPTION_CHARACTERS]
            schema = json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
            fields = {
                "name": tool.name,
                "description": one_line("description", description, MAX_DESCRIPTION_CHARACTERS),
                "input_schema": schema if len(schema) <= MAX_SCHEMA_CHARACTERS else "",
            }
            kept.setdefault(tool.name, fields)
    return list(kept.values())


def _described(error: BaseException, launch: dict[str, Any]) -> str:
    """Say what went wrong, by the first cause that isn't a mere group of others."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it didn't list its tools within {launch['timeout_s']:g} s"
    if isinstance(error, ValueError):
        return "its list of tools isn't as MCP has it"
    if isinstance(error, MCPError):
        return f"it answered with an error: {error}"
    if isinstance(error, httpx2.HTTPError):
        return f"it can't be reached ({str(error) or type(error).__name__})"
    return f"it can't be listed ({type(error).__name__}: {error})"
