"""The process that lists the tools of MCP servers, as their client: it takes one request, answers a line for
each server, and ends.

It lives for seconds, and imports what the daemon never does. Its standard input stays open as long as the
daemon lives: at its end the whole process group ends, with every server in it. A server may hang, flood, send
garbage or end; only its own list suffers.
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
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import Tool as McpTool
from mcp.types import jsonrpc_message_adapter
from msgspec import convert, to_builtins

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
    server = ToolConnection(launch)
    listed: tuple[list[McpTool], bool] | None = None
    try:
        async with asyncio.timeout(launch.timeout_s):
            async with Client(server.transport(), mode="legacy", cache=None) as client:
                listed = await _all_tools(client)
    except Exception as error:  # noqa: BLE001 - a stranger's program may cause any, and must cost only its list
        if listed is None:  # else only its end went wrong
            return ToolList(problem=server.problem or _described(error, launch))
    finally:
        await server.end()
    assert listed is not None
    tools, complete = listed
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
        return f"it answered with an error: {error}"
    if isinstance(error, httpx2.HTTPError):
        return f"it can't be reached ({str(error) or type(error).__name__})"
    return f"it can't be listed ({type(error).__name__}: {error})"


MAX_LINE_BYTES = 8 * 1024 * 1024
"""Maximum bytes of a message; the largest lists of tools have some hundred KB."""
MAX_TOTAL_BYTES = 32 * 1024 * 1024
"""Maximum bytes of everything that a server sends, messages or not."""
MAX_LINES = 20_000
"""Maximum lines of a program's output: half a second of work, for which other servers wait."""
_GRACE_S = 1.0
"""Seconds for a server to end after its input was closed, and again after SIGTERM."""
_LAST_WORDS_S = 5.0
"""Seconds for a program that closed its output to end: its last line says why."""
_ERROR_BYTES = 4_096


class ToolConnection:
    """The connection to one server. `problem` says what broke it, if known."""

    def __init__(self, launch: Launch) -> None:
        self.problem = ""
        self._launch = launch
        self._process: asyncio.subprocess.Process | None = None
        self._errors = b""
        self._errors_read = asyncio.Event()
        self._received = self._lines = 0

    def transport(self) -> Transport:
        """Return the client's transport."""
        kind = self._launch.transport
        if kind == "stdio":
            return self._program()
        if kind == "http":
            return self._http()
        headers = self._launch.headers
        return sse_client(self._launch.url, headers=headers, httpx_client_factory=self._http_client)

    async def end(self) -> None:
        """End the program: close its input, then SIGTERM, then SIGKILL."""
        process = self._process
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        for order in (process.terminate, process.kill):
            if await _has_ended(process, _GRACE_S):
                return
            with contextlib.suppress(ProcessLookupError):
                order()

    @contextlib.asynccontextmanager
    async def _program(self) -> AsyncIterator[Any]:
        """Start the program and pass messages to and from it, a line each."""
        process = self._process = await self._started()
        incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with asyncio.TaskGroup() as tasks:
            serving = [
                tasks.create_task(self._receive(process, incoming)),
                tasks.create_task(self._send(process, outgoing)),
                tasks.create_task(self._keep_errors(process)),
            ]
            try:
                yield read_stream, write_stream
            finally:
                for task in serving:
                    task.cancel()
                for stream in (incoming, read_stream, write_stream, outgoing):
                    stream.close()

    async def _started(self) -> asyncio.subprocess.Process:
        launch = self._launch
        try:
            return await asyncio.create_subprocess_exec(
                launch.command,
                *launch.arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=launch.folder,
                env=launch.environment,
                limit=MAX_LINE_BYTES,
            )
        except (OSError, ValueError) as error:
            self.problem = f"it can't be started ({error})"
            raise

    async def _receive(self, process: asyncio.subprocess.Process, incoming: Any) -> None:
        """Pass on the program's messages, skipping other lines: many programs log to their output."""
        assert process.stdout is not None
        async with incoming:
            try:
                async for line in process.stdout:
                    self._lines += 1
                    if self._lines > MAX_LINES:
                        raise _TooMuch(f"{MAX_LINES} lines")
                    self._count(len(line))
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        continue
                    await incoming.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return  # the client has gone
            except ValueError as error:  # also of a line above the limit
                too_much = (
                    error if isinstance(error, _TooMuch) else _TooMuch(f"{MAX_LINE_BYTES} bytes in a line")
                )
                self.problem = str(too_much)
                return
            self.problem = self.problem or await self._ended(process)

    async def _send(self, process: asyncio.subprocess.Process, outgoing: Any) -> None:
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode())
                await process.stdin.drain()

    async def _keep_errors(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while piece := await process.stderr.read(1 << 16):
            self._errors = (self._errors + piece)[-_ERROR_BYTES:]
        self._errors_read.set()

    async def _ended(self, process: asyncio.subprocess.Process) -> str:
        """Describe how a program ended after it closed its output."""
        ended = await _has_ended(process, _LAST_WORDS_S)
        with contextlib.suppress(TimeoutError):  # a child of it may still hold the other end
            await asyncio.wait_for(self._errors_read.wait(), _GRACE_S)
        last = self._errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        how = f"with status {process.returncode}" if ended else "its output"
        return f"it ended {how} before it listed its tools" + (f": {last}" if last else "")

    def _count(self, size: int) -> None:
        self._received += size
        if self._received > MAX_TOTAL_BYTES:
            raise _TooMuch(f"{MAX_TOTAL_BYTES} bytes")

    @contextlib.asynccontextmanager
    async def _http(self) -> AsyncIterator[Any]:
        async with (
            self._http_client(self._launch.headers) as client,
            streamable_http_client(self._launch.url, http_client=client) as streams,
        ):
            yield streams

    def _http_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Return a client that counts the bytes read; it uses no proxy for this machine."""
        return httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **(headers or {})},
            timeout=timeout or httpx2.Timeout(self._launch.timeout_s),
            auth=auth,
            trust_env=not self._launch.is_loopback,
            event_hooks={"response": [self._bound]},
        )

    async def _bound(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            self.problem = "it compresses its answers, though it was asked not to"
            raise httpx2.DecodingError(self.problem, request=response.request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self)

    def take(self, size: int) -> None:
        """Count bytes of an answer. Raises `_TooMuch`."""
        try:
            self._count(size)
        except _TooMuch as error:
            self.problem = str(error)
            raise


class _Counted(httpx2.AsyncByteStream):
    """A response's body that counts the bytes read."""

    def __init__(self, stream: httpx2.AsyncByteStream, connection: ToolConnection) -> None:
        self._stream = stream
        self._connection = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._connection.take(len(piece))
            yield piece

    async def aclose(self) -> None:
        """Close the body."""
        await self._stream.aclose()


class _TooMuch(ValueError):
    def __init__(self, limit: str) -> None:
        super().__init__(f"it sent more than {limit}")


async def _has_ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Wait for a process to end, even if another process holds its pipes open."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await process.wait()
    return process.returncode is not None


def main() -> None:
    """Serve one request: a line with a `ListRequest`."""
    replies = _claim_output()
    logging.disable(logging.CRITICAL)
    requests = sys.stdin.buffer
    request = convert(json.loads(requests.readline()), ListRequest, str_keys=True)
    threading.Thread(target=_end_with_daemon, args=(requests,), name="daemon", daemon=True).start()
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


def _end_with_daemon(requests: BinaryIO) -> None:
    requests.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
