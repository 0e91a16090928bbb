"""Owns the way to an MCP server: its start or connection, what goes back and forth within bounds, its end.

Runs in the process that lists tools. A server may hang, flood, send garbage or end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

MAX_LINE_BYTES = 8 * 1024 * 1024
"""Of one message. The largest lists of tools have some hundred KB."""
MAX_TOTAL_BYTES = 32 * 1024 * 1024
"""Of everything that a server sends, in messages or not."""
MAX_LINES = 20_000
"""Of a program's output, messages or not: half a second of work, which others that are listed wait for."""
_GRACE_S = 1.0
"""For a server to end by itself once its input has ended, and again once it was told to."""
_LAST_WORDS_S = 5.0
"""For a program that has closed its output to end and say why: its last line is worth the wait."""
_ERROR_BYTES = 4_096


class ToolConnection:
    """The way to one server. `problem` says what broke it, where that is known better here than above."""

    def __init__(self, launch: dict[str, Any]) -> None:
        self.problem = ""
        self._launch = launch
        self._process: asyncio.subprocess.Process | None = None
        self._errors = b""
        self._received = self._lines = 0

    def transport(self) -> Transport:
        """Return what the client speaks through."""
        kind = self._launch["transport"]
        if kind == "stdio":
            return self._program()
        if kind == "http":
            return self._http()
        headers = self._launch["headers"]
        return sse_client(self._launch["url"], headers=headers, httpx_client_factory=self._http_client)

    async def end(self) -> None:
        """End the program, kindly at first."""
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
                launch["command"],
                *launch["arguments"],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=launch["folder"],
                env=launch["environment"],
                limit=MAX_LINE_BYTES,
            )
        except (OSError, ValueError) as error:
            self.problem = f"it can't be started ({error})"
            raise

    async def _receive(self, process: asyncio.subprocess.Process, incoming: Any) -> None:
        """Pass on what the program says, without lines that are no messages: many programs log there."""
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

    async def _ended(self, process: asyncio.subprocess.Process) -> str:
        """Say how a program ended that closed its output."""
        ended = await _has_ended(process, _LAST_WORDS_S)
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
            self._http_client(self._launch["headers"]) as client,
            streamable_http_client(self._launch["url"], http_client=client) as streams,
        ):
            yield streams

    def _http_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Return a client that counts what it reads; for this machine it uses no proxy."""
        return httpx2.AsyncClient(
            headers={"Accept-Encoding": "identity", **(headers or {})},
            timeout=timeout or httpx2.Timeout(self._launch["timeout_s"]),
            auth=auth,
            trust_env=not self._launch["is_loopback"],
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
    """A response's body that tells a connection how much was read of it."""

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
    """Wait for a process to end; one whose pipes another holds open counts as well."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await process.wait()
    return process.returncode is not None
