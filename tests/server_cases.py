"""MCP servers for tests: one made with the SDK, one that speaks JSON-RPC by hand and misbehaves on demand."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from foveal.daemon.rules.service import McpServer

SDK_SERVER = """
from mcp.server import MCPServer

server = MCPServer("shop")

@server.tool()
def add(first: int, second: int) -> int:
    "Add two numbers."
    return first + second

@server.tool(title="Close the shop")
def close() -> None:
    pass

server.run()
"""

RAW_SERVER = r"""
import json, os, subprocess, sys, time

mode, *rest = sys.argv[1:]

def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def tool(name, description=""):
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}

if mode == "exit":
    print("no key " + os.environ["KEY"], file=sys.stderr)
    sys.exit(3)
if mode == "closed":
    os.close(1)
if mode == "flood":
    while True:
        sys.stdout.write("x" * 65536)
if mode == "lines":
    while True:
        sys.stdout.write("garbage\n" * 1000)
if mode == "hold":  # keeps a pipe open that another waits at, and never answers
    pipe = open(rest[0], "w")
    pipe.write("started\n")
    pipe.flush()
if mode == "noisy":
    print("listening on standard input\n{}\n[1]\n\xff", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message["method"]
    cursor = int((message.get("params") or {}).get("cursor") or 0)
    if method == "initialize":
        if mode == "hold":
            subprocess.run(["sleep", "1000"])
        info = {"name": "raw", "version": "1"}
        version = "1987-01-01" if mode == "old" else "2025-06-18"
        say({"id": number, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}})
    elif method != "tools/list":
        continue
    elif mode == "error":
        say({"id": number, "error": {"code": -32000, "message": "no key " + os.environ["KEY"]}})
    elif mode == "wrong":
        say({"id": number, "result": {"tools": "none"}})
    elif mode == "pages":
        more = {"nextCursor": str(cursor + 1)} if cursor < 2 else {}
        say({"id": number, "result": {"tools": [tool(f"page{cursor}")], **more}})
    elif mode == "endless":
        say({"id": number, "result": {"tools": [tool("same")], "nextCursor": str(cursor + 1)}})
    elif mode == "many":
        say({"id": number, "result": {"tools": [tool(f"t{n}", "d" * 9000) for n in range(600)]}})
    elif mode == "names":
        names = ["good", "good", "", "a\nb", "x" * 200, "\x1b[2J"]
        say({"id": number, "result": {"tools": [tool(name, "a\x1b[2J\u202eb\n  c") for name in names]}})
    elif mode == "orphan":
        with open(rest[0], "w") as pipe:
            subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        say({"id": number, "result": {"tools": [tool("child")]}})
    else:
        say({"id": number, "result": {"tools": [tool("environment", " ".join(sorted(os.environ)))]}})
"""


SERVER = McpServer(
    name="web", host="claude-code", scope="project", source="/p/.mcp.json", line=1, base="/p", command="x"
)
"""A server as a test changes it."""


def sdk_server(folder: Path) -> McpServer:
    """Write the server made with the SDK, and return its definition."""
    (folder / "shop.py").write_text(SDK_SERVER)
    return _server("shop", folder, "shop.py")


def raw_server(folder: Path, mode: str, *arguments: str, **fields: Any) -> McpServer:
    """Write the server that speaks by hand, and return its definition."""
    (folder / "raw.py").write_text(RAW_SERVER)
    return _server(mode, folder, "raw.py", mode, *arguments, **fields)


def _server(name: str, folder: Path, *arguments: str, **fields: Any) -> McpServer:
    return McpServer(
        name=name, host="claude-code", scope="project", source=str(folder / ".mcp.json"), line=1, base=str(folder),
        command=sys.executable, arguments=arguments, **fields,
    )  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP, as far as listing needs it; the path says how to misbehave."""

    def do_POST(self) -> None:
        """Answer a message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/elsewhere":
            self.send_response(307)
            self.send_header("Location", "http://example.org/mcp")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/denied" and self.headers["Authorization"] != "Bearer hunter22":
            self._answer(401, b"")
        elif "id" not in message:
            self._answer(202, b"")
        elif message["method"] == "initialize":
            info = {"name": "http", "version": "1"}
            self._result(
                message, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            )
        else:
            self._result(message, {"tools": [{"name": "remote", "inputSchema": {"type": "object"}}]})

    def do_GET(self) -> None:
        """Offer no stream."""
        self._answer(405, b"")

    def do_DELETE(self) -> None:
        """Keep the session, which is none."""
        self._answer(405, b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _result(self, message: Any, result: object) -> None:
        if self.path == "/endless":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b" " * 65_536)
            except OSError:
                self.close_connection = True
                return
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self._answer(200, body)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def http_server() -> Iterator[str]:
    """Serve `Handler` on this machine, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
