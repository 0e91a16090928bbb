"""The process that lists the tools of MCP servers, as their client: it takes one request, answers a line for
each server, and ends.

It lives for seconds, and imports what the daemon never does. Its standard input stays open as long as the
daemon lives: at its end the whole process group ends, with every server in it. A server may hang, send
garbage or end; only its own list suffers. One that floods this process's memory ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import Tool as McpTool
from mcp.types import jsonrpc_message_adapter
from msgspec import convert, to_builtins

from ..core.system import resident_bytes
from .items import one_line
from .server_launch import Launch, ListRequest
from .tool_lists import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_SCHEMA_CHARACTERS,
    MAX_TOOLS,
    ListedTool,
    ToolList,
    is_name,
)

MAX_PAGES = 100


async def list_tools(launch: Launch) -> ToolList:
    """List a server's tools. Never raises, whatever the server does."""
    errors, problem = LastWords(), ""
    listed: tuple[list[McpTool], bool] | None = None
    try:
        async with asyncio.timeout(launch.timeout_s):
            streams = _program(launch, errors) if launch.transport == "stdio" else _http(launch)
            async with Client(streams, mode="legacy", cache=None) as client:
                listed = await _all_tools(client)
    except Exception as error:  # noqa: BLE001 - a stranger's program may cause any, and must cost only its list
        problem = _described(error, launch)
    last = await asyncio.to_thread(errors.line)
    if listed is None:
        return ToolList(problem=f"{problem}: {last}" if last else problem)
    tools, complete = listed  # even if its end went wrong
    kept = _kept(tools)
    return ToolList(kept, left_out=len(tools) - len(kept) + (0 if complete else 1))


async def _all_tools(client: Client) -> tuple[list[McpTool], bool]:
    """Return the tools of all pages, and whether these were all pages."""
    tools: list[McpTool] = []
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


def _kept(tools: list[McpTool]) -> tuple[ListedTool, ...]:
    """Return the tools that can be used, each name once, within the limits."""
    kept: dict[str, ListedTool] = {}
    for tool in tools:
        if is_name(tool.name) and len(kept) < MAX_TOOLS:
            description = (tool.description or tool.title or "").strip()[:MAX_DESCRIPTION_CHARACTERS]
            schema = json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
            description = one_line("description", description, MAX_DESCRIPTION_CHARACTERS)
            schema = schema if len(schema) <= MAX_SCHEMA_CHARACTERS else ""
            kept.setdefault(tool.name, ListedTool(tool.name, description, schema))
    return tuple(kept.values())


def _described(error: BaseException, launch: Launch) -> str:
    """Describe the first error that isn't a group of others."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"it didn't list its tools within {launch.timeout_s:g} s"
    if isinstance(error, ValueError):
        return "its list of tools isn't as MCP has it"
    if isinstance(error, MCPError):
        if str(error) == "Connection closed":
            return "it ended before it listed its tools"
        return f"it answered with an error: {error}"
    if isinstance(error, httpx2.HTTPError):
        return f"it can't be reached ({str(error) or type(error).__name__})"
    return f"it can't be listed ({type(error).__name__}: {error})"


MEMORY_BYTES = 256 * 1024 * 1024
"""Memory of this process at which it ends with all servers: one of them sends without an end."""
_WATCH_S = 0.05
MAX_LINE_BYTES = 8 * 1024 * 1024
"""Maximum bytes of a message; the largest lists of tools have some hundred KB."""
_GRACE_S = 1.0
"""Seconds for a server to end after its input was closed, and again after SIGTERM."""
_LAST_WORDS_S = 1.0
"""Seconds to wait for what a program wrote last, which a child of it may keep open."""
_ERROR_BYTES = 4_096


class LastWords:
    """The end of what a program writes to its standard error, read by a thread: its last line says why it
    failed."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        self.file = os.fdopen(writer, "w")
        """What the program writes to."""
        self._kept = b""
        self._thread = threading.Thread(target=self._read, name="last words", daemon=True)
        self._thread.start()

    def line(self) -> str:
        """Close the file, and return the last line."""
        self.file.close()
        self._thread.join(_LAST_WORDS_S)
        return self._kept.decode("utf-8", "replace").strip().rpartition("\n")[2]

    def _read(self) -> None:
        while piece := os.read(self._reader, 1 << 16):
            self._kept = (self._kept + piece)[-_ERROR_BYTES:]
        os.close(self._reader)


@contextlib.asynccontextmanager
async def _program(launch: Launch, errors: LastWords) -> AsyncIterator[Any]:
    """Start a program, in this process's group as the SDK wouldn't, and pass messages to and from it."""
    process = await asyncio.create_subprocess_exec(
        launch.command,
        *launch.arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors.file,
        cwd=launch.folder,
        env=launch.environment,
        limit=MAX_LINE_BYTES,
    )
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with asyncio.TaskGroup() as tasks:
        serving = [
            tasks.create_task(_receive(process, incoming)),
            tasks.create_task(_send(process, outgoing)),
        ]
        try:
            yield read_stream, write_stream
        finally:
            for task in serving:
                task.cancel()
            for stream in (incoming, read_stream, write_stream, outgoing):
                stream.close()
            await _end(process)


async def _receive(process: asyncio.subprocess.Process, incoming: Any) -> None:
    """Pass on the program's messages, skipping other lines: many programs log to their output."""
    assert process.stdout is not None
    async with incoming:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ValueError):
            async for line in process.stdout:  # ValueError for one above the limit
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue
                await incoming.send(SessionMessage(message))


async def _send(process: asyncio.subprocess.Process, outgoing: Any) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(f"{text}\n".encode())
            await process.stdin.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the program: close its input, then SIGTERM, then SIGKILL."""
    assert process.stdin is not None
    process.stdin.close()
    for order in (process.terminate, process.kill):
        with contextlib.suppress(TimeoutError):
            # Even if another process holds its pipes open.
            await asyncio.wait_for(process.wait(), _GRACE_S)
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            order()


@contextlib.asynccontextmanager
async def _http(launch: Launch) -> AsyncIterator[Any]:
    """Connect to a URL."""

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        wait = timeout or httpx2.Timeout(launch.timeout_s)
        # It uses no proxy for this machine.
        return httpx2.AsyncClient(headers=headers, timeout=wait, auth=auth, trust_env=not launch.is_loopback)

    if launch.transport == "sse":
        async with sse_client(launch.url, launch.headers, httpx_client_factory=client) as streams:
            yield streams
    else:
        async with (
            client(launch.headers) as own,
            streamable_http_client(launch.url, http_client=own) as streams,
        ):
            yield streams


def main() -> None:
    """Serve one request: a line with a `ListRequest`."""
    replies = _claim_output()
    logging.disable(logging.CRITICAL)
    requests = sys.stdin.buffer
    request = convert(json.loads(requests.readline()), ListRequest, str_keys=True)
    threading.Thread(target=_end_with_daemon, args=(requests,), name="daemon", daemon=True).start()
    threading.Thread(target=_end_above_memory, name="memory", daemon=True).start()
    asyncio.run(_serve(request, replies))
    replies.flush()
    os._exit(0)  # remaining threads and servers end with the process group


async def _serve(request: ListRequest, replies: BinaryIO) -> None:
    turn = asyncio.Semaphore(request.concurrent)

    async def answer(number: int, launch: Launch) -> None:
        async with turn:
            listed = await list_tools(launch)
        # Not msgspec's JSON: a server may answer with what is no UTF-8.
        replies.write(json.dumps({"number": number, **to_builtins(listed)}).encode() + b"\n")
        replies.flush()

    await asyncio.gather(*(answer(number, launch) for number, launch in request.launches.items()))


def _claim_output() -> BinaryIO:
    """Return standard output for replies only, so that nothing printed mixes with them."""
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)
    return replies


def _end_above_memory() -> None:
    while (resident_bytes(os.getpid()) or 0) < MEMORY_BYTES:
        time.sleep(_WATCH_S)
    os.killpg(0, signal.SIGKILL)


def _end_with_daemon(requests: BinaryIO) -> None:
    requests.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
