"""Fixtures for MCP: the SDK's client, and a host without the SDK, over the real pump and daemon."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation, TextContent

from tests.conftest import DEADLINE_S, DaemonProcess

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
"""How the SDK's client names the newest protocol and the last with a handshake, and their versions."""

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What each request of the newest protocol says of its sender."""

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bare", "version": "1"},
}


@asynccontextmanager
async def connected(
    daemon: DaemonProcess, cwd: Path, era: str, *arguments: str, name: str = "tester", **options: Any
) -> AsyncIterator[Client]:
    """Connect the SDK's client to `foveal mcp`, started in a folder."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "foveal", "mcp", *arguments],
        env={**daemon.environ, "CLAUDE_PROJECT_DIR": ""},
        cwd=str(cwd),
    )
    info = Implementation(name=name, version="1")
    async with Client(
        server, mode=era, cache=None, client_info=info, read_timeout_seconds=DEADLINE_S, **options
    ) as client:
        assert client.protocol_version == ERAS[era]
        yield client


def text_of(result: CallToolResult) -> str:
    """Return the text of a tool's answer, which is one part."""
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text


async def answer(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must succeed; return its answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that must be refused, in a result and not by the protocol; return what is said."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


class BareHost:
    """A host that writes bytes to the pump and reads lines from it, as they are."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._received = b""

    def send(self, *messages: Any) -> None:
        """Write messages, each a line; bytes as they are."""
        assert self.process.stdin is not None
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> Any:
        """Return the next message. Whatever the pump writes must be one."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + DEADLINE_S
        while b"\n" not in self._received:
            ready, _, _ = select.select([self.process.stdout], [], [], deadline - time.monotonic())
            assert ready, "the pump says nothing"
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, f"the pump ended: {self._received!r}"
            self._received += data
        line, self._received = self._received.split(b"\n", 1)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, request_id: int | str, method: str, **params: Any) -> Any:
        """Send a request of the newest protocol; return the next message, which must answer it."""
        self.send(request(request_id, method, **params))
        reply = self.receive()
        assert reply["id"] == request_id
        return reply

    def end(self) -> int:
        """Close the input; return the code that the pump ends with, having written nothing more."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert self._received + rest == b""
        return self.process.wait(DEADLINE_S)


def request(request_id: int | str, method: str, **params: Any) -> dict[str, Any]:
    """Return a request of the newest protocol."""
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": method,
        "params": {**params, "_meta": ENVELOPE},
    }


@contextmanager
def bare_host(environ: dict[str, str], cwd: Path, *arguments: str) -> Iterator[BareHost]:
    """Start `foveal mcp` with pipes of our own; at the end it is gone."""
    code = (  # a background job's children start with SIGINT ignored
        "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "runpy.run_module('foveal', run_name='__main__', alter_sys=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        cwd=cwd,
    )
    with process:
        try:
            yield BareHost(process)
        finally:
            if process.poll() is None:
                process.kill()
