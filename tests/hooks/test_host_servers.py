"""Each host's MCP server definitions are read as the host reads them, and no content of a file does harm."""

from __future__ import annotations

from typing import Any

import pytest
from foveal.daemon.rules.server_config import read_definition
from foveal.daemon.rules.service import McpServer
from foveal.hooks.hosts.registry import host_named
from msgspec.structs import replace

from tests.server_cases import SERVER


def read(name: str, definition: object) -> McpServer:
    host = host_named(name)
    assert host
    assert host.mcp
    return read_definition(replace(SERVER, host=name, source="/p/file", command=""), definition, host.mcp)


@pytest.mark.parametrize(
    ("host", "definition", "expected"),
    [
        (
            "claude-code",
            {
                "command": "uvx",
                "args": ["web"],
                "env": {"A": "1", "N": 2, "T": True, "Z": None},
                "alwaysLoad": True,
            },
            {
                "transport": "stdio",
                "command": "uvx",
                "arguments": ("web",),
                "environment": (("A", "1"), ("N", "2"), ("T", "true"), ("Z", "")),
            },
        ),
        (
            "claude-code",
            {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "${K}"}},
            {"transport": "http", "url": "https://example.org/mcp", "headers": (("X", "${K}"),)},
        ),
        ("claude-code", {"type": "sse", "url": "http://localhost:3/"}, {"transport": "sse"}),
        ("cursor", {"url": "http://localhost:3/"}, {"transport": "http"}),
        ("cursor", {"command": "x", "cwd": "sub", "disabled": True}, {"folder": "sub", "disabled": True}),
        ("vscode", {"type": "stdio", "command": "x", "envFile": ".env"}, {"command": "x"}),
        ("copilot", {"type": "local", "command": "x", "tools": ["*"]}, {"allowed": None}),
        ("copilot", {"type": "local", "command": "x", "tools": ["a"]}, {"allowed": ("a",)}),
        ("gemini", {"url": "http://localhost/sse"}, {"transport": "sse"}),
        ("qwen-code", {"httpUrl": "http://localhost/"}, {"transport": "http", "url": "http://localhost/"}),
        ("qwen-code", {"command": "x", "excludeTools": ["b"]}, {"command": "x", "denied": ("b",)}),
        ("gemini", {"httpUrl": "http://localhost/"}, {"transport": "http", "url": "http://localhost/"}),
        (
            "gemini",
            {"command": "x", "includeTools": ["a(read)", "b"], "excludeTools": ["b"], "timeout": 5},
            {"allowed": ("a", "b"), "denied": ("b",)},
        ),
        (
            "codex",
            {
                "command": "x",
                "args": ["a"],
                "env": {"A": "1"},
                "env_vars": ["TOKEN"],
                "startup_timeout_sec": 30,
                "enabled": False,
                "enabled_tools": ["t"],
                "disabled_tools": ["u"],
            },
            {
                "environment": (("A", "1"),),
                "forwarded": ("TOKEN",),
                "timeout_s": 30.0,
                "disabled": True,
                "allowed": ("t",),
                "denied": ("u",),
            },
        ),
        ("codex", {"command": "x", "startup_timeout_sec": float("inf")}, {"timeout_s": 120.0}),
        ("codex", {"command": "x", "startup_timeout_sec": float("nan")}, {"timeout_s": 0.0}),
        (
            "codex",
            {
                "url": "https://example.org",
                "bearer_token_env_var": "TOKEN",
                "http_headers": {"A": "b"},
                "env_http_headers": {"C": "D"},
            },
            {
                "transport": "http",
                "headers": (("A", "b"),),
                "header_variables": (("C", "D"),),
                "bearer_variable": "TOKEN",
            },
        ),
        (
            "opencode",
            {"type": "local", "command": ["bun", "x", "web"], "environment": {"A": "b"}, "enabled": True},
            {"command": "bun", "arguments": ("x", "web"), "environment": (("A", "b"),), "disabled": False},
        ),
        (
            "opencode",
            {"type": "remote", "url": "https://example.org", "enabled": False},
            {"transport": "http", "disabled": True},
        ),
    ],
)
def test_definitions(host: str, definition: dict[str, Any], expected: dict[str, Any]) -> None:
    server = read(host, definition)
    assert server.problem == ""
    assert {name: getattr(server, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("host", "definition", "problem"),
    [
        ("claude-code", None, "no object"),
        ("claude-code", ["x"], "no object"),
        ("claude-code", {}, "no url"),
        ("claude-code", {"command": ""}, "neither a command nor a url"),
        ("claude-code", {"command": ["x"]}, "command must be a string"),
        ("claude-code", {"command": "x", "args": "y"}, "args must be a list"),
        ("claude-code", {"command": "x", "args": [1]}, "args must be a string"),
        ("claude-code", {"command": "x", "args": ["a"] * 1_001}, "args must be a list of at most"),
        ("claude-code", {"command": "x\0y"}, "null character"),
        ("claude-code", {"command": "x\x1b[2Jy"}, "control characters"),
        ("claude-code", {"command": "x" * 40_000}, "32768 characters"),
        ("claude-code", {"command": "x", "env": ["A=b"]}, "env must be an object"),
        ("claude-code", {"command": "x", "env": {"A": []}}, "env must be an object of strings"),
        ("claude-code", {"command": "x", "env": {"A": 16**100_000}}, "env must be an object of strings"),
        ("claude-code", {"type": "ws", "url": "ws://x"}, "'ws' isn't one"),
        ("claude-code", {"type": 3, "command": "x"}, "type must be a string"),
        ("claude-code", {"type": "http", "url": "https://x", "headersHelper": "rm"}, "isn't run"),
        ("codex", {"args": ["x"]}, "neither a command nor a url"),
        ("opencode", {"type": "local", "command": "foveal mcp"}, "command must be a list"),
        ("opencode", {"type": "local", "command": []}, "neither a command"),
    ],
)
def test_unusable_definitions_say_why(host: str, definition: object, problem: str) -> None:
    server = read(host, definition)
    assert problem in server.problem
    assert "/p/file" in server.problem
    assert server.command == ""
